//! What the tables are like: how words are looked for in them, and whether they hold vectors.

use std::collections::HashMap;

use super::{
    super::super::{
        error::{StoreError, column},
        session::Session,
    },
    columns::{Column, Columns, TABLES},
    vectors::VectorColumn,
    words::WordSource,
};

/// The tables.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) repositories: HashMap<String, Column>,
    pub(super) words: WordSource,
    /// The column with vectors; why there is none otherwise.
    pub(super) vectors: Result<VectorColumn, String>,
}

impl Layout {
    /// Looks at the tables.
    pub(super) async fn of(db: &Session) -> Result<Self, StoreError> {
        let Columns { repositories, files } = Columns::of(db).await?;
        Ok(Self {
            words: WordSource::of(db, files.get("content_tsvector")).await?,
            vectors: VectorColumn::of(db, files.get("embedding")).await?,
            repositories,
        })
    }

    /// SQL for what a repository `r` has under a name: in a column of its own, or among its metadata.
    pub(super) fn of_repository(&self, name: &str) -> String {
        let mut places = Vec::new();
        if let Some(column) = self.repositories.get(name) {
            places.push(column.as_text(&format!("r.{name}")));
        }
        if matches!(self.repositories.get("metadata"), Some(Column { kind, .. }) if kind == "jsonb" || kind == "json")
        {
            places.push(format!("r.metadata ->> '{name}'"));
        }
        if places.is_empty() { "NULL::text".into() } else { format!("coalesce({})", places.join(", ")) }
    }
}

/// Whether the database has both tables, and none of ours for documents.
pub(super) async fn stand_alone(db: &Session) -> Result<bool, StoreError> {
    let ours = "SELECT to_regclass('gatehouse.repository') IS NOT NULL";
    if column(&db.one(ours, &[]).await?, 0)? {
        return Ok(false);
    }
    let theirs = "SELECT bool_and(to_regclass(name) IS NOT NULL) FROM unnest($1::text[]) AS name";
    column(&db.one(theirs, &[&TABLES.as_slice()]).await?, 0)
}
