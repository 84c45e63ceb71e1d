//! Finds page keys by words and by vector. Weaviate applies the filters before the limit.

use gatehouse_core::{Fault, page::PageType};
use gatehouse_net::Method;
use serde_json::{Map, Value as Json, json};

use super::{WeaviateClient, graphql::GetQuery};
use crate::remote::error_message;

const WORD_FIELDS: [&str; 5] =
    ["title_words^6", "overview_words^3", "domain_words^2", "content_words", "pieces"];

/// Maximum keys per query: Weaviate's default limit (`QUERY_MAXIMUM_RESULTS`).
const MAX_KEYS: usize = 10_000;

/// A scored query and the function that reads a score.
struct ScoredQuery {
    by: (&'static str, Json),
    fields: &'static str,
    read: fn(&Json) -> Option<f64>,
}

/// Conditions on the pages to return. An empty list does not restrict them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SearchFilter {
    pub(crate) types: Vec<PageType>,
    /// Normalized domain keys, limited to domains that exist.
    pub(crate) domains: Vec<String>,
    pub(crate) keys: Vec<String>,
}

impl SearchFilter {
    fn condition(&self) -> Option<Json> {
        let lists: [(&str, Vec<&str>); 3] = [
            ("page_type", self.types.iter().map(|kind| kind.as_str()).collect()),
            ("domain_keys", self.domains.iter().map(String::as_str).collect()),
            ("key", self.keys.iter().map(String::as_str).collect()),
        ];
        let any_of =
            |(property, values)| json!({"path": [property], "operator": "ContainsAny", "valueText": values});
        let mut conditions: Vec<Json> =
            lists.into_iter().filter(|(_, values)| !values.is_empty()).map(any_of).collect();
        if conditions.len() > 1 {
            return Some(json!({"operator": "And", "operands": conditions}));
        }
        conditions.pop()
    }
}

