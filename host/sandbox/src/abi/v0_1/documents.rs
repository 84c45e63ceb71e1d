//! `documents`: searches and reads document repositories. Requires the grant `documents`.

use gatehouse_core::{
    capability::{AccessLevel, Capability},
    outcome,
    ports::{DocumentReader, documents as core},
};

use super::gatehouse::gate::{documents as wit, types::Fault};
use crate::state::State;

const MAX_HITS: u32 = 50;

fn port(state: &State) -> Result<&dyn DocumentReader, outcome::Fault> {
    let granted = state.capabilities.granted(Capability::Documents, AccessLevel::Full)?;
    granted.facts.ports.documents.port()
}

impl wit::Host for State {
    async fn repositories(&mut self, guides: bool) -> Result<Vec<wit::Repository>, Fault> {
        let repositories = port(self)?.repositories(guides).await?;
        Ok(repositories.into_iter().map(Into::into).collect())
    }

    async fn find(
        &mut self,
        repository: String,
        query: String,
        mode: wit::SearchMode,
        limit: u32,
    ) -> Result<wit::SearchResult, Fault> {
        let limit = limit.clamp(1, MAX_HITS) as usize;
        Ok(port(self)?.search(&repository, &query, mode.into(), limit).await?.into())
    }

    async fn open(
        &mut self,
        repository: String,
        path: String,
        lines: Option<wit::Lines>,
    ) -> Result<wit::Document, Fault> {
        Ok(port(self)?.read(&repository, &path, lines.map(Into::into)).await?.into())
    }
}

enums! {
    wit::SearchMode => core::SearchMode { Text, Semantic }
}

records! {
    core::LineRange => wit::Lines { first, last };
    wit::Lines => core::LineRange { first, last };
    core::DocumentHit => wit::DocumentHit { path, score, fit, tokens } [] (best);
    core::DocumentSearchResult => wit::SearchResult { unmatched_terms, note } [hits];
    core::Repository => wit::Repository { id, name, url, commit, kind, file_count, navigation_guide, created_at, updated_at };
}

impl From<core::Document> for wit::Document {
    fn from(document: core::Document) -> Self {
        let core::Document { repository, path, text, lines, total_lines, total_tokens, made_from, part } =
            document;
        let made_from = made_from.map(|format| match part {
            Some(part) => format!("{format}, {part}"),
            None => format,
        });
        Self { repository, path, text, lines: lines.into(), total_lines, total_tokens, made_from }
    }
}
