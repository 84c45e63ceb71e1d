//! `[documents]`, as written and validated. Further needs of an engine are checked when it is first used.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ConfigError, Env};

/// Document repositories.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Documents")]
pub(crate) struct RawDocuments {
    /// Storage engine.
    pub(crate) engine: DocumentsEngine,
    /// Owner of the tables (PostgreSQL): "own", or "existing" for tables of another program, which are only read.
    /// Default: the tables that exist, or new ones of its own.
    pub(crate) tables: TableOwner,
}

/// Document engines.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DocumentsEngine {
    /// A file in the data directory.
    #[default]
    Sqlite,
    /// A PostgreSQL server, set by DOCUMENTS_DATABASE_URL or else DATABASE_URL.
    Postgres,
}

/// Owner of the document tables.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TableOwner {
    /// The tables that exist.
    #[default]
    Found,
    /// Created and maintained by Gatehouse.
    Own,
    /// Tables of another program, `repositories` and `repository_files`: read, never changed.
    Existing,
}

#[derive(Debug, PartialEq)]
pub(crate) struct DocumentsConfig {
    pub(crate) engine: DocumentsEngine,
    tables: TableOwner,
    database: PathBuf,
    env: Env,
}

pub(crate) enum DocumentsEngineConfig {
    Sqlite {
        database: PathBuf,
    },
    #[cfg(feature = "postgres")]
    Postgres {
        server: Box<gatehouse_stores::PostgresConfig>,
        tables: gatehouse_stores::DocumentTables,
    },
}

impl DocumentsConfig {
    pub(super) fn validate(raw: &RawDocuments, state: &Path, env: &Env) -> Self {
        let RawDocuments { engine, tables } = *raw;
        Self { engine, tables, database: state.join("documents.db"), env: env.clone() }
    }

    /// Returns the settings of the engine. The error names the missing or invalid key or variable.
    pub(crate) fn chosen(&self) -> Result<DocumentsEngineConfig, ConfigError> {
        match (self.engine, self.tables) {
            (DocumentsEngine::Sqlite, TableOwner::Existing) => Err(ConfigError::new(
                "documents.tables",
                "\"existing\" requires the engine 'postgres'; Gatehouse owns the tables of an SQLite file",
            )),
            (DocumentsEngine::Sqlite, _) => {
                Ok(DocumentsEngineConfig::Sqlite { database: self.database.clone() })
            }
            #[cfg(feature = "postgres")]
            (DocumentsEngine::Postgres, tables) => self.postgres(tables),
            #[cfg(not(feature = "postgres"))]
            (DocumentsEngine::Postgres, _) => Err(ConfigError::not_built("documents.engine", "postgres")),
        }
    }

    #[cfg(feature = "postgres")]
    fn postgres(&self, tables: TableOwner) -> Result<DocumentsEngineConfig, ConfigError> {
        let missing = "nor is DATABASE_URL, and the engine 'postgres' of the documents needs one";
        let server = self.env.postgres(&["DOCUMENTS_DATABASE_URL", "DATABASE_URL"], missing)?;
        let tables = match tables {
            TableOwner::Found => gatehouse_stores::DocumentTables::Detect,
            TableOwner::Own => gatehouse_stores::DocumentTables::Own,
            TableOwner::Existing => gatehouse_stores::DocumentTables::Existing,
        };
        Ok(DocumentsEngineConfig::Postgres { server, tables })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::parse;

    fn error(content: &str, env: Env) -> String {
        let config = parse(content, &env).expect("valid");
        config.documents.chosen().err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn engine_errors_name_the_key() {
        assert_eq!(error("", Env::default()), "");
        let existing = "[documents]\ntables = \"existing\"";
        assert!(error(existing, Env::default()).starts_with("documents.tables: \"existing\" requires"));
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn a_database_of_its_own_wins() {
        let postgres = "[documents]\nengine = \"postgres\"\ntables = \"existing\"";
        assert!(error(postgres, Env::default()).starts_with("DOCUMENTS_DATABASE_URL: is not set"));
        let knowledge = ("DATABASE_URL", "postgres://u:s3cret@h/one");
        assert_eq!(error(postgres, Env::from_pairs([knowledge])), "");
        let wrong =
            error(postgres, Env::from_pairs([knowledge, ("DOCUMENTS_DATABASE_URL", "mysql://u:s3cret@h")]));
        assert!(wrong.starts_with("DOCUMENTS_DATABASE_URL") && !wrong.contains("s3cret"), "{wrong}");
    }
}
