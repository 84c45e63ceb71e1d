//! Pages and their links without texts, for graph exports.

use std::collections::HashMap;

use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{PageLink, PageType},
};

use super::WikiKnowledge;
use crate::wiki::ids;

/// Number of records to read at a time, so that few texts are in memory.
const RECORD_BATCH: usize = 200;

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
