//! Objects of a collection: adding, removing, and finding the nearest.

use gatehouse_core::{Fault, hash::hex};
use gatehouse_net::{Method, StatusCode};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::{WeaviateClient, graphql::GetQuery};
use crate::{engine::VectorItem, remote::error_message};

/// Maximum results of a query: Weaviate's default limit (`QUERY_MAXIMUM_RESULTS`).
const MAX_RESULTS: usize = 10_000;

/// Keys in one condition.
const MAX_KEYS: usize = 1_000;

#[derive(Debug, Clone)]
pub(crate) struct PageVector {
    pub(crate) item: VectorItem,
    /// `None` if the model returned no vector for the page.
    pub(crate) vector: Option<Vec<f32>>,
}

impl PageVector {
    fn to_json(&self, collection: &str) -> Value {
        let VectorItem { key, version } = &self.item;
        let id = id_of(key);
        let properties = json!({"page": id, "key": key, "version": version});
        let mut object = json!({"class": collection, "id": id, "properties": properties});
        if let Some(vector) = &self.vector {
            object["vector"] = vector.iter().copied().map(f64::from).collect();
        }
        object
    }
}

/// Derives a UUID from the key, so that a new vector of a page replaces the old one. The format is version 5, with
/// SHA-256 instead of SHA-1.
fn id_of(key: &str) -> String {
    let digest = Sha256::new().chain_update("gatehouse wiki page\n").chain_update(key).finalize();
    let mut bytes = [0_u8; 16];
    bytes.copy_from_slice(&digest[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x50;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = hex(bytes);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// Returns the ids of pages. Weaviate trims the texts of a filter, and a key may end with a space.
fn ids(keys: &[String]) -> Vec<String> {
    keys.iter().map(|key| id_of(key)).collect()
}

impl WeaviateClient {
    /// Returns the number of objects, also of those without a vector.
    pub(crate) async fn count(&self, collection: &str) -> Result<u32, Fault> {
        let query = json!({"query": format!("{{Aggregate{{{collection}{{meta{{count}}}}}}}}")});
        let answer = self.send_ok(Method::POST, "v1/graphql", Some(&query)).await?;
        let count = answer.pointer(&format!("/data/Aggregate/{collection}/0/meta/count"));
        let count = count.and_then(Value::as_u64).and_then(|count| u32::try_from(count).ok());
        count.ok_or_else(|| self.0.malformed_answer("has no count of pages"))
    }

    /// Adds or replaces vectors. Returns the keys of rejected ones with the reasons.
    pub(crate) async fn put(
        &self,
        collection: &str,
        vectors: &[PageVector],
    ) -> Result<Vec<(String, String)>, Fault> {
        if vectors.is_empty() {
            return Ok(Vec::new());
        }
        let objects: Vec<Value> = vectors.iter().map(|vector| vector.to_json(collection)).collect();
        let body = json!({"objects": objects});
        let answer = self.send_ok(Method::POST, "v1/batch/objects", Some(&body)).await?;
        let results = answer.as_array().filter(|results| results.len() == vectors.len());
        let results =
            results.ok_or_else(|| self.0.malformed_answer("does not have one result for each object"))?;
        let mut refused = Vec::new();
        for (result, PageVector { item: VectorItem { key, .. }, .. }) in results.iter().zip(vectors) {
            if result.get("id").and_then(Value::as_str) != Some(id_of(key).as_str()) {
                return Err(self.0.malformed_answer("has results in a different order than the objects"));
            }
            let result = result.get("result").unwrap_or(&Value::Null);
            match result.get("status").and_then(Value::as_str) {
                Some("SUCCESS") => {}
                _ => refused.push((key.clone(), error_message(result.get("errors").unwrap_or(&Value::Null)))),
            }
        }
        Ok(refused)
    }

    /// Removes the vectors of pages, by key. A missing collection has none.
    pub(crate) async fn remove(&self, collection: &str, keys: &[String]) -> Result<(), Fault> {
        for keys in keys.chunks(MAX_KEYS) {
            // REST has another name than GraphQL for the list.
            let condition = json!({"path": ["page"], "operator": "ContainsAny", "valueTextArray": ids(keys)});
            let body = json!({"match": {"class": collection, "where": condition}});
            let (status, answer) = self.send(Method::DELETE, "v1/batch/objects", Some(&body)).await?;
            let is_gone = status != StatusCode::OK && self.facts(collection).await?.is_none();
            if status != StatusCode::OK && !is_gone {
                return Err(self.0.unexpected_answer(status, &answer));
            }
        }
        Ok(())
    }

    /// Returns the nearest pages, of `among` if given, with their cosines, nearest first. The vector must have the
    /// dimension of the collection.
    pub(crate) async fn nearest(
        &self,
        collection: &str,
        vector: &[f32],
        among: Option<&[String]>,
        limit: usize,
    ) -> Result<Vec<(VectorItem, f32)>, Fault> {
        let limit = limit.min(MAX_RESULTS);
        let mut near = match among {
            None => self.nearest_where(collection, vector, None, limit).await?,
            Some(keys) => {
                let mut near = Vec::new();
                for keys in keys.chunks(MAX_KEYS) {
                    let condition =
                        json!({"path": ["page"], "operator": "ContainsAny", "valueText": ids(keys)});
                    near.extend(self.nearest_where(collection, vector, Some(condition), limit).await?);
                }
                near
            }
        };
        near.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.key.cmp(&b.0.key)));
        near.truncate(limit);
        Ok(near)
    }

    async fn nearest_where(
        &self,
        collection: &str,
        vector: &[f32],
        condition: Option<Value>,
        limit: usize,
    ) -> Result<Vec<(VectorItem, f32)>, Fault> {
        let mut arguments = Map::from_iter([
            ("nearVector".to_owned(), json!({"vector": vector})),
            ("limit".to_owned(), json!(limit)),
        ]);
        arguments.extend(condition.map(|condition| ("where".to_owned(), condition)));
        let query = GetQuery { collection, arguments, fields: "key version _additional{distance}" };
        let body = json!({"query": query.to_string()});
        let mut answer = self.send_ok(Method::POST, "v1/graphql", Some(&body)).await?;
        // GraphQL errors come with status 200.
        if answer.get("errors").and_then(Value::as_array).is_some_and(|errors| !errors.is_empty()) {
            let cause = format!("it rejected the query: {}", error_message(&answer));
            return Err(self.0.remote.unavailable(&cause));
        }
        let Some(Value::Array(rows)) =
            answer.pointer_mut(&format!("/data/Get/{collection}")).map(Value::take)
        else {
            return Err(self.0.malformed_answer("has no list of pages"));
        };
        let page = |row: &Value| {
            let text = |name: &str| Some(row.get(name)?.as_str()?.to_owned());
            let distance =
                row.pointer("/_additional/distance")?.as_f64().filter(|value| value.is_finite())?;
            Some((VectorItem { key: text("key")?, version: text("version")? }, (1.0 - distance) as f32))
        };
        let pages: Option<Vec<_>> = rows.iter().map(page).collect();
        pages.ok_or_else(|| self.0.malformed_answer("has a page without key or score"))
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
