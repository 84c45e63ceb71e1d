//! `artifacts`: stored texts that were too large to show. The host sets the owner (the caller) and the preset; a gate
//! can choose neither.

use std::sync::Arc;

use gatehouse_core::{
    Principal,
    capability::{AccessLevel, Capability},
    outcome::Fault,
    ports::{
        ArtifactService,
        artifacts::{Artifact, ArtifactChanges, ArtifactDraft, ArtifactPart, ArtifactSlice},
    },
    reply_view::ReplyView,
};

use super::Capabilities;
use crate::limits::{format_bytes, raise_hint};

const MAX_IDS: usize = 1_000;

const MAX_TAGS: usize = 64;

/// Maximum bytes of a tag, a media type, and the name of a tool or source.
const MAX_NAME: usize = 256;

const MAX_SUMMARY: usize = 64 << 10;

impl Capabilities {
    pub(crate) fn artifacts(&self) -> Result<(&dyn ArtifactService, &Principal), Fault> {
        let granted = self.granted(Capability::Artifacts, AccessLevel::Full)?;
        Ok((granted.facts.ports.artifacts.port()?, granted.call.context.principal()))
    }

    pub(crate) async fn put_artifact(&self, mut draft: ArtifactDraft) -> Result<Artifact, Fault> {
        let (store, owner) = self.artifacts()?;
        let names = [Some(&draft.mime_type), draft.tool.as_ref(), draft.source.as_ref()];
        for name in names.into_iter().flatten() {
            bounded("media type, tool or source", name, MAX_NAME)?;
        }
        bounded("summary", draft.summary.as_deref().unwrap_or_default(), MAX_SUMMARY)?;
        check_tags(&draft.tags)?;
        let preset = self.facts.call.as_ref().map(|call| Arc::clone(&call.context.catalog.preset));
        draft.preset = preset.as_deref().unwrap_or_default().to_owned();
        if let Some(data) = &draft.data {
            serde_json::from_str::<serde::de::IgnoredAny>(data)
                .map_err(|error| Fault::invalid(format!("the data of an artifact is not JSON: {error}")))?;
        }
        draft.owner_limit = self.artifact_limit().await?;
        store.put(owner, draft).await
    }

    /// Returns the bytes that the quotas of the caller leave for its artifacts.
    async fn artifact_limit(&self) -> Result<Option<u64>, Fault> {
        let Some(context) = self.facts.call.as_ref().map(|call| &call.context) else { return Ok(None) };
        match (context.notes.stored_limit(), context.principal()) {
            (None, _) => Ok(None),
            (limit, Principal::Local) => Ok(limit),
            (Some(limit), Principal::Named(name)) => {
                Ok(Some(limit.saturating_sub(self.facts.ports.kv.owner_bytes(name).await?)))
            }
        }
    }

    pub(crate) async fn artifacts_info(&self, ids: &[String]) -> Result<Vec<Option<Artifact>>, Fault> {
        let (store, owner) = self.artifacts()?;
        if ids.len() > MAX_IDS {
            let many = ids.len();
            return Err(Fault::exhausted(format!("{many} artifacts requested; the limit is {MAX_IDS}")));
        }
        store.info(owner, ids).await
    }

    /// Reads part of a text, up to the limit `copy`.
    pub(crate) async fn artifact_part(&self, id: &str, part: &ArtifactPart) -> Result<ArtifactSlice, Fault> {
        let (store, owner) = self.artifacts()?;
        let piece = store.read(owner, id, part).await?;
        self.check_copied(piece.text.len())?;
        Ok(piece)
    }

    /// Reads the data of an artifact, up to the limit `copy`.
    pub(crate) async fn artifact_view(&self, id: &str) -> Result<ReplyView<'static>, Fault> {
        let (store, owner) = self.artifacts()?;
        let view = store.view(owner, id).await?;
        let data = view.data.as_ref().map_or(0, |data| data.json.len() + data.beside.len());
        self.check_copied(data + view.whole.as_ref().map_or(0, |whole| whole.len()))?;
        Ok(view)
    }

    fn check_copied(&self, bytes: usize) -> Result<(), Fault> {
        let (gate, limit) = (&self.facts.gate, self.facts.limits.copy);
        if bytes <= limit {
            return Ok(());
        }
        let limit = format_bytes(limit as u64);
        let message = format!("gate '{gate}' requested more than {limit} of an artifact");
        Err(Fault::exhausted(message).hint(raise_hint(gate, "copy")))
    }

    pub(crate) async fn change_artifact(
        &self,
        id: &str,
        changes: ArtifactChanges,
    ) -> Result<Artifact, Fault> {
        let (store, owner) = self.artifacts()?;
        bounded("summary", changes.summary.as_deref().unwrap_or_default(), MAX_SUMMARY)?;
        check_tags(&changes.add_tags)?;
        store.change(owner, id, changes).await
    }

    pub(crate) fn check_question(words: &str, tags: &[String]) -> Result<(), Fault> {
        bounded("query", words, MAX_SUMMARY)?;
        check_tags(tags)
    }
}

fn check_tags(tags: &[String]) -> Result<(), Fault> {
    if tags.len() > MAX_TAGS {
        return Err(Fault::exhausted(format!("{} tags given; the limit is {MAX_TAGS}", tags.len())));
    }
    tags.iter().try_for_each(|tag| bounded("tag", tag, MAX_NAME))
}

fn bounded(label: &str, text: &str, limit: usize) -> Result<(), Fault> {
    if text.len() <= limit {
        return Ok(());
    }
    Err(Fault::exhausted(format!("{label} has {} bytes; the limit is {limit}", text.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_about_artifacts_is_bounded() {
        let many = vec!["x".to_owned(); MAX_TAGS + 1];
        let told = check_tags(&many).expect_err("refused").message;
        assert_eq!(told, "65 tags given; the limit is 64");
        assert!(check_tags(&many[1..]).is_ok());
        let long = [String::from("x").repeat(MAX_NAME + 1)];
        let told = check_tags(&long).expect_err("refused").message;
        assert_eq!(told, "tag has 257 bytes; the limit is 256");
        assert!(Capabilities::check_question("x", &long).is_err());
    }
}
