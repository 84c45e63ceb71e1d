//! The metadata of an artifact.

use gatehouse_core::{
    hash::{hex, sha256_hex},
    outcome::Fault,
    ports::artifacts::{Artifact, ArtifactChanges, ArtifactDraft, ID_PREFIX},
    search::embedded_text,
};

use super::subject::subject;

/// Number of hexadecimal digits of the shortest id.
const MIN_ID_DIGITS: usize = 12;
const MAX_ID_DIGITS: usize = 64;

const MAX_SUMMARY: usize = 64 * 1024;

const MAX_LABEL: usize = 512;

const MAX_TAGS: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArtifactRow {
    pub(crate) id: String,
    pub(crate) mime_type: String,
    pub(crate) tool: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) preset: String,
    pub(crate) summary: Option<String>,
    /// What the text is about. Empty if its beginning has no words.
    pub(crate) subject: String,
    /// Sorted and without duplicates.
    pub(crate) tags: Vec<String>,
    /// Time of the first `put`, in Unix milliseconds.
    pub(crate) created: i64,
    /// Expiry in Unix milliseconds. `None` if pinned.
    pub(crate) expires: Option<i64>,
    /// Milliseconds, unless the artifact is pinned.
    pub(crate) ttl: i64,
}

impl ArtifactRow {
    /// Creates the row of a new text. `ttl` is in milliseconds.
    pub(super) fn new(draft: ArtifactDraft, digest: &[u8], now: i64, ttl: i64) -> Result<Self, Fault> {
        let ArtifactDraft { text, data, mime_type, tool, source, preset, summary, tags, .. } = draft;
        let mut row = Self {
            id: Self::ids(digest).next().unwrap_or_default(),
            mime_type: label("media type", mime_type)?,
            tool: tool.map(|tool| label("tool name", tool)).transpose()?,
            source: source.map(|source| label("source name", source)).transpose()?,
            preset: label("preset name", preset)?,
            summary: None,
            subject: without_nul(subject(data.as_deref().unwrap_or(&text))),
            tags: Vec::new(),
            created: now,
            expires: Some(now.saturating_add(ttl)),
            ttl,
        };
        row.set_summary(summary)?;
        row.tag(tags)?;
        Ok(row)
    }

    pub(crate) fn ids(digest: &[u8]) -> impl Iterator<Item = String> + use<> {
        let digits = hex(digest);
        (MIN_ID_DIGITS..=MAX_ID_DIGITS)
            .step_by(4)
            .map(move |length| format!("{ID_PREFIX}{}", &digits[..length.min(digits.len())]))
    }

    /// Renews the row after the same text is stored again. `None` fields of `new` keep their old values, and the time
    /// to live starts over.
    pub(crate) fn renew(&mut self, new: &Self) -> Result<(), Fault> {
        let newer = |of: &mut Option<String>, new: &Option<String>| {
            if new.is_some() {
                of.clone_from(new);
            }
        };
        newer(&mut self.tool, &new.tool);
        newer(&mut self.source, &new.source);
        newer(&mut self.summary, &new.summary);
        self.subject.clone_from(&new.subject);
        self.ttl = new.ttl;
        self.expires = self.expires.and(new.expires);
        self.tag(new.tags.clone())
    }

    /// Applies changes.
    pub(super) fn change(&mut self, changes: ArtifactChanges, now: i64) -> Result<(), Fault> {
        self.set_summary(changes.summary)?;
        match changes.pinned {
            Some(true) => self.expires = None,
            Some(false) => self.expires = Some(now.saturating_add(self.ttl)),
            None => {}
        }
        self.tag(changes.add_tags)
    }

    fn set_summary(&mut self, summary: Option<String>) -> Result<(), Fault> {
        let Some(summary) = summary else { return Ok(()) };
        self.summary = Some(bounded("summary", summary, MAX_SUMMARY)?);
        Ok(())
    }

    fn tag(&mut self, tags: Vec<String>) -> Result<(), Fault> {
        for tag in tags {
            let tag = label("tag", tag.trim().to_owned())?;
            if tag.is_empty() || tag.chars().any(char::is_control) {
                return Err(Fault::invalid("artifact tag is empty or contains control characters"));
            }
            self.tags.push(tag);
        }
        self.tags.sort_unstable();
        self.tags.dedup();
        if self.tags.len() > MAX_TAGS {
            return Err(Fault::invalid(format!(
                "artifact has {} tags; the limit is {MAX_TAGS}",
                self.tags.len()
            )));
        }
        Ok(())
    }

    /// Returns the lowercase text that the filter of a list compares.
    pub(crate) fn words(&self) -> String {
        let mut words = String::new();
        for part in [&self.tool, &self.source, &self.summary].into_iter().flatten().chain(&self.tags) {
            words.push_str(&part.to_lowercase());
            words.push('\n');
        }
        words
    }