impl WeaviateClient {
    /// Returns the keys and scores of the best pages by words, best first. Includes all pages that tie with the last
    /// one, so that the caller can break ties by key.
    pub(crate) async fn by_words(
        &self,
        collection: &str,
        words: &[String],
        narrowed: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<(String, f64)>, Fault> {
        let read = |row: &Json| row.pointer("/_additional/score")?.as_str()?.parse().ok();
        let ask = ScoredQuery { by: ("bm25", bm25(words)), fields: "key _additional{score}", read };
        self.best(collection, ask, narrowed, limit).await
    }

    /// Returns the keys and cosines of the nearest pages. The vector must have the dimension of the collection.
    pub(crate) async fn by_vector(
        &self,
        collection: &str,
        vector: &[f32],
        narrowed: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<(String, f64)>, Fault> {
        let near_vector = json!({"vector": vector});
        let read = |row: &Json| Some(1.0 - row.pointer("/_additional/distance")?.as_f64()?);
        let ask = ScoredQuery { by: ("nearVector", near_vector), fields: "key _additional{distance}", read };
        self.best(collection, ask, narrowed, limit).await
    }

    /// Returns `true` if a page contains any of these words or, with `all`, all of them as pieces.
    pub(crate) async fn contains_words(
        &self,
        collection: &str,
        words: &[String],
        all: bool,
    ) -> Result<bool, Fault> {
        let (name, by) = if all {
            let piece = |piece| json!({"path": ["pieces"], "operator": "Equal", "valueText": piece});
            let pieces: Vec<Json> = words.iter().map(piece).collect();
            ("where", json!({"operator": "And", "operands": pieces}))
        } else {
            ("bm25", bm25(words))
        };
        let arguments = Map::from_iter([(name.to_owned(), by), ("limit".to_owned(), Json::from(1))]);
        Ok(!self.get(&GetQuery { collection, arguments, fields: "key" }).await?.is_empty())
    }

    pub(crate) async fn count(&self, collection: &str) -> Result<u64, Fault> {
        let body = json!({"query": format!("{{Aggregate{{{collection}{{meta{{count}}}}}}}}")});
        let answer = self.question(&body).await?;
        let count = answer.pointer(&format!("/data/Aggregate/{collection}/0/meta/count"));
        count.and_then(Json::as_u64).ok_or_else(|| self.0.malformed_answer("has no count"))
    }

    async fn best(
        &self,
        collection: &str,
        ScoredQuery { by, fields, read }: ScoredQuery,
        narrowed: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<(String, f64)>, Fault> {
        let mut row_limit = limit.saturating_add(1).min(MAX_KEYS);
        loop {
            let mut arguments = Map::from_iter([(by.0.to_owned(), by.1.clone())]);
            arguments.insert("limit".to_owned(), Json::from(row_limit));
            arguments.extend(narrowed.condition().map(|condition| ("where".to_owned(), condition)));
            let rows = self.get(&GetQuery { collection, arguments, fields }).await?;
            let scored = rows.iter().map(|row| {
                let key = row.get("key").and_then(Json::as_str)?.to_owned();
                Some((key, read(row).filter(|score| score.is_finite())?))
            });
            let scored: Option<Vec<(String, f64)>> = scored.collect();
            let mut scored =
                scored.ok_or_else(|| self.0.malformed_answer("has a page without key or score"))?;
            if scored.len() > row_limit {
                return Err(self.0.malformed_answer("has more pages than requested"));
            }
            scored.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            let tied = scored.len() == row_limit
                && scored
                    .last()
                    .zip(scored.get(limit.saturating_sub(1)))
                    .is_some_and(|(last, threshold)| last.1 >= threshold.1);
            if !tied || row_limit == MAX_KEYS {
                return Ok(scored);
            }
            row_limit = (row_limit * 4).min(MAX_KEYS);
        }
    }

    async fn get(&self, get: &GetQuery<'_>) -> Result<Vec<Json>, Fault> {
        let mut answer = self.question(&json!({"query": get.to_string()})).await?;
        match answer.pointer_mut(&format!("/data/Get/{}", get.collection)).map(Json::take) {
            Some(Json::Array(rows)) => Ok(rows),
            _ => Err(self.0.malformed_answer("has no list of pages")),
        }
    }

    async fn question(&self, body: &Json) -> Result<Json, Fault> {
        let answer = self.send_ok(Method::POST, "v1/graphql", Some(body)).await?;
        // GraphQL errors come with status 200.
        if answer.get("errors").and_then(Json::as_array).is_some_and(|errors| !errors.is_empty()) {
            let cause = format!("it rejected the query: {}", error_message(&answer));
            return Err(self.0.remote.unavailable(&cause));
        }
        Ok(answer)
    }
}

fn bm25(words: &[String]) -> Json {
    json!({"query": words.join(" "), "properties": WORD_FIELDS})
}

#[cfg(test)]
mod tests {
    use super::{super::graphql::GraphqlValue, *};

    #[test]
    fn filters_are_one_condition() {
        let narrowed = |types: &[PageType], domains: &[&str]| {
            let domains = domains.iter().map(|domain| (*domain).to_owned()).collect();
            let filter = SearchFilter { types: types.to_vec(), domains, keys: Vec::new() };
            filter.condition().map(|condition| GraphqlValue(&condition).to_string())
        };
        assert_eq!(narrowed(&[], &[]), None);
        let types = narrowed(&[PageType::Heuristic], &[]).unwrap();
        assert_eq!(types, r#"{path:["page_type"],operator:ContainsAny,valueText:["Heuristic"]}"#);
        let domains = r#"{path:["domain_keys"],operator:ContainsAny,valueText:["a\"b"]}"#;
        let both = narrowed(&[PageType::Heuristic], &["a\"b"]);
        assert_eq!(both, Some(format!("{{operator:And,operands:[{types},{domains}]}}")));
    }
}
