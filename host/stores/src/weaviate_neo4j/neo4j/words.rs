//! Finds pages by words, in a full-text index of terms that the host has cut and stemmed. Filters apply before limits.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use gatehouse_core::{
    Fault,
    search::{script, variants},
};

use super::{CypherStatement, Neo4jClient, Neo4jError, cypher, rows};
use crate::{
    engine::PageQuestion,
    weaviate_neo4j::tokenizer::{Tokenizer, pieces},
    wiki::record::PageRecord,
};

/// Name of the index. ArcadeDB gives this name to an index, and Neo4j allows it.
pub(super) const WORD_INDEX: &str = "WikiPage[words]";

/// Terms of a question. Lucene allows 1,024.
const MAX_TERMS: usize = 512;

/// Weights of title, overview, domains and content: a term is stored as often.
const WEIGHTS: [usize; 4] = [6, 3, 2, 1];

/// Condition that a page `p` passes a [`PageFilter`].
macro_rules! filtered {
    () => {
        "($any_type OR p.type IN $types) AND ($any_key OR p.key IN $keys)
         AND ($any_domain OR EXISTS { MATCH (p)-[:IN_DOMAIN]->(d:WikiDomain) WHERE d.key IN $domains })"
    };
}
pub(super) use filtered;

/// Conditions on pages. An empty list does not restrict them.
#[derive(Debug, Clone, Default)]
pub(crate) struct PageFilter {
    types: Vec<String>,
    domains: Vec<String>,
    keys: Vec<String>,
}

impl PageFilter {
    pub(crate) fn from_question(question: &PageQuestion) -> Self {
        let types = question.types.iter().map(|kind| kind.as_str().to_owned()).collect();
        let domains = question.domains.iter().map(|domain| rows::truncate_for_index(domain)).collect();
        Self { types, domains, keys: Vec::new() }
    }

    pub(crate) fn keys(keys: Vec<String>) -> Self {
        Self { keys, ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.types.is_empty() && self.domains.is_empty() && self.keys.is_empty()
    }

    pub(super) fn into_params(self, statement: CypherStatement) -> CypherStatement {
        let statement = statement
            .with_param("any_type", self.types.is_empty())
            .with_param("any_domain", self.domains.is_empty())
            .with_param("any_key", self.keys.is_empty());
        statement
            .with_param("types", self.types)
            .with_param("domains", self.domains)
            .with_param("keys", self.keys)
    }
}

/// Returns the terms of a page, each as often as it weighs.
pub(super) fn page_terms(tokenizer: &Tokenizer, page: &PageRecord) -> Result<String, Neo4jError> {
    let domains = page.domains.join(", ");
    let texts = [&page.title, &page.overview, &domains, &page.content];
    let with_variants = texts.map(|text| format!("{} {}", script::separate_scripts(text), variants(text)));
    let cut = tokenizer.words(&with_variants).map_err(Neo4jError::invalid)?;
    let mut terms = pieces(&texts.map(String::as_str));
    for (words, weight) in cut.iter().zip(WEIGHTS) {
        for word in words.iter().flat_map(|word| std::iter::repeat_n(word, weight)) {
            terms.push(' ');
            terms.push_str(word);
        }
    }
    Ok(terms)
}

impl Neo4jClient {
    /// Returns the scores of the best pages that contain any of the terms, by key.
    pub(crate) async fn by_words(
        self: &Arc<Self>,
        terms: &[String],
        filter: &PageFilter,
        limit: usize,
    ) -> Result<BTreeMap<String, f64>, Fault> {
        if terms.is_empty() || limit == 0 {
            return Ok(BTreeMap::new());
        }
        // Without a limit of its own, the procedure returns every page that matches.
        let statement = cypher(if filter.is_empty() {
            "CALL db.index.fulltext.queryNodes($index, $query, {limit: $limit}) YIELD node, score
             RETURN node.key AS key, score"
        } else {
            concat!(
                "CALL db.index.fulltext.queryNodes($index, $query) YIELD node, score WITH node AS p, score WHERE ",
                filtered!(),
                " RETURN p.key AS key, score ORDER BY score DESC, key LIMIT $limit"
            )
        });
        let query = terms[..terms.len().min(MAX_TERMS)].join(" ");
        let statement = filter.clone().into_params(statement).with_param("limit", limit as i64);
        let statement = statement.with_param("index", WORD_INDEX).with_param("query", query);
        let scores = self.query_rows(statement, |row| Ok((row.get("key")?, row.get("score")?)));
        Ok(scores.await?.into_iter().collect())
    }

    /// Returns the texts whose index query finds no page, in order.
    pub(crate) async fn unmatched(
        self: &Arc<Self>,
        asked: Vec<(String, String)>,
    ) -> Result<Vec<String>, Fault> {
        self.reading(move |mut transaction| async move {
            let mut unmatched = Vec::new();
            for (text, query) in asked {
                let statement = cypher(
                    "CALL db.index.fulltext.queryNodes($index, $query, {limit: 1}) YIELD node RETURN node.key AS key",
                );
                let statement = statement.with_param("index", WORD_INDEX).with_param("query", query.clone());
                if query.is_empty() || transaction.rows(statement).await?.is_empty() {
                    unmatched.push(text);
                }
            }
            transaction.rollback().await;
            Ok(unmatched)
        })
        .await
    }

    /// Returns the keys of the pages that pass the filter.
    pub(crate) async fn keys(self: &Arc<Self>, filter: &PageFilter) -> Result<Vec<String>, Fault> {
        let statement = cypher(concat!("MATCH (p:WikiPage) WHERE ", filtered!(), " RETURN p.key AS key"));
        self.query_rows(filter.clone().into_params(statement), |row| Ok(row.get("key")?)).await
    }

    /// Returns the versions of the texts to embed of these pages, by key, and whether they have a recorded vector.
    pub(crate) async fn versions(
        self: &Arc<Self>,
        keys: Vec<String>,
        recorded: &str,
    ) -> Result<HashMap<String, (String, bool)>, Fault> {
        let statement = cypher(
            "MATCH (p:WikiPage) WHERE p.key IN $keys
             RETURN p.key AS key, p.version AS version, $recorded IN coalesce(p.models, []) AS is_recorded",
        );
        let statement = statement.with_param("keys", keys).with_param("recorded", recorded);
        let version =
            |row: &neo4rs::Row| Ok((row.get("key")?, (row.get("version")?, row.get("is_recorded")?)));
        Ok(self.query_rows(statement, version).await?.into_iter().collect())
    }
}
