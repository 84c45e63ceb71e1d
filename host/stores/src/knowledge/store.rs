//! Storing what was worked out: plans are made and applied until one holds, and a page and its file change together
//! or not at all.

use std::{
    collections::{BTreeSet, HashSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::{
    lock,
    outcome::Fault,
    ports::knowledge::{IndexReport, Unresolved},
};

use super::{
    WikiKnowledge,
    index::{blocking, unfinished},
    plan::{self, Changes, Clear, WholeFolder},
};
use crate::{
    engine::{Applied, Engine, Head, Plan, Scope},
    wiki::{file::FileEdit, folder::Folder, ids, record::Record},
    worker::let_others_finish,
};

/// How long storing pages waits for their vectors; what takes longer goes on in the background.
const SETTLE: Duration = Duration::from_secs(5);

/// How often something is planned again because somebody else was faster.
const ATTEMPTS: u64 = 8;

/// Pages to be stored.
pub(super) enum Pages {
    /// These.
    Given(Vec<Record>),
    /// All of a wiki folder: what else is stored of it goes. Files and pages may change until they are stored; what is
    /// stored is what the folder says in the end.
    Folder(Arc<Mutex<Folder>>),
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

    fn scope(&self) -> Scope {
        self.read(|records, folder| Scope::Of {
            ids: records.iter().map(|record| record.id.clone()).collect(),
            root: folder.map(|folder| folder.root.to_owned()),
        })
    }

    fn folder(&self) -> Option<Arc<Mutex<Folder>>> {
        match self {
            Self::Given(_) => None,
            Self::Folder(folder) => Some(Arc::clone(folder)),
        }
    }
}

/// Changes that storing pages makes, and what they were worked out from.
struct Planned {
    scope: Scope,
    found: Vec<Head>,
    changes: Changes,
    /// The links that the pages declare.
    links: Vec<Unresolved>,
}

impl WikiKnowledge {
    async fn planned(&self, pages: &Pages, clear: Clear) -> Result<Planned, Fault> {
        let scope = if clear == Clear::No { pages.scope() } else { Scope::All };
        let found = self.engine.heads(&scope).await?;
        let planned = pages.read(|records, folder| {
            Ok::<_, Fault>((plan::changes(records, folder, clear, &found)?, links(records)))
        });
        let (changes, links) = planned?;
        Ok(Planned { scope, found, changes, links })
    }

    /// Reports what [`Self::store`] would do, and changes nothing.
    pub(super) async fn preview_store(&self, pages: &Pages, clear: Clear) -> Result<IndexReport, Fault> {
        let Planned { changes: Changes { remove, put, report }, links, .. } =
            self.planned(pages, clear).await?;
        let unresolved_links = self.unresolved(links, &remove, &put).await?;
        Ok(IndexReport { unresolved_links, ..report })
    }

    /// The links that would point to no page once these pages are stored.
    pub(super) async fn preview_put(&self, pages: &[Record]) -> Result<Vec<Unresolved>, Fault> {
        self.unresolved(links(pages), &[], pages).await
    }

    /// Stores pages.
    pub(super) async fn store(&self, pages: Pages, clear: Clear) -> Result<IndexReport, Fault> {
        for attempt in 0..ATTEMPTS {
            let_others_finish(attempt).await;
            let Planned { scope, found, changes, links } = self.planned(&pages, clear).await?;
            let Changes { remove, put, report } = changes;
            let plan = Plan { scope, found, folder: pages.folder(), remove, put, file: None };
            match self.engine.apply(Arc::new(plan)).await? {
                Applied::Done => return self.reported(report, links).await,
                Applied::Changed => {}
                Applied::Unknown(fault) => return Err(fault),
            }
        }
        Err(outrun())
    }

    /// Stores a page in the place of another and changes its file: both or neither.
    pub(super) async fn replace(
        &self,
        before: Record,
        after: Record,
        file: Option<FileEdit>,
    ) -> Result<Vec<Unresolved>, Fault> {
        let links = links(std::slice::from_ref(&after));
        // Done to its end even if nobody waits for it any more: a file is changed by it.
        let work = replace(Arc::clone(&self.engine), before, after, file.map(Arc::new));
        tokio::spawn(work).await.unwrap_or_else(|_| Err(unfinished()))?;
        Ok(self.reported(IndexReport::default(), links).await?.unresolved_links)
    }

    /// The report, with the links that point nowhere now, after everything stored has been given its time.
    async fn reported(&self, report: IndexReport, links: Vec<Unresolved>) -> Result<IndexReport, Fault> {
        let unresolved_links = self.unresolved(links, &[], &[]).await?;
        if let Some(embedding) = &self.embedding {
            embedding.settle(SETTLE).await;
        }
        Ok(IndexReport { unresolved_links, ..report })
    }

    /// Those of the links that point to no page, where `removed` go and `put` come.
    async fn unresolved(
        &self,
        mut links: Vec<Unresolved>,
        removed: &[String],
        put: &[Record],
    ) -> Result<Vec<Unresolved>, Fault> {
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
fn links(records: &[Record]) -> Vec<Unresolved> {
    let links = records.iter().flat_map(|page| {
        page.links.iter().map(|link| Unresolved {
            page: page.id.clone(),
            edge: link.edge.clone(),
            target: link.target.clone(),
        })
    });
    links.collect::<BTreeSet<_>>().into_iter().collect()
}

async fn replace(
    engine: Arc<dyn Engine>,
    before: Record,
    after: Record,
    file: Option<Arc<FileEdit>>,
) -> Result<(), Fault> {
    let id = after.id.clone();
    for attempt in 0..ATTEMPTS {
        let_others_finish(attempt).await;
        let plan = Plan {
            scope: Scope::ids([id.clone()]),
            found: vec![Head::of(&before)],
            folder: None,
            remove: Vec::new(),
            put: if before == after { Vec::new() } else { vec![after.clone()] },
            file: file.clone(),
        };
        let done = engine.apply(Arc::new(plan)).await;
        if let Ok(Applied::Done) = done {
            return Ok(());
        }
        let now = match done {
            // Lost with the answer on its way: the page itself says what became of it.
            Ok(Applied::Unknown(_)) => engine.record(&id).await.ok(),
            _ => None,
        };
        if file.is_some() && now.as_ref().is_some_and(|now| now.as_ref() == Some(&after)) {
            return Ok(());
        }
        if let Some(file) = file.clone() {
            blocking(move || {
                file.revert();
                Ok(())
            })
            .await?;
        }
        match done {
            Err(fault) => return Err(fault),
            Ok(Applied::Unknown(fault)) if file.is_some() && now.is_none() => {
                return Err(undecided(fault, &id));
            }
            Ok(Applied::Unknown(fault)) => return Err(fault),
            Ok(_) if engine.record(&id).await?.as_ref() == Some(&before) => {}
            Ok(_) => {
                return Err(Fault::invalid(format!("page '{id}' has changed meanwhile"))
                    .hint("Read it again with get_wiki_page, then repeat the edit; nothing was changed."));
            }
        }
    }
    Err(outrun())
}

/// The fault where the store was lost before it said whether it keeps the page.
fn undecided(fault: Fault, id: &str) -> Fault {
    let message =
        format!("{}; whether the stored page '{id}' changed is not known, its file did not", fault.message);
    let hint = "Index the wiki folder again when the server is back: the page follows its file.";
    Fault { message, hint: Some(hint.to_owned()), ..fault }
}

fn outrun() -> Fault {
    Fault::unavailable(format!("other writers were faster {ATTEMPTS} times"))
        .hint("Try again in a moment; nothing was changed.")
}
