//! Vectors of artifacts in one ChromaDB collection, which hosts and stores share. All other data stays in the artifact
//! engine, and the vectors can be recomputed.

use std::{sync::Mutex, time::Duration};

use gatehouse_core::{Fault, lock};
use gatehouse_net::{Method, StatusCode};
use serde_json::{Value, json};
use url::Url;

use crate::remote::{HttpServer, http_url};

const COLLECTION: &str = "mcp_artifacts";

const COLLECTIONS_PATH: &str = "api/v2/tenants/default_tenant/databases/default_database/collections";

const HINT: &str = "Start ChromaDB, or correct MCP_GATEWAY_CHROMA_URL. Gatehouse retries automatically.";

#[derive(Debug, Clone)]
pub struct ChromaConfig {
    /// The path ends with `/`.
    base: Url,
    /// Timeout of a request and its response. A search that takes longer uses words only.
    pub request: Duration,
    /// First and longest pause after a connection failure. Each pause is twice as long as the previous one.
    pub pauses: (Duration, Duration),
}

impl ChromaConfig {
    /// Parses a URL such as `http://localhost:8000`, optionally with a path.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let base = http_url("MCP_GATEWAY_CHROMA_URL", text, "Gatehouse uses ChromaDB without credentials.")?;
        let pauses = (Duration::from_secs(1), Duration::from_secs(30));
        Ok(Self { base, request: Duration::from_secs(3), pauses })
    }
}

/// Client for ChromaDB's REST API v2.
pub(crate) struct ChromaClient {
    http: HttpServer,
    /// Id of the collection. Cleared if the server no longer knows it, because its vectors are then lost.
    collection: Mutex<Option<String>>,
}

pub(crate) struct VectorMatch {
    pub(crate) id: String,
    pub(crate) version: String,
    /// 1 minus the cosine.
    pub(crate) distance: f32,
}

impl ChromaClient {
    pub(crate) fn new(config: ChromaConfig) -> Self {
        let ChromaConfig { base, request, pauses } = config;
        let http = HttpServer::new(("ChromaDB", base, HINT), None, (request, request), pauses);
        Self { http, collection: Mutex::default() }
    }

    /// Returns the id of the collection, creating it if needed.
    pub(crate) async fn collection(&self) -> Result<String, Fault> {
        let cached_id = lock(&self.collection).clone();
        if let Some(cached_id) = cached_id {
            return Ok(cached_id);
        }
        let body = json!({
            "name": COLLECTION,
            "get_or_create": true,
            "configuration": {"hnsw": {"space": "cosine"}},
        });
        let answer = self.send_ok("", &body).await?;
        let id = answer["id"].as_str().ok_or_else(|| self.http.malformed_answer("has no collection id"))?;
        *lock(&self.collection) = Some(id.to_owned());
        Ok(id.to_owned())
    }

    /// Stores vectors and their metadata, replacing those with the same ids.
    pub(crate) async fn upsert(
        &self,
        ids: &[String],
        vectors: &[&Vec<f32>],
        about: &[Value],
    ) -> Result<(), Fault> {
        let body = json!({"ids": ids, "embeddings": vectors, "metadatas": about});
        self.send_to_collection("upsert", &body).await.map(|_| ())
    }

    pub(crate) async fn nearest(
        &self,
        vector: &[f32],
        filter: &Value,
        limit: usize,
    ) -> Result<Vec<VectorMatch>, Fault> {
        let body = json!({
            "query_embeddings": [vector],
            "n_results": limit,
            "where": filter,
            "include": ["metadatas", "distances"],
        });
        let answer = self.send_to_collection("query", &body).await?;
        let column = |name: &str| answer[name][0].as_array().map(Vec::as_slice);
        let (Some(ids), Some(distances), Some(about)) =
            (column("ids"), column("distances"), column("metadatas"))
        else {
            return Err(self.http.malformed_answer("is not a list of results"));
        };
        let neighbour = |((id, distance), about): ((&Value, &Value), &Value)| {
            let (id, version) = (id.as_str()?.to_owned(), about["version"].as_str()?.to_owned());
            Some(VectorMatch { id, version, distance: distance.as_f64()? as f32 })
        };
        Ok(ids.iter().zip(distances).zip(about).filter_map(neighbour).collect())
    }

    pub(crate) async fn ids(&self, filter: &Value) -> Result<Vec<String>, Fault> {
        let answer = self.send_to_collection("get", &json!({"where": filter, "include": []})).await?;
        let ids = answer["ids"].as_array();
        let ids = ids.ok_or_else(|| self.http.malformed_answer("is not a list of ids"))?;
        Ok(ids.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect())
    }

    pub(crate) async fn delete(&self, ids: &[String]) -> Result<(), Fault> {
        self.send_to_collection("delete", &json!({"ids": ids})).await.map(|_| ())
    }

    async fn send_to_collection(&self, operation: &str, body: &Value) -> Result<Value, Fault> {
        let collection = self.collection().await?;
        self.send_ok(&format!("/{collection}/{operation}"), body).await
    }

    async fn send_ok(&self, path: &str, body: &Value) -> Result<Value, Fault> {
        let path = format!("{COLLECTIONS_PATH}{path}");
        let (status, answer) = self.http.send(Method::POST, &path, Some(body)).await?;
        if status.is_success() {
            return Ok(answer);
        }
        if status == StatusCode::NOT_FOUND {
            // The collection or the database was removed, so the next request creates it again.
            *lock(&self.collection) = None;
        }
        let fault = self.http.unexpected_answer(status, &answer);
        if !fault.message.contains("dimension") {
            return Err(fault);
        }
        let hint = format!(
            "Collection '{COLLECTION}' belongs to another embedding model. Configure that model, or remove the \
            collection to have it rebuilt."
        );
        Err(Fault { retryable: false, ..fault.hint(hint) })
    }
}
