//! Weaviate collections: creation, and adding and removing objects.

use gatehouse_core::{
    Fault,
    hash::hex,
    search::{script, variants},
};
use gatehouse_net::{Method, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::WeaviateClient;
use crate::{
    remote::error_message,
    weaviate_neo4j::tokenizer,
    wiki::{ids, record::PageRecord},
};

pub(crate) const MAIN: &str = "KGWikiPages";

/// Collection of page vectors. It is separate because a change of the model requires a new collection.
pub(crate) const VECTORS: &str = "KGWikiVectors";

/// Prefix of our collection descriptions. Increase the version when the format of objects changes, so that the
/// collection is recreated.
const DESCRIPTION: &str = "Gatehouse wiki pages, version 2, of graph ";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CollectionState {
    Missing,
    /// The collection of this graph.
    Ours,
    /// A collection of this graph from another version.
    Outdated,
    /// Another collection. Contains its description.
    Foreign(String),
}

#[derive(Debug, Clone)]
pub(crate) struct PageObject {
    key: String,
    properties: Value,
    vector: Option<Vec<f32>>,
}

impl PageObject {
    /// Creates an object with texts. Blocks, because it runs the tokenizer.
    pub(crate) fn with_texts(key: &str, page: &PageRecord) -> Result<Self, rusqlite::Error> {
        let domains = page.domains.join(", ");
        let texts = [&page.title, &page.overview, &domains, &page.content];
        let with_variants =
            texts.map(|text| format!("{} {}", script::separate_scripts(text), variants(text)));
        let mut cut = tokenizer::tokenize(&with_variants)?.into_iter();
        let mut words = || cut.next().unwrap_or_default().join(" ");
        let mut properties = filtered_by(key, page);
        properties.extend([
            ("title", json!(page.title)),
            ("overview", json!(page.overview)),
            ("content", json!(page.content)),
            ("domains", json!(page.domains)),
            ("hash", json!(page.hash)),
            ("title_words", json!(words())),
            ("overview_words", json!(words())),
            ("domain_words", json!(words())),
            ("content_words", json!(words())),
            ("pieces", json!(tokenizer::pieces(&texts.map(String::as_str)))),
        ]);
        Ok(Self { key: key.to_owned(), properties: properties.into_iter().collect(), vector: None })
    }

    pub(crate) fn with_vector(key: &str, page: &PageRecord, vector: Vec<f32>) -> Self {
        let properties = filtered_by(key, page).into_iter().collect();
        Self { key: key.to_owned(), properties, vector: Some(vector) }
    }

    fn into_json(self, collection: &str) -> Value {
        let mut object = json!({"class": collection, "id": id_of(&self.key), "properties": self.properties});
        if let Some(vector) = self.vector {
            object["vector"] = vector.into_iter().map(f64::from).collect();
        }
        object
    }
}

fn filtered_by(key: &str, page: &PageRecord) -> Vec<(&'static str, Value)> {
    let domain_keys: Vec<String> = page.domains.iter().map(|domain| ids::domain_key(domain)).collect();
    vec![
        ("key", json!(key)),
        ("page_id", json!(page.id)),
        ("page_type", json!(page.page_type.as_str())),
        ("domain_keys", json!(domain_keys)),
    ]
}

/// Derives a UUID from the key, so that repeated deliveries replace the object. The format is version 5, with SHA-256
/// instead of SHA-1.
fn id_of(key: &str) -> String {
    let digest = Sha256::new().chain_update("gatehouse wiki page\n").chain_update(key).finalize();
    let mut bytes = [0_u8; 16];
    bytes.copy_from_slice(&digest[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x50;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = hex(bytes);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

fn class(collection: &str, graph: &str) -> Value {
    let property = |name: &str, kind: &str, tokenization: &str, filterable: bool, searchable: bool| {
        json!({
            "name": name, "dataType": [kind], "tokenization": tokenization,
            "indexFilterable": filterable, "indexSearchable": searchable,
        })
    };
    let exact = |name| property(name, "text", "field", true, false);
    let unindexed = |name| property(name, "text", "word", false, false);
    // Terms are already tokenized and stemmed.
    let words = |name| property(name, "text", "whitespace", false, true);
    json!({
        "class": collection,
        "description": format!("{DESCRIPTION}{graph}. Built from Neo4j; if it is deleted, it is built again."),
        "vectorizer": "none",
        "vectorIndexType": "hnsw",
        "vectorIndexConfig": {"distance": "cosine"},
        "invertedIndexConfig": {"bm25": {"k1": 1.2, "b": 0.75}, "stopwords": {"preset": "none"}},
        "properties": [
            exact("key"), exact("page_id"), exact("page_type"),
            property("domain_keys", "text[]", "field", true, false),
            unindexed("title"), unindexed("overview"), unindexed("content"), unindexed("hash"),
            property("domains", "text[]", "word", false, false),
            words("title_words"), words("overview_words"), words("domain_words"), words("content_words"),
            property("pieces", "text", "whitespace", true, true),
        ],
    })
}

impl WeaviateClient {
    pub(crate) async fn find(&self, collection: &str, graph: &str) -> Result<CollectionState, Fault> {
        let (status, answer) = self.send(Method::GET, &format!("v1/schema/{collection}"), None).await?;
        match status {
            StatusCode::NOT_FOUND => Ok(CollectionState::Missing),
            StatusCode::OK => {
                let name = answer.get("class").and_then(Value::as_str);
                if name != Some(collection) {
                    return Err(self.0.malformed_answer("does not describe the requested collection"));
                }
                let description = answer.get("description").and_then(Value::as_str).unwrap_or_default();
                Ok(if description.starts_with(&format!("{DESCRIPTION}{graph}.")) {
                    CollectionState::Ours
                } else if description.starts_with("Gatehouse wiki pages") && description.contains(graph) {
                    CollectionState::Outdated
                } else {
                    CollectionState::Foreign(description.to_owned())
                })
            }
            other => Err(self.0.unexpected_answer(other, &answer)),
        }
    }

    /// Creates a collection. Succeeds if another host created the same one concurrently.
    pub(crate) async fn create_collection(&self, collection: &str, graph: &str) -> Result<(), Fault> {
        let (status, answer) = self.send(Method::POST, "v1/schema", Some(&class(collection, graph))).await?;
        match status {
            StatusCode::OK => Ok(()),
            StatusCode::UNPROCESSABLE_ENTITY
                if self.find(collection, graph).await? == CollectionState::Ours =>
            {
                Ok(())
            }
            other => Err(self.0.unexpected_answer(other, &answer)),
        }
    }

    pub(crate) async fn delete_collection(&self, collection: &str) -> Result<(), Fault> {
        let (status, answer) = self.send(Method::DELETE, &format!("v1/schema/{collection}"), None).await?;
        match status {
            StatusCode::OK | StatusCode::NO_CONTENT | StatusCode::NOT_FOUND => Ok(()),
            // Older versions of Weaviate return an error for a missing collection.
            StatusCode::BAD_REQUEST if self.find(collection, "").await? == CollectionState::Missing => Ok(()),
            other => Err(self.0.unexpected_answer(other, &answer)),
        }
    }

    /// Adds or replaces objects. Returns the keys of rejected objects with the reasons.
    pub(crate) async fn put_objects(
        &self,
        collection: &str,
        objects: Vec<PageObject>,
    ) -> Result<Vec<(String, String)>, Fault> {
        if objects.is_empty() {
            return Ok(Vec::new());
        }
        let keys: Vec<String> = objects.iter().map(|object| object.key.clone()).collect();
        let objects: Vec<Value> = objects.into_iter().map(|object| object.into_json(collection)).collect();
        let body = json!({"objects": objects});
        let answer = self.send_ok(Method::POST, "v1/batch/objects", Some(&body)).await?;
        let results = answer.as_array().filter(|results| results.len() == keys.len());
        let results =
            results.ok_or_else(|| self.0.malformed_answer("does not have one result for each object"))?;
        let mut refused = Vec::new();
        for (result, key) in results.iter().zip(keys) {
            if result.get("id").and_then(Value::as_str) != Some(id_of(&key).as_str()) {
                return Err(self.0.malformed_answer("has results in a different order than the objects"));
            }
            let result = result.get("result").unwrap_or(&Value::Null);
            match result.get("status").and_then(Value::as_str) {
                Some("SUCCESS") => {}
                _ => refused.push((key, error_message(result.get("errors").unwrap_or(&Value::Null)))),
            }
        }
        Ok(refused)
    }

    /// Removes the object of a page, if it exists.
    pub(crate) async fn forget(&self, collection: &str, key: &str) -> Result<(), Fault> {
        let path = format!("v1/objects/{collection}/{}", id_of(key));
        let (status, answer) = self.send(Method::DELETE, &path, None).await?;
        match status {
            StatusCode::OK | StatusCode::NO_CONTENT | StatusCode::NOT_FOUND => Ok(()),
            other => Err(self.0.unexpected_answer(other, &answer)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_uuid_that_the_key_decides() {
        let id = id_of("Principle/Model Loading");
        assert_eq!(id, id_of("Principle/Model Loading"));
        assert_ne!(id, id_of("Principle/Model loading"));
        assert_eq!((id.len(), &id[14..15]), (36, "5"));
        assert!(matches!(&id[19..20], "8" | "9" | "a" | "b"), "{id}");
    }
}
