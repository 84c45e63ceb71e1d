//! Filters of a page search. The matching pages are computed once, because every statement of a search uses them.

use gatehouse_core::ports::knowledge::PageType;
use rusqlite::{Connection, types::Value};

use crate::sqlite::{error::StoreError, query::list, words::RowFilter};

/// Pages that match the filters. `None` if there are no filters.
pub(super) struct PageFilter(Option<FilteredPages>);

struct FilteredPages {
    /// Sorted page numbers.
    pages: Vec<i64>,
    list: Value,
}

impl PageFilter {
    pub(super) fn new(db: &Connection, types: &[PageType], domains: &[String]) -> Result<Self, StoreError> {
        let types = types.iter().map(|kind| kind.as_str().to_owned());
        let domains = domains.iter().cloned();
        let of_types = pages_with_any(db, "SELECT number FROM page WHERE type", types)?;
        let of_domains = pages_with_any(db, "SELECT page FROM domain WHERE key", domains)?;
        let pages = match (of_types, of_domains) {
            (None, None) => return Ok(Self(None)),
            (Some(pages), None) | (None, Some(pages)) => pages,
            (Some(mut pages), Some(others)) => {
                pages.retain(|page| others.binary_search(page).is_ok());
                pages
            }
        };
        let list = list(pages.iter().copied());
        Ok(Self(Some(FilteredPages { pages, list })))
    }

    /// Returns a condition on `column`, a page number, that starts with AND. Empty if there are no filters.
    ///
    /// The plus keeps SQLite from using the column in the plan. Without it, SQLite queries the full-text index once per
    /// matching page, and each query goes through all pages that contain the words, so the time grows quadratically.
    pub(super) fn condition(&self, column: &str) -> String {
        match self.0 {
            Some(_) => format!(" AND +{column} IN (SELECT value FROM json_each(?))"),
            None => String::new(),
        }
    }

    pub(super) fn rows(&self) -> RowFilter {
        RowFilter { condition: self.condition("rowid"), value: self.value() }
    }

    pub(super) fn value(&self) -> Option<Value> {
        self.0.as_ref().map(|passing| passing.list.clone())
    }

    pub(super) fn pages(&self) -> Option<&[i64]> {
        self.0.as_ref().map(|passing| &*passing.pages)
    }
}

/// Returns the sorted pages with any of these values. `None` if there are no values.
fn pages_with_any(
    db: &Connection,
    of: &str,
    values: impl ExactSizeIterator<Item = String>,
) -> Result<Option<Vec<i64>>, StoreError> {
    if values.len() == 0 {
        return Ok(None);
    }
    let mut statement = db.prepare_cached(&format!("{of} IN (SELECT value FROM json_each(?))"))?;
    let pages = statement.query_map([list(values)], |row| row.get(0))?;
    let mut pages: Vec<i64> = pages.collect::<Result<_, _>>()?;
    pages.sort_unstable();
    pages.dedup();
    Ok(Some(pages))
}
