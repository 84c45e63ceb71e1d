//! Finds page keys by words and by vector. Weaviate applies the filters before the limit.

use gatehouse_core::{Fault, page::PageType};
use gatehouse_net::Method;
use serde_json::{Value as Json, json};

use super::{
    Collection, WeaviateClient, error_message,
    graphql::{GetQuery, GraphqlValue},
};

const WORD_FIELDS: [&str; 5] =
    ["title_words^6", "overview_words^3", "domain_words^2", "content_words", "pieces"];

/// Maximum keys per query: Weaviate's default limit (`QUERY_MAXIMUM_RESULTS`).
const MAX_KEYS: usize = 10_000;

/// A scored query and the function that reads a score.
struct ScoredQuery {
    by: (&'static str, GraphqlValue),
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
    fn condition(&self) -> Option<GraphqlValue> {
        let any_of = |property: &str, values: GraphqlValue| {
            GraphqlValue::Object(vec![
                ("path", GraphqlValue::texts([property])),
                ("operator", GraphqlValue::Word("ContainsAny")),
                ("valueText", values),
            ])
        };
        let mut all = Vec::new();
        if !self.types.is_empty() {
            all.push(any_of("page_type", GraphqlValue::texts(self.types.iter().map(|kind| kind.as_str()))));
        }
        if !self.domains.is_empty() {
            all.push(any_of("domain_keys", GraphqlValue::texts(self.domains.iter().cloned())));
        }
        if !self.keys.is_empty() {
            all.push(any_of("key", GraphqlValue::texts(self.keys.iter().cloned())));
        }
        if all.len() > 1 {
            return Some(GraphqlValue::Object(vec![
                ("operator", GraphqlValue::Word("And")),
                ("operands", GraphqlValue::List(all)),
            ]));
        }
        all.pop()
    }
}

impl WeaviateClient {
    /// Returns the keys and scores of the best pages by words, best first. Includes all pages that tie with the last
    /// one, so that the caller can break ties by key.
    pub(crate) async fn by_words(
        &self,
        collection: Collection,
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
        collection: Collection,
        vector: &[f32],
        narrowed: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<(String, f64)>, Fault> {
        let vector = GraphqlValue::List(vector.iter().map(|x| GraphqlValue::Real(*x)).collect());
        let near = GraphqlValue::Object(vec![("vector", vector)]);
        let read = |row: &Json| Some(1.0 - row.pointer("/_additional/distance")?.as_f64()?);
        let ask = ScoredQuery { by: ("nearVector", near), fields: "key _additional{distance}", read };
        self.best(collection, ask, narrowed, limit).await
    }

    /// Returns `true` if a page contains any of these words or, with `all`, all of them as pieces.
    pub(crate) async fn contains_words(
        &self,
        collection: Collection,
        words: &[String],
        all: bool,
    ) -> Result<bool, Fault> {
        let by = if all {
            let piece = |piece: &String| {
                GraphqlValue::Object(vec![
                    ("path", GraphqlValue::texts(["pieces"])),
                    ("operator", GraphqlValue::Word("Equal")),
                    ("valueText", GraphqlValue::Text(piece.clone())),
                ])
            };
            let pieces = words.iter().map(piece).collect();
            (
                "where",
                GraphqlValue::Object(vec![
                    ("operator", GraphqlValue::Word("And")),
                    ("operands", GraphqlValue::List(pieces)),
                ]),
            )
        } else {
            ("bm25", bm25(words))
        };
        let arguments = vec![by, ("limit", GraphqlValue::Number(1))];
        let get = GetQuery { collection: collection.0, arguments, fields: "key" };
        Ok(!self.get(collection, &get).await?.is_empty())
    }

    pub(crate) async fn count(&self, collection: Collection) -> Result<u64, Fault> {
        let body = json!({"query": format!("{{Aggregate{{{}{{meta{{count}}}}}}}}", collection.0)});
        let answer = self.question(&body).await?;
        let count = answer.pointer(&format!("/data/Aggregate/{}/0/meta/count", collection.0));
        count.and_then(Json::as_u64).ok_or_else(|| self.malformed_answer("has no count"))
    }

    async fn best(
        &self,
        collection: Collection,
        ScoredQuery { by, fields, read }: ScoredQuery,
        narrowed: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<(String, f64)>, Fault> {
        let mut asked = limit.saturating_add(1).min(MAX_KEYS);
        loop {
            let mut arguments = vec![by.clone(), ("limit", GraphqlValue::Number(asked))];
            if let Some(condition) = narrowed.condition() {
                arguments.push(("where", condition));
            }
            let rows =
                self.get(collection, &GetQuery { collection: collection.0, arguments, fields }).await?;
            let scored = rows.iter().map(|row| {
                let key = row.get("key").and_then(Json::as_str)?.to_owned();
                Some((key, read(row).filter(|score| score.is_finite())?))
            });
            let scored: Option<Vec<(String, f64)>> = scored.collect();
            let mut scored =
                scored.ok_or_else(|| self.malformed_answer("has a page without key or score"))?;
            if scored.len() > asked {
                return Err(self.malformed_answer("has more pages than requested"));
            }
            scored.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            let tied = scored.len() == asked
                && scored
                    .last()
                    .zip(scored.get(limit.saturating_sub(1)))
                    .is_some_and(|(last, wanted)| last.1 >= wanted.1);
            if !tied || asked == MAX_KEYS {
                return Ok(scored);
            }
            asked = (asked * 4).min(MAX_KEYS);
        }
    }

    async fn get(&self, collection: Collection, get: &GetQuery) -> Result<Vec<Json>, Fault> {
        let mut answer = self.question(&json!({"query": get.to_string()})).await?;
        match answer.pointer_mut(&format!("/data/Get/{}", collection.0)).map(Json::take) {
            Some(Json::Array(rows)) => Ok(rows),
            _ => Err(self.malformed_answer("has no list of pages")),
        }
    }

    async fn question(&self, body: &Json) -> Result<Json, Fault> {
        let answer = self.send_ok(Method::POST, "v1/graphql", Some(body)).await?;
        // GraphQL errors come with status 200.
        if answer.get("errors").and_then(Json::as_array).is_some_and(|errors| !errors.is_empty()) {
            return Err(self
                .remote
                .unavailable(&format!("it rejected the query: {}", error_message(&answer))));
        }
        Ok(answer)
    }
}

fn bm25(words: &[String]) -> GraphqlValue {
    GraphqlValue::Object(vec![
        ("query", GraphqlValue::Text(words.join(" "))),
        ("properties", GraphqlValue::texts(WORD_FIELDS)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_one_condition() {
        let narrowed = |types: &[PageType], domains: &[&str]| {
            let domains = domains.iter().map(|domain| (*domain).to_owned()).collect();
            SearchFilter { types: types.to_vec(), domains, keys: Vec::new() }
                .condition()
                .map(|condition| condition.to_string())
        };
        assert_eq!(narrowed(&[], &[]), None);
        assert_eq!(
            narrowed(&[PageType::Heuristic], &[]).as_deref(),
            Some(r#"{path:["page_type"],operator:ContainsAny,valueText:["Heuristic"]}"#)
        );
        assert_eq!(
            narrowed(&[PageType::Heuristic], &["a\"b"]).as_deref(),
            Some(
                r#"{operator:And,operands:[{path:["page_type"],operator:ContainsAny,valueText:["Heuristic"]},{path:["domain_keys"],operator:ContainsAny,valueText:["a\"b"]}]}"#
            )
        );
    }
}
