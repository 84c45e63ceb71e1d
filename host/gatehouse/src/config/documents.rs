//! `[documents]`, validated. Further needs of an engine are checked when it is first used.

use std::path::{Path, PathBuf};

use super::{ConfigError, Env, raw};

#[derive(Debug, PartialEq)]
pub(crate) struct DocumentsConfig {
    pub(crate) engine: raw::DocumentsEngine,
    tables: raw::TableOwner,
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
    pub(super) fn checked(raw: &raw::RawDocuments, state: &Path, env: &Env) -> Self {
        let raw::RawDocuments { engine, tables } = *raw;
        Self { engine, tables, database: state.join("documents.db"), env: env.clone() }
    }

    /// Returns the settings of the engine. The error names the missing or invalid key or variable.
    pub(crate) fn chosen(&self) -> Result<DocumentsEngineConfig, ConfigError> {
        match (self.engine, self.tables) {
            (raw::DocumentsEngine::Sqlite, raw::TableOwner::Existing) => Err(config_error(
                "documents.tables",
                "\"existing\" requires the engine 'postgres'; Gatehouse owns the tables of an SQLite file",
            )),
            (raw::DocumentsEngine::Sqlite, _) => {
                Ok(DocumentsEngineConfig::Sqlite { database: self.database.clone() })
            }
            (raw::DocumentsEngine::Postgres, tables) => self.postgres(tables),
        }
    }

    #[cfg(feature = "postgres")]
    fn postgres(&self, tables: raw::TableOwner) -> Result<DocumentsEngineConfig, ConfigError> {
        let (variable, url) = self.env.documents_database_url().ok_or_else(|| {
            config_error(
                "DOCUMENTS_DATABASE_URL",
                "is not set, nor is DATABASE_URL, and the engine 'postgres' of the documents needs one: \
                 postgres://user:password@host:5432/database",
            )
        })?;
        let server = gatehouse_stores::PostgresConfig::parse(url);
        let server = server.map_err(|fault| config_error(variable, fault.in_one_line()))?;
        let tables = match tables {
            raw::TableOwner::Found => gatehouse_stores::DocumentTables::Detect,
            raw::TableOwner::Own => gatehouse_stores::DocumentTables::Own,
            raw::TableOwner::Existing => gatehouse_stores::DocumentTables::Existing,
        };
        Ok(DocumentsEngineConfig::Postgres { server: Box::new(server), tables })
    }

    #[cfg(not(feature = "postgres"))]
    fn postgres(&self, _: raw::TableOwner) -> Result<DocumentsEngineConfig, ConfigError> {
        Err(config_error(
            "documents.engine",
            "this build does not have the engine 'postgres'; build with --features postgres",
        ))
    }
}

fn config_error(place: &str, message: impl Into<String>) -> ConfigError {
    ConfigError { place: place.into(), message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, ConfigText};

    fn error(content: &str, variables: Env) -> String {
        let text = ConfigText { file: None, content: content.into() };
        let config = Config::parse(&text, &variables).unwrap_or_else(|error| panic!("{error}"));
        config.documents.chosen().err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_is_missing_is_named() {
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
