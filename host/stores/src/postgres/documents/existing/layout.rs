//! What the tables are like: how words are looked for in them, and whether they hold vectors.

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

/// The tables.
#[derive(Debug)]
pub(super) struct ExistingLayout {
    pub(super) repositories: HashMap<String, TableColumn>,
    pub(super) words: WordSource,
    /// The column with vectors; why there is none otherwise.
    pub(super) vectors: Result<VectorColumn, String>,
}

impl ExistingLayout {
    /// Looks at the tables.
    pub(super) async fn load(db: &PostgresSession) -> Result<Self, StoreError> {
        let ColumnsByTable { repositories, files } = ColumnsByTable::load(db).await?;
        Ok(Self {
            words: WordSource::detect(db, files.get("content_tsvector")).await?,
            vectors: VectorColumn::detect(db, files.get("embedding")).await?,
            repositories,
        })
    }

    /// SQL for what a repository `r` has under a name: in a column of its own, or among its metadata.
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

/// Whether the database has both tables, and none of ours for documents.
pub(super) async fn has_only_existing(db: &PostgresSession) -> Result<bool, StoreError> {
    let ours = "SELECT to_regclass('gatehouse.repository') IS NOT NULL";
    if column(&db.one(ours, &[]).await?, 0)? {
        return Ok(false);
    }
    let theirs = "SELECT bool_and(to_regclass(name) IS NOT NULL) FROM unnest($1::text[]) AS name";
    column(&db.one(theirs, &[&TABLES.as_slice()]).await?, 0)
}
