//! Storing what was worked out: plans are made and applied until one holds, and a page and its file change together
//! or not at all.

use std::{
    collections::{BTreeSet, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{IndexReport, Unresolved},
};

use super::{
    WikiKnowledge,
    index::{blocking, unfinished},
    plan::{self, Clear, WholeFolder},
};
use crate::{
    engine::{Applied, Engine, Head, Plan, Scope},
    wiki::{file::FileEdit, folder::Folder, ids, record::Record},
};

/// How long storing pages waits for their vectors; what takes longer goes on in the background.
const SETTLE: Duration = Duration::from_secs(5);

/// How often something is planned again because somebody else was faster.
const ATTEMPTS: u64 = 8;

impl WikiKnowledge {
    /// Stores pages.
    pub(super) async fn store(&self, records: Vec<Record>, clear: Clear) -> Result<IndexReport, Fault> {
        let scope = match clear {
            Clear::No => Scope::ids(records.iter().map(|record| record.id.clone())),
            Clear::Filed | Clear::All => Scope::All,
        };
        for attempt in 0..ATTEMPTS {
            pause(attempt).await;
            let found = self.engine.heads(&scope).await?;
            let changes = plan::changes(&records, None, clear, &found)?;
            let (put, remove) = (changes.put, changes.remove);
            let plan = Plan { scope: scope.clone(), found, folder: None, remove, put, file: None };
            if self.applied(plan).await? {
                return self.reported(changes.report, links(&records)).await;
            }
        }
        Err(outrun())
    }

    /// Stores the pages of a wiki folder and removes those that are no longer in it. Between the reading and the
    /// storing files and pages may have changed; what is stored is what the folder says in the end.
    pub(super) async fn store_folder(&self, folder: Folder, clear: Clear) -> Result<IndexReport, Fault> {
        let root = folder.root.clone();
        let folder = Arc::new(Mutex::new(folder));
        let with = |folder: &Arc<Mutex<Folder>>| Arc::clone(folder);
        let scope_of = |folder: &Mutex<Folder>| match clear {
            Clear::No => {
                let ids = lock(folder).records.iter().map(|record| record.id.clone()).collect();
                Scope::Of { ids, root: Some(root.clone()) }
            }
            Clear::Filed | Clear::All => Scope::All,
        };
        for attempt in 0..ATTEMPTS {
            pause(attempt).await;
            let scope = scope_of(&folder);
            // Before the files are looked at: an edit that comes after this is seen by its page.
            let found = self.engine.heads(&scope).await?;
            let looked = with(&folder);
            blocking(move || lock(&looked).refresh()).await?;
            if scope != scope_of(&folder) {
                continue;
            }
            let (changes, links) = {
                let folder = lock(&folder);
                let whole = WholeFolder { root: &folder.root, unreadable: &folder.unreadable };
                let changes = plan::changes(&folder.records, Some(whole), clear, &found)?;
                (changes, links(&folder.records))
            };
            let (put, remove) = (changes.put, changes.remove);
            let plan = Plan { scope, found, folder: Some(with(&folder)), remove, put, file: None };
            if self.applied(plan).await? {
                return self.reported(changes.report, links).await;
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

    async fn applied(&self, plan: Plan) -> Result<bool, Fault> {
        match self.engine.apply(Arc::new(plan)).await? {
            Applied::Done => Ok(true),
            Applied::Changed => Ok(false),
            Applied::Unknown(fault) => Err(fault),
        }
    }

    /// The report, with the links that point nowhere now, after everything stored has been given its time.
    async fn reported(&self, report: IndexReport, links: Vec<Unresolved>) -> Result<IndexReport, Fault> {
        let targets: BTreeSet<&String> = links.iter().map(|link| &link.target).collect();
        let targets = Scope::ids(targets.into_iter().cloned());
        let there: HashSet<String> =
            self.engine.heads(&targets).await?.iter().map(|page| ids::key(&page.id)).collect();
        let mut unresolved_links = links;
        unresolved_links.retain(|link| !there.contains(&ids::key(&link.target)));
        if let Some(embedding) = &self.embedding {
            embedding.settle(SETTLE).await;
        }
        Ok(IndexReport { unresolved_links, ..report })
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
        pause(attempt).await;
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

/// Who was faster needs a moment; two that wait the same moment would meet again.
async fn pause(attempt: u64) {
    if attempt > 0 {
        let moment = 10 * attempt + u64::from(std::process::id() % 10);
        tokio::time::sleep(Duration::from_millis(moment)).await;
    }
}

fn lock(folder: &Mutex<Folder>) -> std::sync::MutexGuard<'_, Folder> {
    folder.lock().unwrap_or_else(PoisonError::into_inner)
}
