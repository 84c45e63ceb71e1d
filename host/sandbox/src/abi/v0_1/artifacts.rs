//! `artifacts`: stored texts that were too large to show, by caller. Requires the grant `artifacts`.

use std::time::Duration;

use gatehouse_core::ports::artifacts as core;

use super::gatehouse::gate::{artifacts as wit, replies::ReplyView, types::Fault};
use crate::{capability::Capabilities, state::State};

const MAX_LISTED: u32 = 100;

const MAX_HITS: u32 = 50;

impl wit::Host for State {
    async fn put(&mut self, draft: wit::Draft) -> Result<wit::Artifact, Fault> {
        Ok(self.capabilities.put_artifact(draft.into()).await?.into())
    }

    async fn put_with_data(&mut self, draft: wit::Draft, data: String) -> Result<wit::Artifact, Fault> {
        let draft = core::ArtifactDraft { data: Some(data), ..draft.into() };
        Ok(self.capabilities.put_artifact(draft).await?.into())
    }

    async fn view(&mut self, id: String) -> Result<ReplyView, Fault> {
        Ok(self.capabilities.artifact_view(&id).await?.into())
    }

    async fn info(&mut self, ids: Vec<String>) -> Result<Vec<Option<wit::Artifact>>, Fault> {
        let artifacts = self.capabilities.artifacts_info(&ids).await?;
        Ok(artifacts.into_iter().map(|artifact| artifact.map(Into::into)).collect())
    }

    async fn read(&mut self, id: String, part: wit::Part) -> Result<wit::Piece, Fault> {
        Ok(self.capabilities.artifact_part(&id, &part.into()).await?.into())
    }

    async fn recent(&mut self, filter: wit::Filter, limit: u32) -> Result<Vec<wit::Artifact>, Fault> {
        let (store, owner) = self.capabilities.artifacts()?;
        let filter = core::ArtifactFilter { tags: filter.tags, words: filter.words };
        Capabilities::check_question(&filter.words, &filter.tags)?;
        let limit = limit.clamp(1, MAX_LISTED) as usize;
        let listed = store.recent(owner, &filter, limit).await?;
        Ok(listed.into_iter().map(Into::into).collect())
    }

    async fn search(&mut self, query: String, limit: u32) -> Result<Vec<wit::Hit>, Fault> {
        let (store, owner) = self.capabilities.artifacts()?;
        Capabilities::check_question(&query, &[])?;
        let hits = store.search(owner, &query, limit.clamp(1, MAX_HITS) as usize).await?;
        Ok(hits.into_iter().map(Into::into).collect())
    }

    async fn change(&mut self, id: String, changes: wit::Changes) -> Result<wit::Artifact, Fault> {
        Ok(self.capabilities.change_artifact(&id, changes.into()).await?.into())
    }

    async fn delete(&mut self, id: String) -> Result<bool, Fault> {
        let (store, owner) = self.capabilities.artifacts()?;
        Ok(store.delete(owner, &id).await?)
    }
}

enums! {
    wit::Part => core::ArtifactPart { Whole, Characters(window), Lines(window), Pointer(pointer) }
}

records! {
    wit::Window => core::TextRange { offset, count };
    wit::Changes => core::ArtifactChanges { summary, add_tags, pinned };
    core::Artifact => wit::Artifact {
        id, size, lines, mime_type, tool, source, preset, summary, tags, created, expires
    };
    core::ArtifactSlice => wit::Piece { text, total, next };
    core::ArtifactHit => wit::Hit { artifact, score, fit };
}

impl From<wit::Draft> for core::ArtifactDraft {
    fn from(draft: wit::Draft) -> Self {
        let wit::Draft { text, mime_type, tool, source, summary, tags, ttl_ms } = draft;
        let (ttl, preset) = (ttl_ms.map(Duration::from_millis), String::new());
        Self { text, mime_type, tool, source, preset, summary, tags, ttl, data: None, owner_limit: None }
    }
}
