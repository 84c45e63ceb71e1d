//! Reports found files that changed after they were indexed. Nothing watches the directories.

use std::{
    fs,
    path::{Component, Path, PathBuf},
    time::UNIX_EPOCH,
};

use gatehouse_core::{
    ports::documents::{DocumentHit, RepositoryState},
    utc_time::rfc3339,
};

const MAX_NAMED_FILES: usize = 3;

/// Returns a note that names the hits whose file is newer than the index, or gone. `None` if there are none.
pub(super) async fn note(state: RepositoryState, hits: &[DocumentHit]) -> Option<String> {
    let root = PathBuf::from(state.root?);
    let (name, indexed) = (state.repository.name, state.repository.updated_at?);
    let paths: Vec<String> = hits.iter().map(|hit| hit.path.clone()).collect();
    let changed = tokio::task::spawn_blocking(move || {
        // Of a directory on another machine, or of a disk that is not mounted, nothing is known.
        let root_exists = root.is_dir();
        paths.into_iter().filter(|path| root_exists && is_newer(&root, path, &indexed)).collect::<Vec<_>>()
    });
    let changed = changed.await.unwrap_or_default();
    let named = changed.iter().take(MAX_NAMED_FILES).cloned().collect::<Vec<_>>().join(", ");
    let more = if changed.len() > MAX_NAMED_FILES { ", …" } else { "" };
    (!changed.is_empty()).then(|| {
        format!("Changed after indexing: {named}{more}; run `gatehouse docs refresh {name}` to search the new text.")
    })
}

/// Returns whether a file is newer than a time (RFC 3339 in UTC, in seconds), or gone.
fn is_newer(root: &Path, path: &str, indexed: &str) -> bool {
    let relative = Path::new(path);
    if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
        return false;
    }
    let Ok(metadata) = fs::symlink_metadata(root.join(relative)) else { return true };
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    modified.is_some_and(|time| *rfc3339(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)) > *indexed)
}

#[cfg(test)]
mod tests {
    use gatehouse_core::{page::MatchQuality, ports::documents::Repository};

    use super::*;

    #[tokio::test]
    async fn newer_and_missing_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.md"), "text").unwrap();
        let hit = |path: &str| DocumentHit {
            path: path.into(),
            score: 1.0,
            fit: MatchQuality::Good,
            tokens: 1,
            best: None,
        };
        let state = |indexed: &str, root: &Path| RepositoryState {
            repository: Repository {
                name: "x".into(),
                updated_at: Some(indexed.into()),
                ..Repository::default()
            },
            root: Some(root.display().to_string()),
            changed_since_guide: 0,
        };
        let hits = [hit("a.md"), hit("../b.md")];
        assert_eq!(note(state("2999-01-01T00:00:00Z", folder.path()), &hits).await, None);
        let newer = note(state("2001-01-01T00:00:00Z", folder.path()), &hits).await;
        let expected = "Changed after indexing: a.md; run `gatehouse docs refresh x` to search the new text.";
        assert_eq!(newer.as_deref(), Some(expected));
        let gone = note(state("2999-01-01T00:00:00Z", folder.path()), &[hit("gone.md")]).await;
        assert!(gone.is_some_and(|note| note.contains("gone.md")));
        assert_eq!(note(state("2001-01-01T00:00:00Z", &folder.path().join("none")), &hits).await, None);
    }
}
