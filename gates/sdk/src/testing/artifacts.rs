//! In-memory artifacts of one owner for [`Fake`], without a size limit. Ids use another hash than the host's, and
//! values at JSON pointers are serialized again.

use std::{
    cell::RefCell,
    hash::{DefaultHasher, Hasher},
};

use serde_json::Value;

use super::{Fake, current, replies, unset};
use crate::{
    Fault,
    artifacts::{Artifact, Changes, Draft, Filter, Fit, Hit, Part, Piece, Window},
    bindings::gatehouse::gate::replies::{ReplyData, ReplyView},
};

/// A text, and the data that was stored with it.
pub(super) struct StoredText {
    text: String,
    data: Option<String>,
}

impl StoredText {
    fn view(&self) -> Result<ReplyView, Fault> {
        replies::view(std::slice::from_ref(&self.text), self.data.as_deref())
    }
}

/// Artifacts with their texts, newest last.
type StoredTexts = Vec<(Artifact, StoredText)>;

pub(super) type Store = RefCell<StoredTexts>;

/// Default lifetime.
const TTL_MS: u64 = 3 * 60 * 60 * 1000;

impl Fake {
    /// Gives the host an empty artifact store.
    pub fn keeps_artifacts(mut self) -> Self {
        self.artifacts = Some(RefCell::default());
        self
    }

    fn artifacts<T>(
        &self,
        function: &str,
        f: impl FnOnce(&mut StoredTexts) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let Some(store) = &self.artifacts else { return unset(function) };
        self.failure(function)?;
        let mut texts = store.borrow_mut();
        texts.retain(|(artifact, _)| artifact.expires.is_none_or(|at| at > self.now.get()));
        f(&mut texts)
    }
}

/// Stores a text. Storing the same text again returns the same artifact with a new lifetime.
pub fn put(draft: &Draft) -> Result<Artifact, Fault> {
    store(draft, None)
}

/// Stores a text with data.
pub fn put_with_data(draft: &Draft, data: &str) -> Result<Artifact, Fault> {
    store(draft, Some(data))
}

fn store(draft: &Draft, data: Option<&str>) -> Result<Artifact, Fault> {
    let host = current();
    host.artifacts("artifacts.put", |texts| {
        let mut digest = DefaultHasher::new();
        digest.write(draft.text.as_bytes());
        digest.write(data.unwrap_or_default().as_bytes());
        let id = format!("art-{:012x}", digest.finish() >> 16);
        let previous = texts.iter().position(|(artifact, _)| artifact.id == id).map(|at| texts.remove(at).0);
        let now = host.now.get();
        let mut tags: Vec<String> =
            draft.tags.iter().chain(previous.iter().flat_map(|b| &b.tags)).cloned().collect();
        tags.sort();
        tags.dedup();
        let old = previous.as_ref();
        let artifact = Artifact {
            id,
            size: draft.text.len() as u64,
            lines: draft.text.lines().count() as u64,
            mime_type: draft.mime_type.clone(),
            tool: draft.tool.clone().or_else(|| old?.tool.clone()),
            source: draft.source.clone().or_else(|| old?.source.clone()),
            preset: "test".into(),
            summary: draft.summary.clone().or_else(|| old?.summary.clone()),
            tags,
            created: old.map_or(now, |b| b.created),
            expires: match old {
                Some(old) if old.expires.is_none() => None,
                _ => Some(now.saturating_add(draft.ttl_ms.unwrap_or(TTL_MS))),
            },
        };
        let text = StoredText { text: draft.text.clone(), data: data.map(str::to_owned) };
        texts.push((artifact.clone(), text));
        Ok(artifact)
    })
}

/// Returns the metadata of each id. `None` if the artifact is missing or expired.
pub fn info(ids: &[String]) -> Result<Vec<Option<Artifact>>, Fault> {
    current().artifacts("artifacts.info", |texts| {
        let one = |id: &String| texts.iter().find(|(artifact, _)| artifact.id == *id).map(|(a, _)| a.clone());
        Ok(ids.iter().map(one).collect())
    })
}

/// Returns a part of the text.
pub fn read(id: &str, part: &Part) -> Result<Piece, Fault> {
    current().artifacts("artifacts.read", |texts| {
        let found = texts.iter().find(|(artifact, _)| artifact.id == id);
        let (_, stored) = found.ok_or_else(|| unknown(id))?;
        let text = &stored.text;
        match part {
            Part::Whole => Ok(whole(text.clone())),
            Part::Characters(window) => {
                let characters: Vec<String> = text.chars().map(String::from).collect();
                Ok(piece(&characters, *window))
            }
            Part::Lines(window) => {
                let lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
                Ok(piece(&lines, *window))
            }
            Part::Pointer(pointer) => {
                let data = stored.view()?.data.map(|data| data.json.unwrap_or_else(|| text.clone()));
                let value: Value = serde_json::from_str(data.as_ref().unwrap_or(text))
                    .map_err(|_| Fault::invalid(format!("the text of '{id}' is not JSON")))?;
                let missing = || Fault::not_found(format!("'{id}' has no value at '{pointer}'"));
                Ok(whole(value.pointer(pointer).ok_or_else(missing)?.to_string()))
            }
        }
    })
}

