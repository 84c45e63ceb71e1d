//! Navigation guide of a repository: its content, layout, and queries that find something. Documents are untrusted, so
//! the format is fixed and their text is quoted.

mod facts;
mod form;
mod local;
mod model;

use std::{collections::HashSet, sync::Arc};

use gatehouse_core::{
    outcome::Fault,
    ports::{
        Llm,
        documents::{DocumentStore, RepositoryState, SearchMode},
    },
};

pub(crate) use facts::GuideFacts;

/// Larger repositories are sampled evenly.
pub(crate) const MAX_FACTS: usize = 5_000;

/// Maximum number of unchanged documents to read again for their words.
const MAX_READ: usize = 2_000;

const MAX_TRIED: usize = 40;
const MAX_QUERIES: usize = 8;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GuidePolicy {
    /// If the guide is missing, or if a tenth of the documents changed.
    #[default]
    WhenDue,
    Always,
    Never,
}

impl GuidePolicy {
    pub(crate) fn is_due(self, state: &RepositoryState) -> bool {
        let changed = state.changed_since_guide;
        let tenth = changed > 0 && u64::from(changed) * 10 >= u64::from(state.repository.file_count);
        match self {
            Self::WhenDue => state.repository.navigation_guide.is_none() || tenth,
            Self::Always => true,
            Self::Never => false,
        }
    }
}

pub(crate) struct GuideText {
    pub(crate) text: String,
    pub(crate) author_line: String,
}

/// Writes the guide. Reads documents from the store if `facts` does not include them.
pub(crate) async fn write(
    store: &dyn DocumentStore,
    state: &RepositoryState,
    paths: &[String],
    facts: Vec<GuideFacts>,
    llm: Option<&Arc<dyn Llm>>,
) -> Result<GuideText, Fault> {
    let name = &state.repository.name;
    let facts = complete(store, name, paths, facts).await?;
    let about = local::about(store, name, paths).await?;
    let local_parts = local::parts(&state.repository, paths, &facts, about);
    let (mut parts, author_line) = match llm {
        Some(llm) if llm.model().is_some() => match model::parts(llm.as_ref(), &local_parts, paths).await {
            Ok((parts, model)) => (parts, format!("Written by {model}; its paths and queries were checked.")),
            Err(reason) => (local_parts.clone(), format!("Generated from the content only: {reason}.")),
        },
        _ => (local_parts.clone(), "Generated from the content, without a model.".to_owned()),
    };
    let candidates = parts.wanted_queries.iter().chain(&local_parts.wanted_queries);
    let mut tried = Vec::new();
    let mut seen = HashSet::new();
    for query in candidates.filter(|query| seen.insert(query.to_lowercase())).take(MAX_TRIED) {
        if tried.len() >= MAX_QUERIES {
            break;
        }
        let hits = store.search(name, query, SearchMode::Text, 1).await?.hits;
        let again = |path: &str| tried.iter().any(|(_, tried_path): &(String, String)| tried_path == path);
        if let Some(hit) = hits.into_iter().find(|hit| !again(&hit.path)) {
            tried.push((query.clone(), hit.path));
        }
    }
    parts.queries = tried;
    Ok(GuideText { text: form::markdown(&parts, &author_line), author_line })
}

/// Adds facts of stored documents, up to the limits, and drops those of removed ones.
async fn complete(
    store: &dyn DocumentStore,
    name: &str,
    paths: &[String],
    mut facts: Vec<GuideFacts>,
) -> Result<Vec<GuideFacts>, Fault> {
    let existing_paths: HashSet<String> = facts.iter().map(|facts| facts.path.clone()).collect();
    let missing: Vec<&String> = paths.iter().filter(|path| !existing_paths.contains(*path)).collect();
    let room = MAX_READ.min(MAX_FACTS.saturating_sub(facts.len()));
    let stride = missing.len().div_ceil(room.max(1)).max(1);
    for path in missing.into_iter().step_by(stride).take(room) {
        // Another run may have removed the document.
        let Ok(document) = store.read(name, path, None).await else { continue };
        let path = path.clone();
        let counted =
            tokio::task::spawn_blocking(move || GuideFacts::from_stored(&path, &document.text)).await;
        facts.extend(counted.ok());
    }
    let stored: HashSet<&String> = paths.iter().collect();
    facts.retain(|facts| stored.contains(&facts.path));
    facts.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(facts)
}

#[cfg(test)]
mod tests;
