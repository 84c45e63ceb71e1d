//! Weaviate collections. Each has the vectors of one model for the pages of one graph.

use gatehouse_core::{Fault, hash::sha256_hex, names::quoted};
use gatehouse_net::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::WeaviateClient;

/// Start of the description of a collection, which its facts follow as JSON.
const DESCRIPTION: &str = "Vectors of Gatehouse pages. If it is deleted, they are made again. ";

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CollectionFacts {
    /// Random, so that a collection made again is another one.
    pub(crate) id: String,
    /// Length of the vectors. 0 until the first is known.
    pub(crate) dimension: usize,
    pub(crate) model: String,
}

impl CollectionFacts {
    /// Returns true if the collection can have vectors of this dimension, or of any without one.
    pub(crate) fn has_vectors(&self, dimension: Option<usize>) -> bool {
        !self.id.is_empty() && dimension.is_none_or(|dimension| self.dimension == dimension)
    }
}

/// Returns the name of the collection for a graph and a model.
pub(crate) fn collection_name(graph: &str, model: &str) -> String {
    format!("GatehousePages_{}", &sha256_hex(format!("{graph}\n{model}"))[..32])
}

fn class(collection: &str, facts: &CollectionFacts) -> Value {
    let facts = serde_json::to_string(facts).unwrap_or_default();
    let property = |name: &str, filterable: bool| {
        json!({
            "name": name, "dataType": ["text"], "tokenization": "field",
            "indexFilterable": filterable, "indexSearchable": false,
        })
    };
    json!({
        "class": collection,
        "description": format!("{DESCRIPTION}{facts}"),
        "vectorizer": "none",
        "vectorIndexType": "hnsw",
        "vectorIndexConfig": {"distance": "cosine"},
        "properties": [property("page", true), property("key", false), property("version", false)],
    })
}

impl WeaviateClient {
    /// Returns the facts of a collection. `None` if it does not exist.
    pub(crate) async fn facts(&self, collection: &str) -> Result<Option<CollectionFacts>, Fault> {
        let (status, answer) = self.send(Method::GET, &format!("v1/schema/{collection}"), None).await?;
        match status {
            StatusCode::NOT_FOUND => Ok(None),
            StatusCode::OK => {
                let text = |name: &str| answer.get(name).and_then(Value::as_str).unwrap_or_default();
                if text("class") != collection {
                    return Err(self.0.malformed_answer("does not describe the requested collection"));
                }
                if text("description").is_empty() {
                    // Weaviate makes such a collection for objects that arrive before it. It is replaced.
                    return Ok(Some(CollectionFacts::default()));
                }
                let facts = text("description").strip_prefix(DESCRIPTION);
                let facts = facts.and_then(|facts| serde_json::from_str(facts).ok());
                facts.map(Some).ok_or_else(|| self.foreign_collection(collection, text("description")))
            }
            other => Err(self.0.unexpected_answer(other, &answer)),
        }
    }

    fn foreign_collection(&self, collection: &str, described: &str) -> Fault {
        let described = quoted(described, 120);
        let cause = format!("its collection '{collection}' belongs to something else: '{described}'");
        let hint = "Set WEAVIATE_URL to another server, or delete that collection if it is unused.";
        self.0.remote.refused(&cause, hint)
    }

    /// Creates a collection. Returns the facts of the existing one if another host was faster.
    pub(crate) async fn create_collection(
        &self,
        collection: &str,
        facts: &CollectionFacts,
    ) -> Result<CollectionFacts, Fault> {
        let (status, answer) = self.send(Method::POST, "v1/schema", Some(&class(collection, facts))).await?;
        match (status, self.facts(collection).await?) {
            (StatusCode::OK | StatusCode::UNPROCESSABLE_ENTITY, Some(facts)) => Ok(facts),
            (other, _) => Err(self.0.unexpected_answer(other, &answer)),
        }
    }

    pub(crate) async fn delete_collection(&self, collection: &str) -> Result<(), Fault> {
        let (status, answer) = self.send(Method::DELETE, &format!("v1/schema/{collection}"), None).await?;
        match status {
            StatusCode::OK | StatusCode::NO_CONTENT | StatusCode::NOT_FOUND => Ok(()),
            // Older versions of Weaviate return an error for a missing collection.
            StatusCode::BAD_REQUEST if self.facts(collection).await?.is_none() => Ok(()),
            other => Err(self.0.unexpected_answer(other, &answer)),
        }
    }
}
