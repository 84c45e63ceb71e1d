//! What a search is narrowed to. Which pages pass is asked once, because every statement of a search wants to know.

use gatehouse_core::ports::knowledge::PageType;
use rusqlite::{Connection, types::Value};

use crate::sqlite::{error::StoreError, query::list, words::RowFilter};

/// The pages that pass the filters; none where there is no filter.
pub(super) struct PageFilter(Option<FilteredPages>);

struct FilteredPages {
    /// Numbers of pages, in order.
    pages: Vec<i64>,
    /// The same as one value of a statement.
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

    /// A condition with an AND before it, where there is any; `column` holds a page's number.
    ///
    /// The plus keeps the column from driving the plan. Without it SQLite takes the pages that pass one by one and asks
    /// the full-text index about each, and each time that index goes through all pages that hold the words: the time
    /// grows with the square of the pages. With it the words are looked up once, and each page that holds them is looked
    /// up in the list of those that pass.
    pub(super) fn condition(&self, column: &str) -> String {
        match self.0 {
            Some(_) => format!(" AND +{column} IN (SELECT value FROM json_each(?))"),
            None => String::new(),
        }
    }

    /// The same for the rows of an index of words.
    pub(super) fn rows(&self) -> RowFilter {
        RowFilter { condition: self.condition("rowid"), value: self.value() }
    }

    /// The value of the condition.
    pub(super) fn value(&self) -> Option<Value> {
        self.0.as_ref().map(|passing| passing.list.clone())
    }

    /// The pages that pass; none where all do.
    pub(super) fn pages(&self) -> Option<&[i64]> {
        self.0.as_ref().map(|passing| &*passing.pages)
    }
}

/// The pages with one of these values, in order and each once; none where no value is asked for.
fn pages_with_any(
    db: &Connection,
    of: &str,
    values: impl ExactSizeIterator<Item = String>,
) -> Result<Option<Vec<i64>>, StoreError> {
    if values.len() == 0 {
        return Ok(None);
    }
    // Lists travel as JSON: they have any length, and the statement stays the same.
    let mut statement = db.prepare_cached(&format!("{of} IN (SELECT value FROM json_each(?))"))?;
    let pages = statement.query_map([list(values)], |row| row.get(0))?;
    let mut pages: Vec<i64> = pages.collect::<Result<_, _>>()?;
    pages.sort_unstable();
    pages.dedup();
    Ok(Some(pages))
}
