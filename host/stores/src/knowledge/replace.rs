//! Replaces a stored page and its file, both or neither. Also completes edits whose process was killed after it changed
//! the file and before it stored the page.

use std::{path::Path, sync::Arc};

use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{IndexReport, KnowledgePage, UnresolvedLink},
};

use super::{
    WikiKnowledge,
    plan::links,
    store::{MAX_ATTEMPTS, too_many_conflicts},
};
use crate::{
    engine::{PageEngine, PageHead, PageScope, PageWrites, WriteOutcome, WritePlan},
    wiki::{
        WikiRoots, edit_marker,
        file::{FileEdit, read_text},
        folder,
        record::{PageOrigin, PageRecord},
    },
    worker::{back_off, run_blocking, run_detached},
};

struct ReplacePlan {
    before: PageRecord,
    after: PageRecord,
    file: Option<FileEdit>,
}

impl WritePlan for ReplacePlan {
    fn scope(&self) -> Result<PageScope, Fault> {
        Ok(PageScope::ids([self.after.id.clone()]))
    }

    fn writes(&self, found: &[PageHead]) -> Result<Option<PageWrites>, Fault> {
        if found != [PageHead::from_record(&self.before)] {
            return Ok(None);
        }
        let put = if self.before == self.after { Vec::new() } else { vec![self.after.clone()] };
        Ok(Some(PageWrites { put, ..PageWrites::default() }))
    }

    fn finish(&self) -> Result<(), Fault> {
        self.file.as_ref().map_or(Ok(()), FileEdit::apply)
    }
}

impl ReplacePlan {
    /// Marks the edit of the file as stored, or reverts it.
    async fn end_edit(self: &Arc<Self>, how: fn(&FileEdit)) -> Result<(), Fault> {
        if self.file.is_none() {
            return Ok(());
        }
        let replacing = Arc::clone(self);
        run_blocking(move || {
            replacing.file.iter().for_each(how);
            Ok(())
        })
        .await
    }
}

impl WikiKnowledge {
    /// Replaces a page and its file, and returns the unresolved links of the new page.
    pub(super) async fn replace(
        &self,
        before: PageRecord,
        after: PageRecord,
        file: Option<FileEdit>,
    ) -> Result<Vec<UnresolvedLink>, Fault> {
        let links = links(std::slice::from_ref(&after));
        self.replace_page(before, after, file).await?;
        Ok(self.finish_report(IndexReport::default(), links).await?.unresolved_links)
    }

    pub(super) async fn replace_page(
        &self,
        before: PageRecord,
        after: PageRecord,
        file: Option<FileEdit>,
    ) -> Result<(), Fault> {
        // Completes even if the caller is canceled, because the changed file needs a commit or a revert.
        let work = replace(Arc::clone(&self.engine), Arc::new(ReplacePlan { before, after, file }));
        run_detached(work).await
    }

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
        let unfinished_edit = run_blocking(move || Ok(find_unfinished(&roots, &origin, &hash))).await;
        let Ok(Some((after, file))) = unfinished_edit else { return false };
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

async fn replace(engine: Arc<dyn PageEngine>, replacing: Arc<ReplacePlan>) -> Result<(), Fault> {
    let ReplacePlan { before, after, file } = &*replacing;
    let (id, has_file) = (&after.id, file.is_some());
    for attempt in 0..MAX_ATTEMPTS {
        back_off(attempt).await;
        let done = engine.apply(Arc::clone(&replacing) as _).await;
        if let Ok(WriteOutcome::Done) = done {
            return replacing.end_edit(FileEdit::mark_stored).await;
        }
        let now = match done {
            // The connection was lost before the reply, so read the page to see the result.
            Ok(WriteOutcome::Unknown(_)) => engine.record(id).await.ok(),
            _ => None,
        };
        if has_file && now.as_ref().is_some_and(|now| now.as_ref() == Some(after)) {
            return replacing.end_edit(FileEdit::mark_stored).await;
        }
        replacing.end_edit(FileEdit::revert).await?;
        match done {
            Err(fault) => return Err(fault),
            Ok(WriteOutcome::Unknown(fault)) if has_file && now.is_none() => {
                return Err(unknown_outcome(fault, id));
            }
            Ok(WriteOutcome::Unknown(fault)) => return Err(fault),
            Ok(_) if engine.record(id).await?.as_ref() == Some(before) => {}
            Ok(_) => {
                return Err(Fault::invalid(format!("page '{id}' was changed by another caller"))
                    .hint("Nothing was changed. Read it again with get_wiki_page and repeat the edit."));
            }
        }
    }
    Err(too_many_conflicts())
}

/// Returns the fault for a connection that was lost before the store confirmed the write.
fn unknown_outcome(fault: Fault, id: &str) -> Fault {
    let message = format!("{}; the stored page '{id}' may have changed, but its file did not", fault.message);
    let hint =
        "Index the wiki directory again when the server is back, which restores the page from its file.";
    Fault { message, hint: Some(hint.to_owned()), ..fault }
}

/// Returns the page as the unfinished edit wrote it to the file.
fn find_unfinished(roots: &WikiRoots, origin: &PageOrigin, stored: &str) -> Option<(PageRecord, FileEdit)> {
    let root = Path::new(&origin.root);
    let path = roots.resolve(&root.join(&origin.file)).ok()?;
    if !edit_marker::may_be_unfinished(&path) {
        return None;
    }
    let text = read_text(root, &path).ok()?;
    let (after, _) = PageRecord::from_file(&origin.root, &folder::page_file(&origin.file)?, &text);
    Some((after, FileEdit::unfinished(path, stored, text.into_bytes())?))
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

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
