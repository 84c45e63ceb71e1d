//! Weaviate client over REST and GraphQL. All data in Weaviate can be made again.
//!
//! A response with unexpected content is a fault, regardless of its status.

mod collection;
mod graphql;
mod objects;

use gatehouse_core::Fault;
use gatehouse_net::{Method, StatusCode};
use serde_json::Value;

pub(super) use collection::{CollectionFacts, collection_name};
pub(super) use objects::PageVector;

use super::config::WeaviateNeo4jConfig;
use crate::remote::{HttpServer, error_message};

pub(super) struct WeaviateClient(HttpServer);

impl WeaviateClient {
    /// Creates a client without connecting. Fails if the address is invalid.
    pub(super) fn new(config: &WeaviateNeo4jConfig) -> Result<Self, Fault> {
        let hint = "Start Weaviate, or correct WEAVIATE_URL; the next call tries again.";
        let (about, timing) = (("knowledge engine 'weaviate'", config.weaviate()?, hint), config.timing);
        let (timeouts, pauses) =
            ((timing.connect, timing.request), (timing.first_pause, timing.longest_pause));
        Ok(Self(HttpServer::new(about, config.weaviate_api_key.clone(), timeouts, pauses)))
    }

    pub(super) fn address(&self) -> &str {
        self.0.remote.address()
    }

    pub(super) async fn ping(&self) -> Result<(), Fault> {
        self.send_ok(Method::GET, "v1/meta", None).await.map(|_| ())
    }

    /// Sends a request and requires status 200.
    async fn send_ok(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, Fault> {
        match self.send(method, path, body).await? {
            (StatusCode::OK, answer) => Ok(answer),
            (other, answer) => Err(self.0.unexpected_answer(other, &answer)),
        }
    }

    /// Sends a JSON request and returns the status and the JSON response. Fails for 401 and 403.
    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value), Fault> {
        match self.0.send(method, path, body).await? {
            (status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN), answer) => {
                Err(self.0.remote.refused(
                    &format!("it rejected the request ({status}): {}", error_message(&answer)),
                    "Set WEAVIATE_API_KEY to a key that may read and write collections named GatehousePages….",
                ))
            }
            answer => Ok(answer),
        }
    }

    pub(super) fn refused_page(&self, key: &str, reason: &str) -> Fault {
        self.0.remote.unavailable(&format!("it rejected the vector of page '{key}': {reason}"))
    }
}