    /// Returns the text that the word index weights more than the summary.
    pub(crate) fn heading(&self) -> String {
        let names = [&self.tool, &self.source].into_iter().flatten();
        names.chain(&self.tags).map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    /// Returns the text that the word index has next to the heading.
    pub(crate) fn body(&self) -> String {
        match &self.summary {
            Some(summary) => format!("{summary}\n{}", self.subject),
            None => self.subject.clone(),
        }
    }

    /// Returns the text to embed. `None` if there is neither summary nor subject.
    pub(crate) fn text_to_embed(&self) -> Option<String> {
        let summary = self.summary.as_deref();
        if summary.is_none() && self.subject.is_empty() {
            return None;
        }
        let tool = self.tool.as_deref().unwrap_or_default();
        Some(embedded_text(tool, summary.unwrap_or_default(), &self.tags, &self.subject))
    }

    /// Returns 32 hexadecimal digits that identify the text to embed.
    pub(crate) fn version_to_embed(&self) -> Option<String> {
        Some(sha256_hex(self.text_to_embed()?)[..32].to_owned())
    }

    /// Returns the tags as a column, each between line feeds.
    pub(crate) fn joined_tags(&self) -> String {
        self.tags.iter().map(|tag| format!("\n{tag}\n")).collect()
    }
}

/// Splits the column of [`ArtifactRow::joined_tags`].
pub(crate) fn split_tags(tags: &str) -> Vec<String> {
    tags.split('\n').filter(|tag| !tag.is_empty()).map(str::to_owned).collect()
}

/// A stored artifact.
pub(crate) struct StoredArtifact {
    pub(crate) number: i64,
    pub(crate) owner: String,
    /// Number of its text.
    pub(crate) text: i64,
    pub(crate) size: i64,
    pub(crate) lines: i64,
    pub(crate) row: ArtifactRow,
}

impl StoredArtifact {
    pub(crate) fn is_expired(&self, now: i64) -> bool {
        self.row.expires.is_some_and(|expires| expires <= now)
    }

    pub(crate) fn artifact(self) -> Artifact {
        let number = |value: i64| u64::try_from(value).unwrap_or(0);
        Artifact {
            id: self.row.id,
            size: number(self.size),
            lines: number(self.lines),
            mime_type: self.row.mime_type,
            tool: self.row.tool,
            source: self.row.source,
            preset: self.row.preset,
            summary: self.row.summary,
            tags: self.row.tags,
            created: number(self.row.created),
            expires: self.row.expires.map(number),
        }
    }
}

fn label(what: &str, text: String) -> Result<String, Fault> {
    bounded(what, text, MAX_LABEL)
}

fn bounded(what: &str, text: String, bytes: usize) -> Result<String, Fault> {
    if text.len() > bytes {
        let message = format!("artifact {what} is {} bytes; the limit is {bytes}", text.len());
        return Err(Fault::invalid(message));
    }
    Ok(without_nul(text))
}

/// PostgreSQL text cannot contain NUL, and all engines must store the same text.
fn without_nul(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{1A}") } else { text }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;

    fn row(draft: ArtifactDraft) -> Result<ArtifactRow, Fault> {
        ArtifactRow::new(draft, &Sha256::digest("x"), 1_000, 500)
    }

    #[test]
    fn ids_are_the_beginning_of_the_digest_and_longer_where_they_have_to_be() {
        let ids: Vec<String> = ArtifactRow::ids(&Sha256::digest("x")).collect();
        assert_eq!(ids[0], "art-2d711642b726");
        assert_eq!(ids[1], "art-2d711642b726b044");
        assert_eq!((ids.len(), ids[13].len()), (14, 68));
    }

    #[test]
    fn a_renewed_artifact_keeps_values_that_are_not_given() {
        let draft = ArtifactDraft {
            tool: Some("fetch".into()),
            summary: Some("old".into()),
            tags: vec!["b".into(), "a".into(), "b".into()],
            ..ArtifactDraft::default()
        };
        let mut kept = row(draft).expect("fits");
        assert_eq!(kept.tags, ["a", "b"]);
        let again = ArtifactDraft {
            source: Some("web".into()),
            tags: vec![" c ".into()],
            ..ArtifactDraft::default()
        };
        let mut again = row(again).expect("fits");
        (again.ttl, again.expires) = (9_000, Some(12_000));
        kept.renew(&again).expect("fits");
        assert_eq!((kept.tool.as_deref(), kept.source.as_deref()), (Some("fetch"), Some("web")));
        assert_eq!((kept.summary.as_deref(), kept.tags.join("")), (Some("old"), "abc".into()));
        assert_eq!((kept.created, kept.expires), (1_000, Some(12_000)));
        kept.change(ArtifactChanges { pinned: Some(true), ..ArtifactChanges::default() }, 3_000)
            .expect("fits");
        kept.renew(&again).expect("fits");
        assert_eq!(kept.expires, None, "pinned stays pinned");
        kept.change(ArtifactChanges { pinned: Some(false), ..ArtifactChanges::default() }, 3_000)
            .expect("fits");
        assert_eq!(kept.expires, Some(12_000));
    }

    #[test]
    fn long_values_and_invalid_tags_are_refused() {
        let draft = |tags: Vec<String>| ArtifactDraft { tags, ..ArtifactDraft::default() };
        for tags in [
            vec![" ".into()],
            vec!["a\nb".into()],
            vec!["x".repeat(600)],
            (0..65).map(|n| n.to_string()).collect(),
        ] {
            assert!(row(draft(tags)).is_err());
        }
        let long = ArtifactDraft { summary: Some("x".repeat(MAX_SUMMARY + 1)), ..ArtifactDraft::default() };
        assert_eq!(
            row(long).expect_err("too long").message,
            "artifact summary is 65537 bytes; the limit is 65536"
        );
    }
}
