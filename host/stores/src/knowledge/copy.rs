//! Moving a graph from one engine to another: every page with its origin, its links and its date, so that the
//! other engine goes on where this one was.

use gatehouse_core::{outcome::Fault, ports::knowledge::IndexReport};

use super::{WikiKnowledge, plan::ClearMode, store::PagesToStore};
use crate::{
    engine::{PageHead, PageScope},
    wiki::record::PageRecord,
};

impl WikiKnowledge {
    /// Copies every page to another graph. With `replace` what is there goes first. All or nothing: where it
    /// fails, the other graph is as it was. Gives what was added, and removed, there; `skipped` is empty. `step`
    /// hears how many pages have been read, of how many.
    ///
    /// # Errors
    /// `invalid-arguments` where the other one holds pages and is not to be replaced, or is this one;
    /// `unavailable`, naming the engine that failed.
    pub async fn copy_to(
        &self,
        other: &Self,
        replace: bool,
        step: &(dyn Fn(u64, u64) + Send + Sync),
    ) -> Result<IndexReport, Fault> {
        let (from, to) = (&self.engine, &other.engine);
        if from.name() == to.name() && from.refs() == to.refs() {
            return Err(Fault::invalid(format!("source and target are the same engine '{}'", to.name()))
                .hint("Name two different engines with --from and --to."));
        }
        let held = to.stats().await?.pages;
        if held > 0 && !replace {
            let name = to.name();
            return Err(Fault::invalid(format!("the engine '{name}' holds {held} pages already"))
                .hint("Nothing was changed. With --replace they are removed first."));
        }
        let clear = if replace { ClearMode::All } else { ClearMode::No };
        let records = self.records(step).await?;
        let pages = records.len();
        let report = other.store(PagesToStore::Given(records), clear).await?;
        if report.added as usize != pages {
            let name = to.name();
            let fault = Fault::internal(format!(
                "the engine '{name}' was written to meanwhile: {} of {pages} pages were new to it",
                report.added
            ));
            return Err(fault.hint("Copy again with --replace while nothing else writes there."));
        }
        Ok(report)
    }

    /// Every page, whole.
    async fn records(&self, step: &(dyn Fn(u64, u64) + Send + Sync)) -> Result<Vec<PageRecord>, Fault> {
        let heads = self.engine.heads(&PageScope::All).await?;
        let all = heads.len() as u64;
        let mut records = Vec::with_capacity(heads.len());
        step(0, all);
        for (done, PageHead { id, .. }) in (1..).zip(heads) {
            let Some(record) = self.engine.record(&id).await? else {
                return Err(Fault::unavailable(format!("page '{id}' was removed while the graph was read"))
                    .hint("Nothing was copied. Copy again while nothing else writes to the source."));
            };
            records.push(record);
            step(done, all);
        }
        Ok(records)
    }
}
