//! The graph without its texts: which page is linked to which, for whoever draws it.

use std::collections::HashMap;

use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{PageLink, PageType},
};

use super::WikiKnowledge;
use crate::wiki::ids;

/// Records that are read at a time: what is held of texts is dropped before the next are read.
const RECORD_BATCH: usize = 200;

/// A page by what it is linked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedPage {
    /// `Type/Name`.
    pub id: String,
    /// Its kind.
    pub page_type: PageType,
    /// The links that it declares to pages that exist, each once, with their ids as they are stored.
    pub links: Vec<PageLink>,
    /// Those to pages that do not exist, each once, as declared.
    pub unresolved: Vec<PageLink>,
}

impl WikiKnowledge {
    /// Every page with the links that it declares, sorted by id.
    ///
    /// # Errors
    /// `unavailable`, naming the engine, its address and the cause.
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
