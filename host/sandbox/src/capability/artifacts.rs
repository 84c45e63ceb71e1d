//! `artifacts`: texts that were too large to show, for whoever calls. Granted as `artifacts`. The owner is whoever makes
//! the call, and the preset the one that it came through: a gate can name neither.

use std::sync::Arc;

use gatehouse_core::{
    Principal,
    capability::{AccessLevel, Capability},
    outcome::Fault,
    ports::artifacts::{Artifact, ArtifactChanges, ArtifactDraft, ArtifactPart, ArtifactSlice},
};

use super::Capabilities;
use crate::limits::{format_bytes, raise_hint};

/// The most ids that are asked for at once.
const MAX_IDS: usize = 1_000;

/// The most tags of one artifact, or in one question.
const MAX_TAGS: usize = 64;

/// The most bytes of a tag, of the name of a tool or a source, and of a media type.
const MAX_NAME: usize = 256;

/// The most bytes of what is said about an artifact, and of a question.
const MAX_SUMMARY: usize = 64 << 10;

impl Capabilities {
    /// The store, and whose artifacts the call may see.
    pub(crate) fn artifacts(
        &self,
    ) -> Result<(&dyn gatehouse_core::ports::ArtifactService, &Principal), Fault> {
        let granted = self.granted(Capability::Artifacts, AccessLevel::Full)?;
        Ok((&*granted.facts.ports.artifacts, &granted.call.context.principal))
    }

    /// Keeps a text; the preset of the draft is set here.
    pub(crate) async fn put_artifact(&self, mut draft: ArtifactDraft) -> Result<Artifact, Fault> {
        let (store, owner) = self.artifacts()?;
        let names = [Some(&draft.mime_type), draft.tool.as_ref(), draft.source.as_ref()];
        for name in names.into_iter().flatten() {
            bounded("A media type, tool or source", name, MAX_NAME)?;
        }
        bounded("A summary", draft.summary.as_deref().unwrap_or_default(), MAX_SUMMARY)?;
        check_tags(&draft.tags)?;
        let preset = self.facts.call.as_ref().map(|call| Arc::clone(&call.context.catalog.preset));
        draft.preset = preset.as_deref().unwrap_or_default().to_owned();
        store.put(owner, draft).await
    }

    /// What is known of each.
    pub(crate) async fn artifacts_info(&self, ids: &[String]) -> Result<Vec<Option<Artifact>>, Fault> {
        let (store, owner) = self.artifacts()?;
        if ids.len() > MAX_IDS {
            let many = ids.len();
            return Err(Fault::exhausted(format!("At most {MAX_IDS} artifacts at once; these are {many}.")));
        }
        store.info(owner, ids).await
    }

    /// A part of a text, no longer than what may cross the boundary at once.
    pub(crate) async fn artifact_part(&self, id: &str, part: &ArtifactPart) -> Result<ArtifactSlice, Fault> {
        let (store, owner) = self.artifacts()?;
        let piece = store.read(owner, id, part).await?;
        let (gate, most) = (&self.facts.gate, self.facts.limits.copy);
        if piece.text.len() > most {
            let most = format_bytes(most as u64);
            return Err(Fault::exhausted(format!(
                "Gate '{gate}' asked for more than {most} of an artifact at once."
            ))
            .hint(raise_hint(gate, "copy")));
        }
        Ok(piece)
    }

    /// Changes what is known of an artifact.
    pub(crate) async fn change_artifact(
        &self,
        id: &str,
        changes: ArtifactChanges,
    ) -> Result<Artifact, Fault> {
        let (store, owner) = self.artifacts()?;
        bounded("A summary", changes.summary.as_deref().unwrap_or_default(), MAX_SUMMARY)?;
        check_tags(&changes.add_tags)?;
        store.change(owner, id, changes).await
    }

    /// Passes what a search may go by.
    pub(crate) fn check_question(words: &str, tags: &[String]) -> Result<(), Fault> {
        bounded("A question", words, MAX_SUMMARY)?;
        check_tags(tags)
    }
}

fn check_tags(tags: &[String]) -> Result<(), Fault> {
    if tags.len() > MAX_TAGS {
        return Err(Fault::exhausted(format!("At most {MAX_TAGS} tags; these are {}.", tags.len())));
    }
    tags.iter().try_for_each(|tag| bounded("A tag", tag, MAX_NAME))
}

fn bounded(what: &str, text: &str, most: usize) -> Result<(), Fault> {
    if text.len() <= most {
        return Ok(());
    }
    Err(Fault::exhausted(format!("{what} has at most {most} bytes; this has {}.", text.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_about_artifacts_is_bounded() {
        let many = vec!["x".to_owned(); MAX_TAGS + 1];
        let told = check_tags(&many).expect_err("refused").message;
        assert_eq!(told, "At most 64 tags; these are 65.");
        assert!(check_tags(&many[1..]).is_ok());
        let long = [String::from("x").repeat(MAX_NAME + 1)];
        let told = check_tags(&long).expect_err("refused").message;
        assert_eq!(told, "A tag has at most 256 bytes; this has 257.");
        assert!(Capabilities::check_question("x", &long).is_err());
    }
}
