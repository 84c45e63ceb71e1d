//! Searches tools of gates that the preset includes but does not list to clients, and agent skills. They are few, so they
//! have no index. Agents find and call these tools like tools of servers.

use std::sync::Arc;

use gatehouse_core::{
    Catalog, SourceId, ToolSpec,
    catalog::ToolEntry,
    names::quoted,
    ports::tool_index::{MatchQuality, ToolHit, ToolSearchRequest},
    search::{
        RowSet,
        tools::{ToolMatches, ToolQuery, ToolSearch, ToolSegment, ToolSegments},
    },
    skill::Skill,
};

pub(super) fn unlisted(catalog: &Catalog) -> impl Iterator<Item = &Arc<ToolEntry>> {
    let of_gate = |entry: &&Arc<ToolEntry>| !entry.listed && matches!(entry.id.source, SourceId::Gate(_));
    catalog.entries().iter().filter(of_gate)
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
    let rows: RowSet = (0..segments.len()).collect();
    let matches = search_few(segments.iter().collect(), &rows, question);
    let hits = matches.tools.into_iter().filter_map(|hit| {
        let entry = entries.get(hit.tool)?;
        let (id, spec) = (entry.id.clone(), Arc::clone(&entry.spec));
        Some((ToolHit { id, spec, score: hit.score, fit: hit.fit }, Arc::clone(entry)))
    });
    UnlistedTools { hits: hits.collect(), unmatched_terms: Some(matches.unmatched_terms) }
}

/// Searches the `allowed` of a few items in memory. Returns those that fit.
pub(super) fn search_few(
    segments: Vec<&ToolSegment>,
    allowed: &RowSet,
    question: &ToolSearchRequest,
) -> ToolMatches {
    let items = ToolSegments::new(segments);
    let queries = [ToolQuery::new(&question.query, Vec::new())];
    let (limit, min_score) = (question.limit, question.min_score);
    let mut matches = items.search(&ToolSearch { queries: &queries, allowed, limit, min_score });
    // With so few items a single word means little: most of the query has to match.
    let words = question.query.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2).count();
    let about_them = matches.unmatched_terms.len() * 3 <= words;
    let fits = |fit| matches!(fit, MatchQuality::Names | MatchQuality::Good);
    matches.tools.retain(|hit| about_them && fits(hit.fit));
    matches
}

/// Skills that one search names.
const MAX_SKILLS: usize = 3;

/// Bytes of the URI of a skill that is named. A shortened URI could not be read.
const MAX_URI: usize = 512;

/// Returns a line for each skill of the preset that fits, best first. `server` limits them to those of a server.
pub(super) fn fitting_skills(
    catalog: &Catalog,
    question: &ToolSearchRequest,
    server: Option<&str>,
) -> Option<String> {
    let resources_and_prompts = &catalog.resources_and_prompts;
    let of_server =
        |id: &SourceId| server.is_none_or(|server| matches!(id, SourceId::Server(name) if **name == *server));
    let skills: Vec<(&SourceId, &Skill)> = resources_and_prompts.skills_by_source().collect();
    let is_meant = |(id, skill): &(&SourceId, &Skill)| of_server(id) && skill.uri.len() <= MAX_URI;
    let meant: RowSet = (0..skills.len()).filter(|place| is_meant(&skills[*place])).collect();
    if !skills.iter().any(is_meant) {
        return None;
    }
    let question = ToolSearchRequest { limit: MAX_SKILLS, ..question.clone() };
    let matches = search_few(vec![resources_and_prompts.skill_index()], &meant, &question);
    let line = |(_, skill): &(&SourceId, &Skill)| {
        format!("{}: {}", quoted(&skill.uri, MAX_URI), quoted(skill.description(), 200))
    };
    let lines = matches.tools.iter().filter_map(|hit| skills.get(hit.tool));
    let lines: Vec<String> = lines.map(line).collect();
    (!lines.is_empty()).then(|| format!("Skills to read first:\n{}", lines.join("\n")))
}
