//! Detected layout of the existing tables: columns, text search and vectors.

use std::collections::HashMap;

use super::{
    super::super::{
        error::{StoreError, column},
        session::PostgresSession,
    },
    columns::{ColumnsByTable, TABLES, TableColumn},
    vectors::VectorColumn,
    words::WordSource,
};

#[derive(Debug)]
pub(super) struct ExistingLayout {
    pub(super) repositories: HashMap<String, TableColumn>,
    pub(super) words: WordSource,
    /// Vector column, or the reason that it cannot be used.
    pub(super) vectors: Result<VectorColumn, String>,
}

impl ExistingLayout {
    pub(super) async fn load(db: &PostgresSession) -> Result<Self, StoreError> {
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
pub(super) async fn has_only_existing(db: &PostgresSession) -> Result<bool, StoreError> {
    let ours = "SELECT to_regclass('gatehouse.repository') IS NOT NULL";
    if column(&db.one(ours, &[]).await?, 0)? {
        return Ok(false);
    }
    let theirs = "SELECT bool_and(to_regclass(name) IS NOT NULL) FROM unnest($1::text[]) AS name";
    column(&db.one(theirs, &[&TABLES.as_slice()]).await?, 0)
}
