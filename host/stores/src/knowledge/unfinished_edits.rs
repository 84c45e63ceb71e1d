//! Completes edits whose process was killed after it changed the file and before it stored the page.

use std::path::Path;

use gatehouse_core::{outcome::Fault, ports::knowledge::KnowledgePage};

use super::{WikiKnowledge, index::run_blocking};
use crate::{
    engine::{PageHead, PageScope},
    wiki::{
        WikiRoots, edit_marker,
        file::FileEdit,
        folder,
        record::{PageOrigin, PageRecord},
        text,
    },
};

impl WikiKnowledge {
    /// Returns the page after completing an unfinished edit of it, if any.
    pub(super) async fn with_unfinished_edit(&self, page: KnowledgePage) -> Result<KnowledgePage, Fault> {
        let id = [page.id.clone()];
        let heads = self.engine.heads(&PageScope::ids(id.clone())).await?;
        match heads.first() {
            Some(head) if self.complete_edit(head).await => {
                Ok(self.engine.pages(&id).await?.pop().flatten().unwrap_or(page))
            }
            _ => Ok(page),
        }
    }

    /// Stores the file content of an unfinished edit. Returns true if the stored page may have changed. After a
    /// failure, the next caller tries again.
    pub(super) async fn complete_edit(&self, page: &PageHead) -> bool {
        let Some(origin) = page.origin.clone() else { return false };
        let (roots, hash) = (self.roots.clone(), page.hash.clone());
        let found = run_blocking(move || Ok(find_unfinished(&roots, &origin, &hash))).await;
        let Ok(Some((after, file))) = found else { return false };
        let before = match self.engine.record(&page.id).await {
            Ok(Some(before)) if before.hash == page.hash => before,
            Ok(_) => return true,
            Err(_) => return false,
        };
        match self.replace_page(before, after, Some(file)).await {
            Ok(()) => {
                tracing::info!(page = page.id, "completed an edit whose process was killed");
                self.embedding.wake();
            }
            // Another caller may have completed it first, or its own process may have ended it.
            Err(fault) => {
                tracing::debug!(page = page.id, "left an unfinished edit alone: {}", fault.message)
            }
        }
        true
    }
}

/// Returns the page as the unfinished edit wrote it to the file.
fn find_unfinished(roots: &WikiRoots, origin: &PageOrigin, stored: &str) -> Option<(PageRecord, FileEdit)> {
    let root = Path::new(&origin.root);
    let path = roots.resolve(&root.join(&origin.file)).ok()?;
    if !edit_marker::may_be_unfinished(&path) {
        return None;
    }
    let text = text::read_text(root, &path).ok()?;
    let (after, _) = PageRecord::from_file(&origin.root, &folder::page_file(&origin.file)?, &text);
    Some((after, FileEdit::unfinished(path, stored, text.into_bytes())?))
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf, sync::Arc};

    use gatehouse_core::ports::{
        Clock, KnowledgeGraph as _,
        knowledge::{IndexOptions, PageChanges, PageLookup},
    };

    use super::*;
    use crate::KnowledgeConfig;

    const ID: &str = "Principle/A";
    const OLD: &str = "# Principle: A\n== Overview ==\nOld.\n";
    const NEW: &str = "# Principle: A\n== Overview ==\nNew.\n";

    struct Midnight;

    impl Clock for Midnight {
        fn now_ms(&self) -> u64 {
            0
        }
    }

    async fn indexed(folder: &Path) -> (WikiKnowledge, PathBuf) {
        let wiki = folder.join("wiki");
        let file = wiki.join("principles/A.md");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, OLD).unwrap();
        let config = KnowledgeConfig {
            database: folder.join("knowledge.db"),
            roots: WikiRoots::Only(vec![wiki.clone()]),
            default_root: Some(wiki),
        };
        let graph = WikiKnowledge::sqlite(config, Arc::new(Midnight), None);
        graph.index(None, IndexOptions::default(), &|_, _| {}).await.unwrap();
        (graph, file.canonicalize().unwrap())
    }

    fn kill_an_edit(file: &Path) {
        let edit = FileEdit::new(file.to_owned(), OLD.into(), NEW.into());
        edit.apply().unwrap();
    }

    async fn overview(graph: &WikiKnowledge) -> String {
        match graph.page(ID).await.unwrap() {
            PageLookup::Found { page, .. } => page.overview,
            PageLookup::Missing(near) => panic!("{near:?}"),
        }
    }

    fn content(text: &str) -> PageChanges {
        PageChanges { overview: Some(text.into()), ..PageChanges::default() }
    }

    #[tokio::test]
    async fn a_reader_and_an_editor_complete_an_edit_that_was_killed() {
        for edits_first in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let (graph, file) = indexed(folder.path()).await;
            kill_an_edit(&file);
            if !edits_first {
                assert_eq!(overview(&graph).await, "New.");
            }
            graph.patch(ID, content("Newer."), None, false).await.unwrap();
            assert_eq!(overview(&graph).await, "Newer.");
            assert_eq!(fs::read_to_string(&file).unwrap(), NEW.replace("New.", "Newer."));
            assert!(!edit_marker::may_be_unfinished(&file));
        }
    }

    #[tokio::test]
    async fn an_edit_by_hand_is_not_taken_for_one_of_ours() {
        let folder = tempfile::tempdir().unwrap();
        let (graph, file) = indexed(folder.path()).await;
        kill_an_edit(&file);
        fs::write(&file, NEW.replace("New.", "By hand.")).unwrap();
        assert_eq!(overview(&graph).await, "Old.");
        let fault = graph.patch(ID, content("Newer."), None, false).await.unwrap_err();
        assert!(fault.message.contains("has changed since it was indexed"), "{fault}");
        graph.index(None, IndexOptions::default(), &|_, _| {}).await.unwrap();
        assert_eq!(overview(&graph).await, "By hand.");
        assert!(!edit_marker::may_be_unfinished(&file), "indexing removes the note");
    }
}
