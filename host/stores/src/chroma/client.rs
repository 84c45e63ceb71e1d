//! Client for ChromaDB's REST API v2, with limits on time and response size. After a failure, a circuit breaker skips
//! requests for a while.

use std::sync::{Mutex, PoisonError};

use gatehouse_core::{Fault, names::quoted};
use gatehouse_net::{
    Backoff, BodyError, CircuitBreaker, HttpClients, Method, StatusCode, header, plain_cause, read_body,
};
use serde_json::{Value, json};

use super::ChromaConfig;

const COLLECTION: &str = "mcp_artifacts";

const COLLECTIONS_PATH: &str = "api/v2/tenants/default_tenant/databases/default_database/collections";

/// Enough for about 200,000 ids.
const MAX_ANSWER_BYTES: usize = 16 << 20;

const MAX_CAUSE_CHARS: usize = 300;

const HINT: &str = "Start ChromaDB, or correct MCP_GATEWAY_CHROMA_URL. Gatehouse retries automatically.";

pub(super) struct ChromaClient {
    config: ChromaConfig,
    clients: HttpClients,
    breaker: CircuitBreaker<String>,
    /// Id of the collection. Cleared if the server no longer knows it, because its vectors are then lost.
    collection: Mutex<Option<String>>,
}

pub(super) struct VectorMatch {
    pub(super) id: String,
    pub(super) version: String,
    /// 1 minus the cosine.
    pub(super) distance: f32,
}

impl ChromaClient {
    pub(super) fn new(config: ChromaConfig) -> Self {
        let connect = config.request;
        let clients = HttpClients::new(move |builder| builder.connect_timeout(connect));
        let (first, longest) = config.pauses;
        let breaker = CircuitBreaker::new(Backoff { first, longest });
        Self { config, clients, breaker, collection: Mutex::default() }
    }

    /// Returns the id of the collection, creating it if needed.
    pub(super) async fn collection(&self) -> Result<String, Fault> {
        let known = self.collection.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = known {
            return Ok(known);
        }
        let body = json!({
            "name": COLLECTION,
            "get_or_create": true,
            "configuration": {"hnsw": {"space": "cosine"}},
        });
        let answer = self.send_ok("", &body).await?;
        let id =
            answer["id"].as_str().ok_or_else(|| self.malformed_answer("has no collection id"))?.to_owned();
        *self.collection.lock().unwrap_or_else(PoisonError::into_inner) = Some(id.clone());
        Ok(id)
    }

    /// Stores vectors and their metadata, replacing those with the same ids.
    pub(super) async fn upsert(
        &self,
        ids: &[String],
        vectors: &[&Vec<f32>],
        about: &[Value],
    ) -> Result<(), Fault> {
        let collection = self.collection().await?;
        let body = json!({"ids": ids, "embeddings": vectors, "metadatas": about});
        self.send_ok(&format!("/{collection}/upsert"), &body).await.map(|_| ())
    }

    pub(super) async fn nearest(
        &self,
        vector: &[f32],
        filter: &Value,
        limit: usize,
    ) -> Result<Vec<VectorMatch>, Fault> {
        let collection = self.collection().await?;
        let body = json!({
            "query_embeddings": [vector],
            "n_results": limit,
            "where": filter,
            "include": ["metadatas", "distances"],
        });
        let answer = self.send_ok(&format!("/{collection}/query"), &body).await?;
        let column = |name: &str| answer[name][0].as_array().map(Vec::as_slice);
        let (Some(ids), Some(distances), Some(about)) =
            (column("ids"), column("distances"), column("metadatas"))
        else {
            return Err(self.malformed_answer("is not a list of results"));
        };
        let neighbour = |((id, distance), about): ((&Value, &Value), &Value)| {
            let (id, version) = (id.as_str()?.to_owned(), about["version"].as_str()?.to_owned());
            Some(VectorMatch { id, version, distance: distance.as_f64()? as f32 })
        };
        Ok(ids.iter().zip(distances).zip(about).filter_map(neighbour).collect())
    }

    pub(super) async fn ids(&self, filter: &Value) -> Result<Vec<String>, Fault> {
        let collection = self.collection().await?;
        let body = json!({"where": filter, "include": []});
        let answer = self.send_ok(&format!("/{collection}/get"), &body).await?;
        let ids = answer["ids"].as_array().ok_or_else(|| self.malformed_answer("is not a list of ids"))?;
        Ok(ids.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect())
    }

    pub(super) async fn delete(&self, ids: &[String]) -> Result<(), Fault> {
        let collection = self.collection().await?;
        self.send_ok(&format!("/{collection}/delete"), &json!({"ids": ids})).await.map(|_| ())
    }

    async fn send_ok(&self, path: &str, body: &Value) -> Result<Value, Fault> {
        self.breaker.check().map_err(|(cause, wait)| {
            self.unavailable(&format!("{cause}; next try in {} s", wait.as_secs_f64().ceil()))
        })?;
        let limit = self.config.request;
        let (status, bytes) = match tokio::time::timeout(limit, self.answer(path, body)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(cause)) => return Err(self.failed(cause)),
            Err(_) => return Err(self.failed(format!("no response within {limit:?}"))),
        };
        self.breaker.record_success();
        let answer: Value = match serde_json::from_slice(&bytes) {
            Ok(answer) => answer,
            Err(_) if !status.is_success() => Value::from(String::from_utf8_lossy(&bytes)),
            Err(error) => return Err(self.malformed_answer(&format!("is not JSON: {error}"))),
        };
        if status.is_success() {
            return Ok(answer);
        }
        if status == StatusCode::NOT_FOUND {
            // The collection or the database was removed, so the next request creates it again.
            *self.collection.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        let said = answer["message"].as_str().or_else(|| answer.as_str()).unwrap_or("no reason given");
        let fault = self.unavailable(&format!("responded with {status}: {said}"));
        Err(if said.contains("dimension") {
            let hint = format!(
                "Collection '{COLLECTION}' belongs to another embedding model. Configure that model, or remove the \
                collection to have it rebuilt."
            );
            Fault { retryable: false, ..fault.hint(hint) }
        } else {
            fault
        })
    }

    async fn answer(&self, path: &str, body: &Value) -> Result<(StatusCode, Vec<u8>), String> {
        let url =
            self.config.base.join(&format!("{COLLECTIONS_PATH}{path}")).map_err(|error| error.to_string())?;
        let client = self.clients.for_url(&url).map_err(|fault| fault.message)?;
        let request = client.request(Method::POST, url).header(header::CONTENT_TYPE, "application/json");
        let response = request.body(body.to_string()).send().await.map_err(|error| plain_cause(&error))?;
        let status = response.status();
        let bytes = read_body(response, MAX_ANSWER_BYTES).await.map_err(|error| match error {
            BodyError::TooLarge | BodyError::Stopped => {
                format!("response is larger than {} MiB", MAX_ANSWER_BYTES >> 20)
            }
            BodyError::Broken(error, _) => plain_cause(&error),
        })?;
        Ok((status, bytes))
    }

    fn failed(&self, cause: String) -> Fault {
        let fault = self.unavailable(&cause);
        self.breaker.record_failure(cause);
        fault
    }

    fn malformed_answer(&self, what: &str) -> Fault {
        self.unavailable(&format!("response {what}; this may not be ChromaDB"))
    }

    fn unavailable(&self, cause: &str) -> Fault {
        let address = self.config.base.as_str().trim_end_matches('/');
        Fault::unavailable(format!("ChromaDB at {address}: {}", quoted(cause, MAX_CAUSE_CHARS))).hint(HINT)
    }
}