/// Returns the data of a text.
pub(crate) fn view(id: &str) -> Result<ReplyView, Fault> {
    current().artifacts("artifacts.view", |texts| {
        let found = texts.iter().find(|(artifact, _)| artifact.id == id);
        let (_, stored) = found.ok_or_else(|| unknown(id))?;
        let data = stored.view()?.data.map(|data| {
            let json = data.json.or_else(|| Some(stored.text.clone()));
            ReplyData { json, ..data }
        });
        Ok(ReplyView { text: None, data, whole: None, repeats: true })
    })
}

fn whole(text: String) -> Piece {
    Piece { total: text.chars().count() as u64, text, next: None }
}

fn piece(units: &[String], window: Window) -> Piece {
    let total = units.len();
    let from = total.min(window.offset as usize);
    let to = total.min(from.saturating_add(window.count as usize));
    Piece { text: units[from..to].concat(), total: total as u64, next: (to < total).then_some(to as u64) }
}

fn unknown(id: &str) -> Fault {
    Fault::not_found(format!("no artifact '{id}'"))
}

fn search_text(artifact: &Artifact) -> String {
    let parts = [&artifact.summary, &artifact.tool, &artifact.source].into_iter().flatten();
    parts.chain(&artifact.tags).cloned().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Returns matching artifacts, newest first.
pub fn recent(filter: &Filter, limit: u32) -> Result<Vec<Artifact>, Fault> {
    current().artifacts("artifacts.recent", |texts| {
        let words = filter.words.to_lowercase();
        let matches = |artifact: &&Artifact| {
            let all = search_text(artifact);
            filter.tags.iter().all(|tag| artifact.tags.contains(tag))
                && words.split_whitespace().all(|w| all.contains(w))
        };
        let newest = texts.iter().rev().map(|(artifact, _)| artifact);
        Ok(newest.filter(matches).take(limit as usize).cloned().collect())
    })
}

/// Returns the artifacts that contain the most query words.
pub fn search(query: &str, limit: u32) -> Result<Vec<Hit>, Fault> {
    current().artifacts("artifacts.search", |texts| {
        let query = query.to_lowercase();
        let asked = query.split_whitespace().count().max(1) as f64;
        let score = |artifact: &Artifact| {
            let all = search_text(artifact);
            query.split_whitespace().filter(|word| all.contains(word)).count() as f64 / asked
        };
        let hit = |(artifact, _): &(Artifact, StoredText)| {
            let score = score(artifact);
            Hit { artifact: artifact.clone(), score, fit: if score > 0.5 { Fit::Good } else { Fit::Weak } }
        };
        let mut hits: Vec<Hit> = texts.iter().rev().map(hit).filter(|hit| hit.score > 0.0).collect();
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits.truncate(limit as usize);
        Ok(hits)
    })
}

/// Changes an artifact's metadata.
pub fn change(id: &str, changes: &Changes) -> Result<Artifact, Fault> {
    let host = current();
    host.artifacts("artifacts.change", |texts| {
        let found = texts.iter_mut().find(|(artifact, _)| artifact.id == id);
        let (artifact, _) = found.ok_or_else(|| unknown(id))?;
        artifact.summary = changes.summary.clone().or(artifact.summary.take());
        artifact.tags.extend(changes.add_tags.iter().cloned());
        artifact.tags.sort();
        artifact.tags.dedup();
        artifact.expires = match changes.pinned {
            Some(true) => None,
            Some(false) => Some(host.now.get().saturating_add(TTL_MS)),
            None => artifact.expires,
        };
        Ok(artifact.clone())
    })
}

/// Deletes an artifact. Returns `false` if it did not exist.
pub fn delete(id: &str) -> Result<bool, Fault> {
    current().artifacts("artifacts.delete", |texts| {
        let before = texts.len();
        texts.retain(|(artifact, _)| artifact.id != id);
        Ok(texts.len() < before)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{artifacts, testing};

    fn draft(text: &str) -> Draft {
        Draft { ttl_ms: Some(10), ..Draft::new(text, "text/plain") }
    }

    #[test]
    fn an_artifact_expires_unless_it_is_pinned() {
        Fake::new().keeps_artifacts().run(|| {
            let (one, two) = (artifacts::put(&draft("one")).unwrap(), artifacts::put(&draft("two")).unwrap());
            testing::advance(9);
            assert_eq!(artifacts::put(&draft("one")).unwrap().id, one.id);
            let changes = Changes { summary: None, add_tags: vec!["b".into()], pinned: Some(true) };
            artifacts::change(&two.id, &changes).unwrap();
            testing::advance(9);
            let any = Filter { tags: vec![], words: String::new() };
            assert_eq!(artifacts::recent(&any, 9).unwrap().len(), 2);
            testing::advance(9);
            assert_eq!(artifacts::info(std::slice::from_ref(&one.id)).unwrap(), [None]);
            assert_eq!(artifacts::recent(&any, 9).unwrap()[0].tags, ["b"]);
            assert!(artifacts::read(&one.id, &Part::Whole).is_err() && artifacts::delete(&two.id).unwrap());
        });
    }

    #[test]
    fn parts_go_on_where_they_end() {
        Fake::new().keeps_artifacts().run(|| {
            let id = artifacts::put(&draft("{\"a\":\n[\"ü\"]}")).unwrap().id;
            let window = Window { offset: 0, count: 1 };
            let line = artifacts::read(&id, &Part::Lines(window)).unwrap();
            assert_eq!((line.text.as_str(), line.total, line.next), ("{\"a\":\n", 2, Some(1)));
            assert_eq!(artifacts::read(&id, &Part::Pointer("/a/0".into())).unwrap().text, "\"ü\"");
        });
    }
}
