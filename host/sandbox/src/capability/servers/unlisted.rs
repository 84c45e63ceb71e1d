//! Tools of gates that a preset has and does not list to clients: they are found and called like those of servers, so
//! that an agent can use them though it cannot name them.

use std::sync::Arc;

use gatehouse_core::{
    Catalog, SourceId, ToolSpec,
    catalog::Entry,
    ports::tool_index::{Fit, ToolHit, ToolQuestion},
    search::{
        Rows,
        tools::{Asked, ToolSearch, ToolSegment, Tools},
    },
};

/// Returns the unlisted tools of gates.
fn unlisted(catalog: &Catalog) -> impl Iterator<Item = &Arc<Entry>> {
    let of_gate = |entry: &&Arc<Entry>| !entry.listed && matches!(entry.id.source, SourceId::Gate(_));
    catalog.entries().iter().filter(of_gate)
}

/// Whether a gate of this name has unlisted tools.
pub(super) fn has_source(catalog: &Catalog, name: &str) -> bool {
    unlisted(catalog).any(|entry| **entry.id.source.name() == *name)
}

/// Returns the unlisted tool that a gate exposes or declares under this name.
pub(super) fn find<'a>(catalog: &'a Catalog, gate: &str, tool: &str) -> Option<&'a Arc<Entry>> {
    unlisted(catalog).find(|entry| {
        **entry.id.source.name() == *gate && (*entry.id.name == *tool || entry.name.as_str() == tool)
    })
}

/// Returns the unlisted tools that are likely to do what is asked for, best first. They are few, so they are read for each
/// search. `gate` limits the search to one gate.
pub(super) fn search(
    catalog: &Catalog,
    question: &ToolQuestion,
    gate: Option<&str>,
) -> Vec<(ToolHit, Arc<Entry>)> {
    let entries: Vec<&Arc<Entry>> =
        unlisted(catalog).filter(|entry| gate.is_none_or(|gate| **entry.id.source.name() == *gate)).collect();
    let segments: Vec<ToolSegment> = entries
        .iter()
        .map(|entry| ToolSegment::of(&entry.id.source, &[Arc::clone(&entry.spec)] as &[Arc<ToolSpec>]))
        .collect();
    let tools = Tools::of(segments.iter().collect());
    let mut allowed = Rows::default();
    (0..tools.len()).for_each(|tool| allowed.insert(tool));
    let search = ToolSearch {
        asked: &[Asked { text: &question.query, cosines: Vec::new() }],
        allowed: &allowed,
        limit: question.limit,
        min_score: question.min_score,
    };
    let found = tools.search(&search).tools.into_iter().filter(|found| found.fit != Fit::Weak);
    let hits = found.filter_map(|found| {
        let entry = entries.get(found.tool)?;
        let (id, spec) = (entry.id.clone(), Arc::clone(&entry.spec));
        Some((ToolHit { id, spec, score: found.score, fit: found.fit }, Arc::clone(entry)))
    });
    hits.collect()
}
