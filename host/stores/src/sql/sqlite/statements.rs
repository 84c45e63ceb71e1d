//! Cached statements in one call each.

use rusqlite::{Connection, OptionalExtension as _, Params, Row, types::FromSql};

use super::error::Result;

pub(crate) trait CachedStatements {
    fn connection(&self) -> &Connection;

    /// Executes a statement and returns the number of changed rows.
    fn run(&self, sql: &str, values: impl Params) -> Result<usize> {
        Ok(self.connection().prepare_cached(sql)?.execute(values)?)
    }

    /// Reads the first row. `None` if there are no rows.
    fn first<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        Ok(self.connection().prepare_cached(sql)?.query_row(values, read).optional()?)
    }

    /// Reads all rows.
    fn all<T, C: FromIterator<T>>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<C> {
        Ok(self.connection().prepare_cached(sql)?.query_map(values, read)?.collect::<Result<_, _>>()?)
    }

    /// Returns the first column of the first row. `None` if there are no rows.
    fn find<T: FromSql>(&self, sql: &str, values: impl Params) -> Result<Option<T>> {
        self.first(sql, values, |row| row.get(0))
    }

    /// Returns the first column of the first row, which must exist.
    fn value<T: FromSql>(&self, sql: &str, values: impl Params) -> Result<T> {
        Ok(self.find(sql, values)?.ok_or(rusqlite::Error::QueryReturnedNoRows)?)
    }

    /// Returns the first column of all rows.
    fn column<T: FromSql, C: FromIterator<T>>(&self, sql: &str, values: impl Params) -> Result<C> {
        self.all(sql, values, |row| row.get(0))
    }
}

impl CachedStatements for Connection {
    fn connection(&self) -> &Connection {
        self
    }
}
