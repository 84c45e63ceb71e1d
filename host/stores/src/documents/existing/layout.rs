//! Detected layout of the existing tables: columns, text search and vectors.

use std::collections::HashMap;

use super::{vectors::VectorColumn, words::WordSource};
use crate::{
    sql::postgres::{PostgresSession, column},
    sql::{Result, StoreError},
};

pub(super) const TABLES: [&str; 2] = ["repositories", "repository_files"];

#[derive(Debug, Clone)]
pub(super) struct TableColumn {
    /// Type name without modifiers.
    pub(super) kind: String,
    /// Type modifier. For vectors, the dimension.
    pub(super) modifier: i32,
    /// Expression of a default or generated column.
    pub(super) expression: Option<String>,
}

#[derive(Debug)]
pub(super) struct ExistingLayout {
    pub(super) repositories: HashMap<String, TableColumn>,
    pub(super) words: WordSource,
    /// Vector column, or the reason that it cannot be used.
    pub(super) vectors: Result<VectorColumn, String>,
}

impl ExistingLayout {
    pub(super) async fn load(db: &PostgresSession) -> Result<Self> {
        let ColumnsByTable { repositories, files } = ColumnsByTable::load(db).await?;
        Ok(Self {
            words: WordSource::detect(db, files.get("content_tsvector")).await?,
            vectors: VectorColumn::detect(db, files.get("embedding")).await?,
            repositories,
        })
    }

    /// Returns SQL for a field of a repository `r`, from its own column or from `metadata`.
    pub(super) fn repository_field(&self, name: &str) -> String {
        let mut places = Vec::new();
        if let Some(column) = self.repositories.get(name) {
            places.push(column.as_text(&format!("r.{name}")));
        }
        if matches!(self.repositories.get("metadata"), Some(TableColumn { kind, .. }) if kind == "jsonb" || kind == "json")
        {
            places.push(format!("r.metadata ->> '{name}'"));
        }
        if places.is_empty() { "NULL::text".into() } else { format!("coalesce({})", places.join(", ")) }
    }
}

/// Returns `true` if the database has both existing tables and no document tables of gatehouse.
pub(super) async fn has_only_existing(db: &PostgresSession) -> Result<bool> {
    let ours = "SELECT to_regclass('gatehouse.repository') IS NOT NULL";
    if db.value(ours, &[]).await? {
        return Ok(false);
    }
    let theirs = "SELECT bool_and(to_regclass(name) IS NOT NULL) FROM unnest($1::text[]) AS name";
    db.value(theirs, &[&TABLES.as_slice()]).await
}

#[derive(Debug, Default)]
struct ColumnsByTable {
    repositories: HashMap<String, TableColumn>,
    files: HashMap<String, TableColumn>,
}

impl ColumnsByTable {
    async fn load(db: &PostgresSession) -> Result<Self> {
        let sql = "SELECT t.name, a.attname::text, y.typname::text, a.atttypmod, pg_get_expr(d.adbin, d.adrelid)
             FROM unnest($1::text[]) AS t (name)
             JOIN pg_catalog.pg_attribute a ON a.attrelid = to_regclass(t.name) AND a.attnum > 0 AND NOT a.attisdropped
             JOIN pg_catalog.pg_type y ON y.oid = a.atttypid
             LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum";
        let mut columns = Self::default();
        for row in db.rows(sql, &[&TABLES.as_slice()]).await? {
            let table: String = column(&row, 0)?;
            let table_column = TableColumn {
                kind: column(&row, 2)?,
                modifier: column(&row, 3)?,
                expression: column(&row, 4)?,
            };
            let columns = if table == TABLES[0] { &mut columns.repositories } else { &mut columns.files };
            columns.insert(column(&row, 1)?, table_column);
        }
        columns.checked()
    }

    /// Rejects tables without the required columns.
    fn checked(self) -> Result<Self> {
        let needed: [(_, &[&str], _); 2] = [
            (TABLES[0], &["name"], &self.repositories),
            (TABLES[1], &["repo_name", "filepath", "content"], &self.files),
        ];
        for (table, names, there) in needed {
            if there.is_empty() {
                return Err(StoreError::UnsupportedTables(format!(
                    "table '{table}' does not exist or is not visible"
                )));
            }
            for name in names {
                match there.get(*name).map(|column| column.kind.as_str()) {
                    Some("text" | "varchar" | "bpchar" | "citext") => {}
                    Some(kind) => {
                        let reason =
                            format!("column '{name}' of table '{table}' has the type {kind}; expected text");
                        return Err(StoreError::UnsupportedTables(reason));
                    }
                    None => {
                        return Err(StoreError::UnsupportedTables(format!(
                            "table '{table}' has no column '{name}'"
                        )));
                    }
                }
            }
        }
        Ok(self)
    }
}

impl TableColumn {
    /// Returns SQL that converts the column to text. Timestamps become RFC 3339 in UTC.
    pub(super) fn as_text(&self, name: &str) -> String {
        const MOMENT: &str = r#"'YYYY-MM-DD"T"HH24:MI:SS"Z"'"#;
        match self.kind.as_str() {
            "timestamptz" => format!("to_char({name} AT TIME ZONE 'UTC', {MOMENT})"),
            "timestamp" | "date" => format!("to_char({name}, {MOMENT})"),
            _ => format!("{name}::text"),
        }
    }
}
