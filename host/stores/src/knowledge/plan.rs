//! Plans a write before anything is stored.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{IndexReport, TakenOverPages, UnresolvedLink},
};

use crate::{
    engine::PageHead,
    wiki::{
        ids,
        record::{PageOrigin, PageRecord, is_store_only},
    },
};

/// Pages to remove before pages are stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ClearMode {
    #[default]
    No,
    /// Every page. Fails if a page has content that is in no file.
    Filed,
    All,
}

/// The wiki directory that all pages come from. Other stored pages from it are removed.
#[derive(Clone, Copy)]
pub(super) struct WholeFolder<'a> {
    pub(super) root: &'a str,
    /// Files that exist but could not be read. Their stored pages stay.
    pub(super) unreadable: &'a [String],
}

pub(super) struct RecordChanges {
    pub(super) remove: Vec<String>,
    pub(super) put: Vec<PageRecord>,
    pub(super) report: IndexReport,
    /// All links of the records.
    pub(super) links: Vec<UnresolvedLink>,
}

/// Computes the changes of storing `records`, given the stored pages. Fails with `invalid-arguments` if pages would be
/// lost.
pub(super) fn changes(
    records: &[PageRecord],
    folder: Option<WholeFolder<'_>>,
    clear: ClearMode,
    heads: &[PageHead],
) -> Result<RecordChanges, Fault> {
    let mut report = IndexReport::default();
    let mut versions: HashMap<String, (&str, Option<&PageOrigin>)> = HashMap::new();
    match clear {
        ClearMode::No => {
            versions
                .extend(heads.iter().map(|page| (ids::key(&page.id), (&*page.hash, page.origin.as_ref()))));
        }
        ClearMode::Filed => check_no_pages_lost(heads, folder)?,
        ClearMode::All => {}
    }
    // Of two records with the same key, the later one wins.
    let mut put: BTreeMap<String, &PageRecord> = BTreeMap::new();
    let mut taken_over: BTreeMap<Option<&str>, BTreeSet<&str>> = BTreeMap::new();
    for record in records {
        report.links += u32::try_from(record.links.len()).unwrap_or(u32::MAX);
        let now = (&*record.hash, record.origin.as_ref());
        match versions.insert(record.key(), now) {
            Some(before) if before == now => {
                report.unchanged += 1;
                continue;
            }
            None => report.added += 1,
            Some((_, before)) => {
                report.updated += 1;
                let from = before.map(|origin| &*origin.root);
                if record.origin.as_ref().is_some_and(|now| from != Some(&now.root)) {
                    taken_over.entry(from).or_default().insert(&record.id);
                }
            }
        }
        put.insert(record.key(), record);
    }
    let named: HashSet<String> = records.iter().map(PageRecord::key).collect();
    let present: HashSet<&str> = records
        .iter()
        .filter_map(|record| Some(&*record.origin.as_ref()?.file))
        .chain(folder.iter().flat_map(|folder| folder.unreadable).map(String::as_str))
        .collect();
    let goes = |page: &&PageHead| match (&page.origin, folder) {
        _ if named.contains(&ids::key(&page.id)) => false,
        _ if clear != ClearMode::No => true,
        (Some(origin), Some(folder)) => origin.root == folder.root && !present.contains(&*origin.file),
        _ => false,
    };
    let remove: Vec<String> = heads.iter().filter(goes).map(|page| page.id.clone()).collect();
    let removed = if clear == ClearMode::No { remove.len() } else { heads.len() };
    report.removed = u32::try_from(removed).unwrap_or(u32::MAX);
    let owned = |(from, pages): (Option<&str>, BTreeSet<&str>)| TakenOverPages {
        from: from.map(str::to_owned),
        pages: pages.into_iter().map(str::to_owned).collect(),
    };
    report.taken_over = taken_over.into_iter().map(owned).collect();
    Ok(RecordChanges { remove, put: put.into_values().cloned().collect(), report, links: links(records) })
}

pub(super) fn links(records: &[PageRecord]) -> Vec<UnresolvedLink> {
    let links = records.iter().flat_map(|page| {
        page.links.iter().map(|link| UnresolvedLink {
            page: page.id.clone(),
            edge: link.edge.clone(),
            target: link.target.clone(),
        })
    });
    links.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Refuses if a stored page has content that is in no file. Ignores pages from the indexed directory, which indexing
/// overwrites anyway.
fn check_no_pages_lost(heads: &[PageHead], indexed: Option<WholeFolder<'_>>) -> Result<(), Fault> {
    let is_lost = |page: &&PageHead| match &page.origin {
        None => true,
        Some(origin) => is_store_only(&page.hash) && indexed.is_none_or(|folder| folder.root != origin.root),
    };
    let lost: Vec<&str> = heads.iter().filter(is_lost).map(|page| &*page.id).collect();
    if lost.is_empty() { Ok(()) } else { Err(pages_would_be_lost(&lost)) }
}

pub(super) fn pages_would_be_lost(pages: &[&str]) -> Fault {
    const MAX_SHOWN_PAGES: usize = 5;
    let (noun, brings) = if pages.len() == 1 { ("page", "it") } else { ("pages", "them") };
    let named = pages.iter().take(MAX_SHOWN_PAGES).map(|id| ids::shorten(id)).collect::<Vec<_>>().join(", ");
    let more = pages.len().saturating_sub(MAX_SHOWN_PAGES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let count = pages.len();
    Fault::invalid(format!(
        "clear_existing would permanently remove {count} {noun}, because no directory contains {brings}: \
        {named}{more}"
    ))
    .hint("Nothing was changed. Omit clear_existing to keep them, or pass confirm = \"all\" with it.")
}
