//! Converts pages to statement parameters and rows to pages.

use std::collections::HashMap;

use gatehouse_core::{
    page::{PageLink, PageNeighbor},
    search::name::name_key,
};
use neo4rs::{BoltType, Row};

use super::{Neo4jError, words::page_terms};
use crate::{
    engine::PageHead,
    weaviate_neo4j::tokenizer::Tokenizer,
    wiki::{
        edges, ids,
        record::{PageOrigin, PageRecord, parse_type},
    },
};

/// Maximum characters of an indexed text: Neo4j does not index values over about 8 KB. No page has such a long id, so
/// cutting a link target never changes whether it resolves.
const MAX_INDEXED_CHARS: usize = 1000;

pub(super) type Parameters = HashMap<&'static str, BoltType>;

pub(super) fn truncate_for_index(text: &str) -> String {
    text.chars().take(MAX_INDEXED_CHARS).collect()
}

/// Returns the key of a page id or a link target.
pub(super) fn key(id: &str) -> String {
    truncate_for_index(&ids::key(id))
}

/// Returns the row that stores a page, and its size in bytes. Blocks, because it runs the tokenizer.
pub(super) fn page(tokenizer: &Tokenizer, record: &PageRecord) -> Result<(usize, Parameters), Neo4jError> {
    let words = page_terms(tokenizer, record)?;
    let weight = record.content.len() + record.overview.len() + words.len();
    let mut set = properties(record)?;
    set.extend([("words", words.into()), ("version", record.version_to_embed().into())]);
    Ok((weight, HashMap::from([("key", key(&record.id).into()), ("set", BoltType::from(set))])))
}

fn properties(record: &PageRecord) -> Result<Parameters, Neo4jError> {
    let sources = serde_json::to_string(&record.sources).map_err(Neo4jError::invalid)?;
    let origin = record.origin.as_ref();
    Ok(HashMap::from([
        ("key", key(&record.id).into()),
        ("id", record.id.clone().into()),
        ("type", record.page_type.as_str().into()),
        ("title", record.title.clone().into()),
        ("title_key", key(&record.title).into()),
        ("name_title", truncate_for_index(&name_key(&record.title)).into()),
        ("name_id", truncate_for_index(&name_key(&record.id)).into()),
        ("name_stem", truncate_for_index(&name_key(stem(&record.id))).into()),
        ("overview", record.overview.clone().into()),
        ("content", record.content.clone().into()),
        ("domains", record.domains.clone().into()),
        ("sources", sources.into()),
        ("last_updated", record.last_updated.clone().into()),
        ("hash", record.hash.clone().into()),
        ("root", origin.map(|origin| origin.root.clone()).into()),
        ("file", origin.map(|origin| origin.file.clone()).into()),
    ]))
}

fn stem(id: &str) -> &str {
    id.split_once('/').map_or(id, |(_, stem)| stem)
}

pub(super) fn links(record: &PageRecord) -> Vec<Parameters> {
    let row = |(position, link): (i64, &PageLink)| {
        let (kept, inverse) = edges::stored_edge(record.page_type, link);
        let set: Parameters = HashMap::from([
            ("edge", link.edge.clone().into()),
            ("target", link.target.clone().into()),
            ("position", position.into()),
            ("kept", kept.into()),
            ("inverse", inverse.into()),
        ]);
        HashMap::from([
            ("page", key(&record.id).into()),
            ("target", key(&link.target).into()),
            ("set", BoltType::from(set)),
        ])
    };
    (0..).zip(&record.links).map(row).collect()
}

/// Returns one row per distinct domain of a page.
pub(super) fn domains(record: &PageRecord) -> Vec<Parameters> {
    let mut keys: Vec<String> = record.domains.iter().map(|domain| domain_key(domain)).collect();
    keys.sort();
    keys.dedup();
    let row = |domain: String| HashMap::from([("page", key(&record.id).into()), ("domain", domain.into())]);
    keys.into_iter().map(row).collect()
}

pub(crate) fn domain_key(domain: &str) -> String {
    truncate_for_index(&ids::domain_key(domain))
}

/// Decodes a page without its links.
pub(super) fn record(row: &Row) -> Result<PageRecord, Neo4jError> {
    Ok(PageRecord {
        id: row.get("id")?,
        page_type: parse_type(&row.get::<String>("type")?).map_err(Neo4jError::Damaged)?,
        title: row.get("title")?,
        overview: row.get("overview")?,
        content: row.get("content")?,
        domains: row.get("domains")?,
        sources: serde_json::from_str(&row.get::<String>("sources")?).map_err(Neo4jError::invalid)?,
        links: Vec::new(),
        last_updated: row.get("last_updated")?,
        hash: row.get("hash")?,
        origin: PageOrigin::from_columns(row.get("root")?, row.get("file")?),
    })
}

pub(super) fn head(row: &Row) -> Result<PageHead, Neo4jError> {
    let origin = PageOrigin::from_columns(row.get("root")?, row.get("file")?);
    Ok(PageHead { id: row.get("id")?, title: row.get("title")?, hash: row.get("hash")?, origin })
}

pub(super) fn link(row: &Row) -> Result<PageLink, Neo4jError> {
    Ok(PageLink { edge: row.get("edge")?, target: row.get("target")? })
}

pub(super) fn neighbor(row: &Row) -> Result<PageNeighbor, Neo4jError> {
    Ok(PageNeighbor {
        edge: row.get("edge")?,
        outgoing: row.get("outgoing")?,
        id: row.get("id")?,
        title: row.get("title")?,
    })
}
