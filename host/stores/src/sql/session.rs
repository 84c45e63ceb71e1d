//! One unit of work on one connection of an engine.

use std::borrow::Cow;

#[cfg(feature = "postgres")]
use futures_util::{StreamExt as _, TryStreamExt as _, future::ready, stream};

use super::{
    error::{Result, StoreError},
    value::{FromColumn, SqlRow, SqlValue},
};
#[cfg(feature = "postgres")]
use crate::sql::postgres::PostgresSession;
use crate::sql::sqlite::SqliteSession;

/// Statements of [`Session::run_each`] that are sent without waiting. More would fill memory, and time out together.
#[cfg(feature = "postgres")]
const MAX_IN_FLIGHT: usize = 16;

/// A transaction on a snapshot. On SQLite, each statement is complete when it is first polled.
#[derive(Clone, Copy)]
pub(crate) enum Session<'c> {
    Sqlite(&'c SqliteSession),
    #[cfg(feature = "postgres")]
    Postgres(&'c PostgresSession),
}

impl Session<'_> {
    /// Executes a statement and returns the number of affected rows.
    pub(crate) async fn run(self, sql: &str, values: &[SqlValue<'_>]) -> Result<u64> {
        match self {
            Self::Sqlite(db) => db.run(&sqlite_sql(sql), values),
            #[cfg(feature = "postgres")]
            Self::Postgres(db) => db.run(&postgres_sql(sql), &parameters(values)).await,
        }
    }

    /// Runs a step that takes long. On SQLite it blocks the thread of the unit, which is not one of the runtime.
    pub(crate) async fn blocking<T: Send + 'static, E: Into<StoreError> + Send + 'static>(
        self,
        step: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<T> {
        match self {
            Self::Sqlite(_) => step().map_err(Into::into),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => crate::worker::run_blocking(move || Ok(step())).await?.map_err(Into::into),
        }
    }

    /// Executes a statement once for each list of values. On PostgreSQL, several are on their way at any time.
    pub(crate) async fn run_each(self, sql: &str, rows: &[Vec<SqlValue<'_>>]) -> Result<()> {
        match self {
            Self::Sqlite(db) => {
                let sql = sqlite_sql(sql);
                rows.iter().try_for_each(|values| db.run(&sql, values).map(drop))
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(db) => {
                let sql = postgres_sql(sql);
                let run = async |values: &Vec<SqlValue<'_>>| db.run(&sql, &parameters(values)).await;
                let runs = rows.iter().map(run).collect::<Vec<_>>();
                stream::iter(runs).buffered(MAX_IN_FLIGHT).try_for_each(|_| ready(Ok(()))).await
            }
        }
    }

    /// Executes a statement of PostgreSQL once for each list of values, as [`run_each`](Self::run_each) does, and returns the first
    /// column of each only row.
    #[cfg(feature = "postgres")]
    pub(crate) async fn value_each<T: FromColumn>(
        self,
        sql: &str,
        rows: &[Vec<SqlValue<'_>>],
    ) -> Result<Vec<T>> {
        let value = async |values: &Vec<SqlValue<'_>>| self.value(sql, values).await;
        let values = rows.iter().map(value).collect::<Vec<_>>();
        stream::iter(values).buffered(MAX_IN_FLIGHT).try_collect().await
    }

    /// Reads all rows.
    pub(crate) async fn rows<T, C: FromIterator<T>>(
        self,
        sql: &str,
        values: &[SqlValue<'_>],
        read: impl Fn(&SqlRow<'_>) -> Result<T>,
    ) -> Result<C> {
        match self {
            Self::Sqlite(db) => db.rows(&sqlite_sql(sql), values, |row| read(&SqlRow::Sqlite(row))),
            #[cfg(feature = "postgres")]
            Self::Postgres(db) => {
                let rows = db.rows(&postgres_sql(sql), &parameters(values)).await?;
                rows.iter().map(|row| read(&SqlRow::Postgres(row))).collect()
            }
        }
    }

    /// Reads the first row. `None` if there are no rows.
    pub(crate) async fn first<T>(
        self,
        sql: &str,
        values: &[SqlValue<'_>],
        read: impl Fn(&SqlRow<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        Ok(self.rows::<T, Vec<T>>(sql, values, read).await?.into_iter().next())
    }

    /// Returns the first column of all rows.
    pub(crate) async fn column<T: FromColumn, C: FromIterator<T>>(
        self,
        sql: &str,
        values: &[SqlValue<'_>],
    ) -> Result<C> {
        self.rows(sql, values, |row| row.get(0)).await
    }

    /// Returns the first column of the first row. `None` if there are no rows.
    pub(crate) async fn find<T: FromColumn>(self, sql: &str, values: &[SqlValue<'_>]) -> Result<Option<T>> {
        self.first(sql, values, |row| row.get(0)).await
    }

    /// Returns the first column of the first row, which must exist.
    pub(crate) async fn value<T: FromColumn>(self, sql: &str, values: &[SqlValue<'_>]) -> Result<T> {
        self.find(sql, values).await?.ok_or_else(|| StoreError::invalid("a row is missing"))
    }
}

#[cfg(feature = "postgres")]
fn parameters<'a>(values: &'a [SqlValue<'a>]) -> Vec<&'a (dyn tokio_postgres::types::ToSql + Sync)> {
    values.iter().map(|value| value as _).collect()
}

/// Replaces each `@name(argument)` of a statement.
fn expand<'s>(sql: &'s str, form: impl Fn(&str, &str) -> String) -> Cow<'s, str> {
    let mut parts = sql.split('@');
    let mut expanded = Cow::Borrowed(parts.next().unwrap_or_default());
    for part in parts {
        let (name, rest) = part.split_once('(').unwrap_or((part, ""));
        let (argument, rest) = rest.split_once(')').unwrap_or((rest, ""));
        let expanded = expanded.to_mut();
        expanded.push_str(&form(name, argument));
        expanded.push_str(rest);
    }
    expanded
}

fn sqlite_sql(sql: &str) -> Cow<'_, str> {
    expand(sql, |name, argument| match name {
        "lock" => String::new(),
        "max" => format!("max({argument})"),
        "sqlite" => argument.to_owned(),
        "json" | "numbers" | "texts" => format!("(SELECT value FROM json_each({argument}))"),
        _ => format!("@{name}({argument})"),
    })
}

#[cfg(feature = "postgres")]
fn postgres_sql(sql: &str) -> String {
    let sql = sql.replace('?', "$").replace("instr(", "strpos(");
    let sql = expand(&sql, |name, argument| match name {
        "lock" => argument.to_owned(),
        "max" => format!("greatest({argument})"),
        "sqlite" => String::new(),
        "json" => format!("(SELECT value FROM jsonb_array_elements({argument}::text::jsonb))"),
        "texts" => format!("(SELECT unnest({argument}::text[]) AS value)"),
        "numbers" => format!("(SELECT unnest({argument}::bigint[]) AS value)"),
        _ => format!("@{name}({argument})"),
    });
    sql.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_translated() {
        let sql = "SELECT a FROM t WHERE a IN @numbers(?1) AND b IN @texts(?2) AND instr(c, ?3) = 0 @lock(FOR UPDATE)";
        assert_eq!(
            sqlite_sql(sql),
            "SELECT a FROM t WHERE a IN (SELECT value FROM json_each(?1)) \
             AND b IN (SELECT value FROM json_each(?2)) AND instr(c, ?3) = 0 "
        );
        #[cfg(feature = "postgres")]
        assert_eq!(
            postgres_sql(sql),
            "SELECT a FROM t WHERE a IN (SELECT unnest($1::bigint[]) AS value) \
             AND b IN (SELECT unnest($2::text[]) AS value) AND strpos(c, $3) = 0 FOR UPDATE"
        );
    }
}
