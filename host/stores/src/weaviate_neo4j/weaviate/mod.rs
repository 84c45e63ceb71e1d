//! Weaviate client over REST and GraphQL. All data in Weaviate can be rebuilt from Neo4j.
//!
//! Requests have a timeout and responses a size limit. A response with unexpected content is a fault, regardless of its
//! status.

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

/// Maximum bytes of a response. The largest expected one, 10,000 keys with scores, is about a tenth of that.
const MAX_ANSWER_BYTES: usize = 16 << 20;

pub(super) struct WeaviateClient {
    remote: RemoteServer,
    base: Url,
    key: Option<Secret>,
    timing: RemoteTimeouts,
    clients: HttpClients,
}

impl WeaviateClient {
    /// Creates a client without connecting. Fails if the address is invalid.
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

    pub(super) fn address(&self) -> &str {
        self.remote.address()
    }

    pub(super) async fn ping(&self) -> Result<(), Fault> {
        self.send_ok(Method::GET, "v1/meta", None).await.map(|_| ())
    }

    /// Sends a request and requires status 200.
    async fn send_ok(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, Fault> {
        match self.send(method, path, body).await? {
            (StatusCode::OK, answer) => Ok(answer),
            (other, answer) => Err(self.unexpected_answer(other, &answer)),
        }
    }

    /// Sends a JSON request and returns the status and the JSON response. Fails for 401 and 403.
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
        // Accept an empty response, and show a plain-text error as it is.
        let answer = match serde_json::from_slice(&bytes) {
            Ok(answer) => answer,
            Err(_) if bytes.is_empty() => Value::Null,
            Err(_) if !status.is_success() => Value::from(String::from_utf8_lossy(&bytes)),
            Err(error) => return Err(self.remote.unavailable(&format!("its answer is not JSON: {error}"))),
        };
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(self.remote.refused(
                &format!("it rejected the request ({status}): {}", error_message(&answer)),
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

    pub(super) fn foreign_collection(&self, collection: Collection, described: &str) -> Fault {
        let cause = format!(
            "its collection '{}' belongs to something else: '{}'",
            collection.0,
            quoted(described, 120)
        );
        self.remote
            .refused(&cause, "Set WEAVIATE_URL to another server, or delete that collection if it is unused.")
    }

    pub(super) fn unstable_collections(&self) -> Fault {
        self.remote.unavailable("its collections keep changing; another program may be deleting them")
    }

    fn unexpected_answer(&self, status: StatusCode, answer: &Value) -> Fault {
        self.remote.unavailable(&format!("it answered {status}: {}", error_message(answer)))
    }

    fn malformed_answer(&self, what: &str) -> Fault {
        self.remote.unavailable(&format!("its answer {what}; the server may not be a compatible Weaviate"))
    }
}

/// Extracts the message from an error response: `{"error":[{"message":…}]}`, `{"errors":[…]}`, `{"message":…}` or plain
/// text.
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
