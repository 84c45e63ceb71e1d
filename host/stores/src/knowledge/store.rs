//! Stores pages. The writes are computed inside the transaction that makes them.

use std::{
    collections::{BTreeSet, HashSet},
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::{
    lock,
    outcome::Fault,
    ports::knowledge::{IndexReport, UnresolvedLink},
};

use super::{
    WikiKnowledge,
    plan::{self, ClearMode, RecordChanges, WholeFolder, links},
};
use crate::{
    engine::{PageHead, PageScope, PageWrites, WriteOutcome, WritePlan},
    nearest::nearest,
    wiki::{
        edit_marker::{self, EditMarker},
        folder::WikiFolder,
        ids,
        record::PageRecord,
    },
    worker::{back_off, run_blocking},
};

/// Time that storing waits for vectors. The rest continues in the background.
const MAX_VECTOR_WAIT: Duration = Duration::from_secs(5);

pub(super) const MAX_ATTEMPTS: u64 = 8;

pub(super) enum PagesToStore {
    Given(Vec<PageRecord>),
    /// A whole wiki directory. Other stored pages from it are removed. The transaction reads the directory again, so
    /// the stored pages match the files at that time.
    Folder(Mutex<WikiFolder>),
}

impl PagesToStore {
    fn read<T>(&self, work: impl FnOnce(&[PageRecord], Option<WholeFolder<'_>>) -> T) -> T {
        match self {
            Self::Given(records) => work(records, None),
            Self::Folder(folder) => {
                let WikiFolder { root, records, unreadable, .. } = &*lock(folder);
                work(records, Some(WholeFolder { root, unreadable }))
            }
        }
    }

    fn scope(&self, clear: ClearMode) -> PageScope {
        self.read(|records, folder| match clear {
            ClearMode::No => PageScope::Matching {
                ids: records.iter().map(|record| record.id.clone()).collect(),
                root: folder.map(|folder| folder.root.to_owned()),
            },
            ClearMode::Filed | ClearMode::All => PageScope::All,
        })
    }

    fn plan(&self, clear: ClearMode, found: &[PageHead]) -> Result<RecordChanges, Fault> {
        self.read(|records, folder| plan::changes(records, folder, clear, found))
    }
}

struct StorePlan {
    pages: PagesToStore,
    clear: ClearMode,
    attempt: Mutex<StoreAttempt>,
}

#[derive(Default)]
struct StoreAttempt {
    report: IndexReport,
    links: Vec<UnresolvedLink>,
    /// Notes of finished edits that the stored pages include.
    notes: Vec<EditMarker>,
}

impl WritePlan for StorePlan {
    fn scope(&self) -> Result<PageScope, Fault> {
        if let PagesToStore::Folder(folder) = &self.pages {
            let mut folder = lock(folder);
            // No edit is in progress here, so all notes belong to edits that have ended.
            lock(&self.attempt).notes = edit_marker::all(Path::new(&folder.root));
            folder.refresh()?;
        }
        Ok(self.pages.scope(self.clear))
    }

    fn writes(&self, found: &[PageHead]) -> Result<Option<PageWrites>, Fault> {
        let RecordChanges { remove, put, report, links } = self.pages.plan(self.clear, found)?;
        let mut attempt = lock(&self.attempt);
        (attempt.report, attempt.links) = (report, links);
        Ok(Some(PageWrites { remove, put }))
    }
}

impl WikiKnowledge {
    /// Returns the report that [`Self::store`] would return. Changes nothing.
    pub(super) async fn preview_store(
        &self,
        pages: &PagesToStore,
        clear: ClearMode,
    ) -> Result<IndexReport, Fault> {
        let heads = self.engine.heads(&pages.scope(clear)).await?;
        let RecordChanges { remove, put, report, links } = pages.plan(clear, &heads)?;
        let unresolved_links = self.unresolved(links, &remove, &put).await?;
        Ok(IndexReport { unresolved_links, ..report })
    }

    /// Returns the links that would be unresolved if these pages were stored.
    pub(super) async fn preview_put(&self, pages: &[PageRecord]) -> Result<Vec<UnresolvedLink>, Fault> {
        self.unresolved(links(pages), &[], pages).await
    }

    pub(super) async fn store(&self, pages: PagesToStore, clear: ClearMode) -> Result<IndexReport, Fault> {
        let storing = Arc::new(StorePlan { pages, clear, attempt: Mutex::default() });
        for attempt in 0..MAX_ATTEMPTS {
            back_off(attempt).await;
            match self.engine.apply(Arc::clone(&storing) as _).await? {
                WriteOutcome::Done => {
                    let StoreAttempt { report, links, notes } = std::mem::take(&mut *lock(&storing.attempt));
                    if let PagesToStore::Folder(folder) = &storing.pages {
                        let root = lock(folder).root.clone();
                        run_blocking(move || {
                            edit_marker::clean(Path::new(&root), &notes);
                            Ok(())
                        })
                        .await?;
                    }
                    return self.finish_report(report, links).await;
                }
                WriteOutcome::Conflict => {}
                WriteOutcome::Unknown(fault) => return Err(fault),
            }
        }
        Err(too_many_conflicts())
    }

    /// Adds the unresolved links to a report, after a wait for vectors.
    pub(super) async fn finish_report(
        &self,
        report: IndexReport,
        links: Vec<UnresolvedLink>,
    ) -> Result<IndexReport, Fault> {
        let unresolved_links = self.unresolved(links, &[], &[]).await?;
        self.embedding.wait_for_vectors(MAX_VECTOR_WAIT).await;
        Ok(IndexReport { unresolved_links, ..report })
    }

    /// Returns the nearest title for each id that does not exist. `None` in an empty store.
    pub async fn nearest_titles<'a>(
        &self,
        ids: impl ExactSizeIterator<Item = &'a str>,
    ) -> Result<Vec<Option<String>>, Fault> {
        if ids.len() == 0 {
            return Ok(Vec::new());
        }
        let pages = self.engine.heads(&PageScope::All).await?;
        Ok(ids.map(|id| nearest(id, &pages).into_iter().next()).collect())
    }

    /// Returns those links whose target does not exist once `removed` and `put` apply.
    async fn unresolved(
        &self,
        mut links: Vec<UnresolvedLink>,
        removed: &[String],
        put: &[PageRecord],
    ) -> Result<Vec<UnresolvedLink>, Fault> {
        let targets: BTreeSet<&String> = links.iter().map(|link| &link.target).collect();
        let targets = PageScope::ids(targets.into_iter().cloned());
        let stored = self.engine.heads(&targets).await?;
        let mut existing_keys: HashSet<String> = stored.iter().map(|page| ids::key(&page.id)).collect();
        for id in removed {
            existing_keys.remove(&ids::key(id));
        }
        existing_keys.extend(put.iter().map(PageRecord::key));
        links.retain(|link| !existing_keys.contains(&ids::key(&link.target)));
        Ok(links)
    }
}

pub(super) fn too_many_conflicts() -> Fault {
    Fault::unavailable(format!("lost {MAX_ATTEMPTS} write conflicts in a row"))
        .hint("Nothing was changed. Try again in a moment.")
}
