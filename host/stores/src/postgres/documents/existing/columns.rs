//! Columns of the existing tables.

use std::collections::HashMap;

use super::super::super::{
    error::{StoreError, column},
    session::PostgresSession,
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

#[derive(Debug, Default)]
pub(super) struct ColumnsByTable {
    pub(super) repositories: HashMap<String, TableColumn>,
    pub(super) files: HashMap<String, TableColumn>,
}

impl ColumnsByTable {
    pub(super) async fn load(db: &PostgresSession) -> Result<Self, StoreError> {
        let sql = "SELECT t.name, a.attname::text, y.typname::text, a.atttypmod, pg_get_expr(d.adbin, d.adrelid)
             FROM unnest($1::text[]) AS t (name)
             JOIN pg_catalog.pg_attribute a ON a.attrelid = to_regclass(t.name) AND a.attnum > 0 AND NOT a.attisdropped
             JOIN pg_catalog.pg_type y ON y.oid = a.atttypid
             LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum";
        let mut columns = Self::default();
        for row in db.rows(sql, &[&TABLES.as_slice()]).await? {
            let table: String = column(&row, 0)?;
            let found = TableColumn {
                kind: column(&row, 2)?,
                modifier: column(&row, 3)?,
                expression: column(&row, 4)?,
            };
            let columns = if table == TABLES[0] { &mut columns.repositories } else { &mut columns.files };
            columns.insert(column(&row, 1)?, found);
        }
        columns.checked()
    }

    /// Rejects tables without the required columns.
    fn checked(self) -> Result<Self, StoreError> {
        let needed: [(_, &[&str], _); 2] = [
            (TABLES[0], &["name"], &self.repositories),
            (TABLES[1], &["repo_name", "filepath", "content"], &self.files),
        ];
        for (table, names, there) in needed {
            if there.is_empty() {
                return Err(StoreError::Unfit(format!("table '{table}' does not exist or is not visible")));
            }
            for name in names {
                match there.get(*name).map(|column| column.kind.as_str()) {
                    Some("text" | "varchar" | "bpchar" | "citext") => {}
                    Some(kind) => {
                        let why =
                            format!("column '{name}' of table '{table}' has the type {kind}; expected text");
                        return Err(StoreError::Unfit(why));
                    }
                    None => {
                        return Err(StoreError::Unfit(format!("table '{table}' has no column '{name}'")));
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
