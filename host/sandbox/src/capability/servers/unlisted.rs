//! Tools of gates that the preset includes but does not list to clients. Agents find and call them like tools of
//! servers.

use std::sync::Arc;

use gatehouse_core::{
    Catalog, SourceId, ToolSpec,
    catalog::ToolEntry,
    ports::tool_index::{MatchQuality, ToolHit, ToolSearchRequest},
    search::{
        RowSet,
        tools::{ToolMatches, ToolQuery, ToolSearch, ToolSegment, ToolSegments},
    },
};

fn unlisted(catalog: &Catalog) -> impl Iterator<Item = &Arc<ToolEntry>> {
    let of_gate = |entry: &&Arc<ToolEntry>| !entry.listed && matches!(entry.id.source, SourceId::Gate(_));
    catalog.entries().iter().filter(of_gate)
}

pub(super) fn has_source(catalog: &Catalog, name: &str) -> bool {
    unlisted(catalog).any(|entry| **entry.id.source.name() == *name)
}

/// Finds an unlisted tool by its own or its exposed name.
pub(super) fn find<'a>(catalog: &'a Catalog, gate: &str, tool: &str) -> Option<&'a Arc<ToolEntry>> {
    unlisted(catalog).find(|entry| {
        **entry.id.source.name() == *gate && (*entry.id.name == *tool || entry.name.as_str() == tool)
    })
}

pub(super) struct UnlistedTools {
    /// Likely matches, best first.
    pub(super) hits: Vec<(ToolHit, Arc<ToolEntry>)>,
    /// Query terms that no tool contains. `None` if there are no unlisted tools.
    pub(super) unmatched_terms: Option<Vec<String>>,
}

/// Searches the unlisted tools, optionally of one gate. They are few, so no index is stored.
pub(super) fn search(catalog: &Catalog, question: &ToolSearchRequest, gate: Option<&str>) -> UnlistedTools {
    let entries: Vec<&Arc<ToolEntry>> =
        unlisted(catalog).filter(|entry| gate.is_none_or(|gate| **entry.id.source.name() == *gate)).collect();
    if entries.is_empty() {
        return UnlistedTools { hits: Vec::new(), unmatched_terms: None };
    }
    let segment = |entry: &&Arc<ToolEntry>| {
        ToolSegment::new(&entry.id.source, &[Arc::clone(&entry.spec)] as &[Arc<ToolSpec>])
    };
    let segments: Vec<ToolSegment> = entries.iter().map(segment).collect();
    let all: RowSet = (0..segments.len()).collect();
    let found = search_few(segments.iter().collect(), &all, question);
    let hits = found.tools.into_iter().filter_map(|found| {
        let entry = entries.get(found.tool)?;
        let (id, spec) = (entry.id.clone(), Arc::clone(&entry.spec));
        Some((ToolHit { id, spec, score: found.score, fit: found.fit }, Arc::clone(entry)))
    });
    UnlistedTools { hits: hits.collect(), unmatched_terms: Some(found.unmatched_terms) }
}

/// Searches the `allowed` of a few items in memory. Returns those that fit.
pub(super) fn search_few(
    segments: Vec<&ToolSegment>,
    allowed: &RowSet,
    question: &ToolSearchRequest,
) -> ToolMatches {
    let items = ToolSegments::new(segments);
    let asked = [ToolQuery { text: &question.query, cosines: Vec::new() }];
    let (limit, min_score) = (question.limit, question.min_score);
    let mut found = items.search(&ToolSearch { queries: &asked, allowed, limit, min_score });
    // With so few items a single word means little: most of the query has to match.
    let words = question.query.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2).count();
    let about_them = found.unmatched_terms.len() * 3 <= words;
    let fits = |fit| matches!(fit, MatchQuality::Names | MatchQuality::Good);
    found.tools.retain(|found| about_them && fits(found.fit));
    found
}
