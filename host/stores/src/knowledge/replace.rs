//! Storing a page in the place of an older one: it and its file change together or not at all.

use std::sync::Arc;

use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{IndexReport, UnresolvedLink},
};

use super::{
    WikiKnowledge,
    index::{blocking, unfinished},
    store::{ATTEMPTS, links, outrun},
};
use crate::{
    engine::{Applied, Engine, Head, Plan, Scope, Writes},
    wiki::{file::FileEdit, record::Record},
    worker::let_others_finish,
};

/// Storing a page in the place of another one, together with its file.
struct Replacing {
    before: Record,
    after: Record,
    file: Option<FileEdit>,
}

impl Plan for Replacing {
    fn scope(&self) -> Result<Scope, Fault> {
        Ok(Scope::ids([self.after.id.clone()]))
    }

    fn writes(&self, found: &[Head]) -> Result<Option<Writes>, Fault> {
        if found != [Head::of(&self.before)] {
            return Ok(None);
        }
        let put = if self.before == self.after { Vec::new() } else { vec![self.after.clone()] };
        Ok(Some(Writes { put, ..Writes::default() }))
    }

    fn finish(&self) -> Result<(), Fault> {
        self.file.as_ref().map_or(Ok(()), FileEdit::apply)
    }
}

impl Replacing {
    /// Ends the edit of the file.
    async fn end(self: &Arc<Self>, how: fn(&FileEdit)) -> Result<(), Fault> {
        if self.file.is_none() {
            return Ok(());
        }
        let replacing = Arc::clone(self);
        blocking(move || {
            replacing.file.iter().for_each(how);
            Ok(())
        })
        .await
    }
}

impl WikiKnowledge {
    /// Stores a page in the place of another and changes its file: both or neither.
    pub(super) async fn replace(
        &self,
        before: Record,
        after: Record,
        file: Option<FileEdit>,
    ) -> Result<Vec<UnresolvedLink>, Fault> {
        let links = links(std::slice::from_ref(&after));
        self.put_in_place_of(before, after, file).await?;
        Ok(self.reported(IndexReport::default(), links).await?.unresolved_links)
    }

    /// The same without a report.
    pub(super) async fn put_in_place_of(
        &self,
        before: Record,
        after: Record,
        file: Option<FileEdit>,
    ) -> Result<(), Fault> {
        // Done to its end even if nobody waits for it any more: a file is changed by it.
        let work = replace(Arc::clone(&self.engine), Arc::new(Replacing { before, after, file }));
        tokio::spawn(work).await.unwrap_or_else(|_| Err(unfinished()))
    }
}

async fn replace(engine: Arc<dyn Engine>, replacing: Arc<Replacing>) -> Result<(), Fault> {
    let Replacing { before, after, file } = &*replacing;
    let (id, has_file) = (&after.id, file.is_some());
    for attempt in 0..ATTEMPTS {
        let_others_finish(attempt).await;
        let done = engine.apply(Arc::clone(&replacing) as _).await;
        if let Ok(Applied::Done) = done {
            return replacing.end(FileEdit::settle).await;
        }
        let now = match done {
            // Lost with the answer on its way: the page itself says what became of it.
            Ok(Applied::Unknown(_)) => engine.record(id).await.ok(),
            _ => None,
        };
        if has_file && now.as_ref().is_some_and(|now| now.as_ref() == Some(after)) {
            return replacing.end(FileEdit::settle).await;
        }
        replacing.end(FileEdit::revert).await?;
        match done {
            Err(fault) => return Err(fault),
            Ok(Applied::Unknown(fault)) if has_file && now.is_none() => {
                return Err(undecided(fault, id));
            }
            Ok(Applied::Unknown(fault)) => return Err(fault),
            Ok(_) if engine.record(id).await?.as_ref() == Some(before) => {}
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
