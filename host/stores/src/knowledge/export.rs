//! Copies of a graph in another engine, and its links for graph exports.

use std::collections::HashMap;

use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{IndexReport, PageLink, PageType},
};

use super::{WikiKnowledge, plan::ClearMode, store::PagesToStore};
use crate::{
    engine::{PageHead, PageScope},
    wiki::{ids, record::PageRecord},
};

/// Number of records to read at a time, so that few texts are in memory.
const RECORD_BATCH: usize = 200;

/// A page and its links without texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedPage {
    pub id: String,
    pub page_type: PageType,
    /// Links to existing pages, sorted and without duplicates, with stored ids.
    pub links: Vec<PageLink>,
    /// Links to missing pages, sorted and without duplicates, as declared.
    pub unresolved: Vec<PageLink>,
}

impl WikiKnowledge {
    /// Copies every page to another graph, all or nothing, and calls `step` with the number of pages read and the
    /// total. With `replace`, removes the pages there first.
    ///
    /// # Errors
    /// `invalid-arguments` if the other graph contains pages and `replace` is false, or if both are the same.
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
            return Err(Fault::invalid(format!("engine '{name}' already contains {held} pages"))
                .hint("Nothing was changed. Pass --replace to remove them first."));
        }
        let clear = if replace { ClearMode::All } else { ClearMode::No };
        let records = self.records(step).await?;
        let pages = records.len();
        let report = other.store(PagesToStore::Given(records), clear).await?;
        if report.added as usize != pages {
            let name = to.name();
            let fault = Fault::internal(format!(
                "another process wrote to engine '{name}' during the copy: only {} of {pages} pages were added",
                report.added
            ));
            return Err(fault.hint("Copy again with --replace while no other process writes to it."));
        }
        Ok(report)
    }

    async fn records(&self, step: &(dyn Fn(u64, u64) + Send + Sync)) -> Result<Vec<PageRecord>, Fault> {
        let heads = self.engine.heads(&PageScope::All).await?;
        let total = heads.len() as u64;
        let mut records = Vec::with_capacity(heads.len());
        step(0, total);
        for (done, PageHead { id, .. }) in (1..).zip(heads) {
            let Some(record) = self.engine.record(&id).await? else {
                return Err(Fault::unavailable(format!("page '{id}' was removed during the copy"))
                    .hint("Nothing was copied. Copy again while no other process writes to the source."));
            };
            records.push(record);
            step(done, total);
        }
        Ok(records)
    }

    /// Returns every page with its declared links, sorted by id.
    pub async fn linked(&self) -> Result<Vec<LinkedPage>, Fault> {
        let ids = self.ids().await?;
        let stored: HashMap<String, &String> = ids.iter().map(|id| (ids::key(id), id)).collect();
        let mut pages = Vec::with_capacity(ids.len());
        for some in ids.chunks(RECORD_BATCH) {
            for record in self.engine.records(some).await? {
                let (mut links, mut unresolved) = (Vec::new(), Vec::new());
                for PageLink { edge, target } in record.links {
                    match stored.get(&ids::key(&target)) {
                        Some(id) => links.push(PageLink { edge, target: (*id).clone() }),
                        None => unresolved.push(PageLink { edge, target }),
                    }
                }
                for list in [&mut links, &mut unresolved] {
                    list.sort();
                    list.dedup();
                }
                pages.push(LinkedPage { id: record.id, page_type: record.page_type, links, unresolved });
            }
        }
        pages.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(pages)
    }
}
