//! Storing pages: what is written is worked out inside the transaction that writes it.

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
    index::blocking,
    plan::{self, Changes, Clear, WholeFolder},
};
use crate::{
    engine::{Applied, Head, Plan, Scope, Writes},
    wiki::{
        edit_note::{self, EditNote},
        folder::Folder,
        ids,
        record::Record,
    },
    worker::let_others_finish,
};

/// How long storing pages waits for their vectors; what takes longer goes on in the background.
const SETTLE: Duration = Duration::from_secs(5);

/// Attempts, where other writers were faster.
pub(super) const ATTEMPTS: u64 = 8;

/// Pages to be stored.
pub(super) enum Pages {
    /// These.
    Given(Vec<Record>),
    /// All of a wiki folder: what else is stored of it goes. Files and pages may change until they are stored; what is
    /// stored is what the folder says in the end.
    Folder(Mutex<Folder>),
}

impl Pages {
    fn read<T>(&self, work: impl FnOnce(&[Record], Option<WholeFolder<'_>>) -> T) -> T {
        match self {
            Self::Given(records) => work(records, None),
            Self::Folder(folder) => {
                let Folder { root, records, unreadable, .. } = &*lock(folder);
                work(records, Some(WholeFolder { root, unreadable }))
            }
        }
    }

    fn scope(&self, clear: Clear) -> Scope {
        self.read(|records, folder| match clear {
            Clear::No => Scope::Of {
                ids: records.iter().map(|record| record.id.clone()).collect(),
                root: folder.map(|folder| folder.root.to_owned()),
            },
            Clear::Filed | Clear::All => Scope::All,
        })
    }

    fn planned(&self, clear: Clear, found: &[Head]) -> Result<Planned, Fault> {
        self.read(|records, folder| {
            Ok(Planned { changes: plan::changes(records, folder, clear, found)?, links: links(records) })
        })
    }
}

/// Changes that storing pages makes.
struct Planned {
    changes: Changes,
    /// The links that the pages declare.
    links: Vec<UnresolvedLink>,
}

/// Storing pages.
struct Storing {
    pages: Pages,
    clear: Clear,
    /// The last attempt.
    attempt: Mutex<Attempt>,
}

#[derive(Default)]
struct Attempt {
    report: IndexReport,
    links: Vec<UnresolvedLink>,
    /// Notes of edits that the pages contain.
    notes: Vec<EditNote>,
}

impl Plan for Storing {
    fn scope(&self) -> Result<Scope, Fault> {
        if let Pages::Folder(folder) = &self.pages {
            let mut folder = lock(folder);
            // No edit is under way here, so all notes are of ended ones.
            lock(&self.attempt).notes = edit_note::all(Path::new(&folder.root));
            folder.refresh()?;
        }
        Ok(self.pages.scope(self.clear))
    }

    fn writes(&self, found: &[Head]) -> Result<Option<Writes>, Fault> {
        let Planned { changes: Changes { remove, put, report }, links } =
            self.pages.planned(self.clear, found)?;
        let mut attempt = lock(&self.attempt);
        (attempt.report, attempt.links) = (report, links);
        Ok(Some(Writes { remove, put }))
    }
}

impl WikiKnowledge {
    /// Reports what [`Self::store`] would do, and changes nothing.
    pub(super) async fn preview_store(&self, pages: &Pages, clear: Clear) -> Result<IndexReport, Fault> {
        let found = self.engine.heads(&pages.scope(clear)).await?;
        let Planned { changes: Changes { remove, put, report }, links } = pages.planned(clear, &found)?;
        let unresolved_links = self.unresolved(links, &remove, &put).await?;
        Ok(IndexReport { unresolved_links, ..report })
    }

    /// The links that would point to no page once these pages are stored.
    pub(super) async fn preview_put(&self, pages: &[Record]) -> Result<Vec<UnresolvedLink>, Fault> {
        self.unresolved(links(pages), &[], pages).await
    }

    /// Stores pages.
    pub(super) async fn store(&self, pages: Pages, clear: Clear) -> Result<IndexReport, Fault> {
        let storing = Arc::new(Storing { pages, clear, attempt: Mutex::default() });
        for attempt in 0..ATTEMPTS {
            let_others_finish(attempt).await;
            match self.engine.apply(Arc::clone(&storing) as _).await? {
                Applied::Done => {
                    let Attempt { report, links, notes } = std::mem::take(&mut *lock(&storing.attempt));
                    if let Pages::Folder(folder) = &storing.pages {
                        let root = lock(folder).root.clone();
                        blocking(move || {
                            edit_note::clean(Path::new(&root), &notes);
                            Ok(())
                        })
                        .await?;
                    }
                    return self.reported(report, links).await;
                }
                Applied::Changed => {}
                Applied::Unknown(fault) => return Err(fault),
            }
        }
        Err(outrun())
    }

    /// The report, with the links that point nowhere now, after everything stored has been given its time.
    pub(super) async fn reported(
        &self,
        report: IndexReport,
        links: Vec<UnresolvedLink>,
    ) -> Result<IndexReport, Fault> {
        let unresolved_links = self.unresolved(links, &[], &[]).await?;
        if let Some(embedding) = &self.embedding {
            embedding.settle(SETTLE).await;
        }
        Ok(IndexReport { unresolved_links, ..report })
    }

    /// Those of the links that point to no page, where `removed` go and `put` come.
    async fn unresolved(
        &self,
        mut links: Vec<UnresolvedLink>,
        removed: &[String],
        put: &[Record],
    ) -> Result<Vec<UnresolvedLink>, Fault> {
        let targets: BTreeSet<&String> = links.iter().map(|link| &link.target).collect();
        let targets = Scope::ids(targets.into_iter().cloned());
        let stored = self.engine.heads(&targets).await?;
        let mut there: HashSet<String> = stored.iter().map(|page| ids::key(&page.id)).collect();
        for id in removed {
            there.remove(&ids::key(id));
        }
        there.extend(put.iter().map(Record::key));
        links.retain(|link| !there.contains(&ids::key(&link.target)));
        Ok(links)
    }
}

/// The links that pages declare, sorted, each once.
pub(super) fn links(records: &[Record]) -> Vec<UnresolvedLink> {
    let links = records.iter().flat_map(|page| {
        page.links.iter().map(|link| UnresolvedLink {
            page: page.id.clone(),
            edge: link.edge.clone(),
            target: link.target.clone(),
        })
    });
    links.collect::<BTreeSet<_>>().into_iter().collect()
}

pub(super) fn outrun() -> Fault {
    Fault::unavailable(format!("other writers were faster {ATTEMPTS} times"))
        .hint("Try again in a moment; nothing was changed.")
}
