//! Replaces a stored page and its file, both or neither.

use std::sync::Arc;

use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{IndexReport, UnresolvedLink},
};

use super::{
    WikiKnowledge,
    index::{aborted, run_blocking},
    store::{MAX_ATTEMPTS, links, too_many_conflicts},
};
use crate::{
    engine::{PageEngine, PageHead, PageScope, PageWrites, WriteOutcome, WritePlan},
    wiki::{file::FileEdit, record::PageRecord},
    worker::back_off,
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
        tokio::spawn(work).await.unwrap_or_else(|_| Err(aborted()))
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
