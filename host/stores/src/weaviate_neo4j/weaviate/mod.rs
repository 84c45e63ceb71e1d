//! The server that finds pages: Weaviate over REST and GraphQL. Everything in it is made from Neo4j and can be made
//! again.
//!
//! Every request has a time, every answer a size; an answer that is something else than what was asked for is a
//! fault, whatever its status.

mod collection;
mod find;
mod graphql;

use gatehouse_core::{
    Fault,
    http::{Redactor, Secret},
    names::quoted,
};
use gatehouse_net::{BodyError, HttpClients, Method, StatusCode, header, plain_cause, read_body};
use serde_json::Value;
use url::Url;

pub(super) use collection::{Collection, CollectionState, MAIN, PageObject, VECTORS};
pub(super) use find::SearchFilter;

use super::{
    config::{RemoteTimeouts, WeaviateNeo4jConfig},
    remote::RemoteServer,
};

/// Largest answer that is read, in bytes. The largest one asked for, 10,000 keys with scores, is a tenth of it.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// Weaviate.
pub(super) struct WeaviateClient {
    remote: RemoteServer,
    base: Url,
    key: Option<Secret>,
    timing: RemoteTimeouts,
    clients: HttpClients,
}

impl WeaviateClient {
    /// Opens nothing yet. Faults where the address cannot be used.
    pub(super) fn new(config: &WeaviateNeo4jConfig) -> Result<Self, Fault> {
        let base = config.weaviate()?;
        let hint = "Start Weaviate, or correct WEAVIATE_URL; the next call tries again.";
        let redactor = Redactor::new(&config.weaviate_api_key);
        let pauses = (config.timing.first_pause, config.timing.longest_pause);
        let shown = base.as_str().trim_end_matches('/').to_owned();
        let connect = config.timing.connect;
        let clients = HttpClients::new(move |builder| builder.connect_timeout(connect));
        Ok(Self {
            remote: RemoteServer::new(("weaviate", shown, hint), redactor, pauses),
            base,
            key: config.weaviate_api_key.clone(),
            timing: config.timing,
            clients,
        })
    }

    /// Where it is, without credentials.
    pub(super) fn address(&self) -> &str {
        self.remote.address()
    }

    /// Whether it answers at all.
    pub(super) async fn ping(&self) -> Result<(), Fault> {
        self.send_ok(Method::GET, "v1/meta", None).await.map(|_| ())
    }

    /// One request that has to succeed.
    async fn send_ok(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, Fault> {
        match self.send(method, path, body).await? {
            (StatusCode::OK, answer) => Ok(answer),
            (other, answer) => Err(self.unexpected_answer(other, &answer)),
        }
    }

    /// One request with JSON in both directions. The status is for the caller, but for those that mean the same
    /// everywhere.
    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value), Fault> {
        self.remote.check()?;
        let limit = self.timing.request;
        let answered = tokio::time::timeout(limit, self.answer(method, path, body)).await;
        let (status, bytes) = match answered {
            Ok(Ok(answer)) => answer,
            Ok(Err(cause)) => return Err(self.remote.record_failure(&cause)),
            Err(_) => return Err(self.remote.record_failure(&format!("no answer within {limit:?}"))),
        };
        self.remote.record_success();
        // Nothing is an answer too, and an error in words is shown as it is.
        let answer = match serde_json::from_slice(&bytes) {
            Ok(answer) => answer,
            Err(_) if bytes.is_empty() => Value::Null,
            Err(_) if !status.is_success() => Value::from(String::from_utf8_lossy(&bytes)),
            Err(error) => return Err(self.remote.unavailable(&format!("its answer is not JSON: {error}"))),
        };
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(self.remote.refused(
                &format!("it refused the request ({status}): {}", error_message(&answer)),
                "Set WEAVIATE_API_KEY to a key that may read and write KGWikiPages and KGWikiVectors.",
            )),
            status => Ok((status, answer)),
        }
    }

    async fn answer(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Vec<u8>), String> {
        let url = self.base.join(path).map_err(|error| error.to_string())?;
        let client = self.clients.for_url(&url).map_err(|fault| fault.message)?;
        let mut request = client.request(method, url);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key.reveal());
        }
        if let Some(body) = body {
            request = request.header(header::CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let response = request.send().await.map_err(|error| plain_cause(&error))?;
        let status = response.status();
        let bytes = read_body(response, MAX_ANSWER_BYTES).await.map_err(|error| match error {
            BodyError::TooLarge | BodyError::Stopped => {
                format!("its answer is larger than {} MiB", MAX_ANSWER_BYTES >> 20)
            }
            BodyError::Broken(error, _) => plain_cause(&error),
        })?;
        Ok((status, bytes))
    }

    /// The fault for a collection that is not of this graph.
    pub(super) fn foreign_collection(&self, collection: Collection, described: &str) -> Fault {
        let cause = format!(
            "its collection '{}' holds something else than the pages of this graph: '{}'",
            collection.0,
            quoted(described, 120)
        );
        self.remote.refused(
            &cause,
            "Name another Weaviate in WEAVIATE_URL, or remove that collection if nobody needs it.",
        )
    }

    /// The fault for collections that do not stay as they were made.
    pub(super) fn unstable_collections(&self) -> Fault {
        self.remote
            .unavailable("its collections do not stay as they are made; somebody else may be removing them")
    }

    /// The fault for an answer that nothing was prepared for.
    fn unexpected_answer(&self, status: StatusCode, answer: &Value) -> Fault {
        self.remote.unavailable(&format!("it answered {status}: {}", error_message(answer)))
    }

    /// The fault for an answer of another shape.
    fn malformed_answer(&self, what: &str) -> Fault {
        self.remote
            .unavailable(&format!("its answer {what}; this may be no Weaviate, or one of another kind"))
    }
}

/// What an error in JSON says: `{"error":[{"message":…}]}`, `{"errors":[…]}`, `{"message":…}`, or a text.
fn error_message(answer: &Value) -> String {
    let messages = |list: &Value| {
        let texts = list.as_array().into_iter().flatten().filter_map(|one| one.get("message")?.as_str());
        let texts: Vec<&str> = texts.take(3).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    };
    let lists = ["error", "errors"].iter().find_map(|name| messages(answer.get(name)?));
    let message = || answer.get("message")?.as_str().map(str::to_owned);
    lists
        .or_else(message)
        .or_else(|| answer.as_str().map(str::to_owned))
        .unwrap_or_else(|| "no reason given".into())
}
