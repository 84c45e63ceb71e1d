//! What a search is narrowed to, as conditions of a statement.

use gatehouse_core::ports::knowledge::Filters;
use rusqlite::{Connection, types::Value};

use crate::{sqlite::error::StoreError, wiki::ids};

/// Filters, as conditions on a page's number.
pub(super) struct Narrowed {
    tests: Vec<&'static str>,
    /// The values of the conditions, in their order.
    pub(super) values: Vec<Value>,
}

impl Narrowed {
    pub(super) fn of(filters: &Filters) -> Self {
        let mut narrowed = Self { tests: Vec::new(), values: Vec::new() };
        // Lists travel as JSON: they have any length, and the statement stays the same.
        if !filters.page_types.is_empty() {
            narrowed.tests.push("SELECT number FROM page WHERE type IN (SELECT value FROM json_each(?))");
            narrowed.values.push(list(filters.page_types.iter().map(|kind| kind.as_str().to_owned())));
        }
        if !filters.domains.is_empty() {
            narrowed.tests.push("SELECT page FROM domain WHERE key IN (SELECT value FROM json_each(?))");
            narrowed.values.push(list(filters.domains.iter().map(|domain| ids::domain_key(domain))));
        }
        narrowed
    }

    /// Each condition with an AND before it; `column` holds a page's number.
    ///
    /// The plus keeps the column from driving the plan. Without it SQLite takes the pages that pass one by one and asks
    /// the full-text index about each, and each time that index goes through all pages that hold the words: the time
    /// grows with the square of the pages. With it the words are looked up once, and each page that holds them is looked
    /// up in the list of those that pass.
    pub(super) fn conditions(&self, column: &str) -> String {
        self.tests.iter().map(|test| format!(" AND +{column} IN ({test})")).collect()
    }

    /// The pages that pass; none where all do.
    pub(super) fn pages(&self, db: &Connection) -> Result<Option<Vec<i64>>, StoreError> {
        if self.tests.is_empty() {
            return Ok(None);
        }
        let mut statement = db.prepare_cached(&self.tests.join(" INTERSECT "))?;
        let pages = statement.query_map(rusqlite::params_from_iter(&self.values), |row| row.get(0))?;
        Ok(Some(pages.collect::<Result<_, _>>()?))
    }
}

/// A list as one value of a statement.
fn list(items: impl Iterator<Item = String>) -> Value {
    Value::from(serde_json::Value::from_iter(items).to_string())
}
