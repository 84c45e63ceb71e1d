//! `[knowledge]`, validated. Further needs of an engine are checked when it is first used, because other gates work
//! without the graph.

use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
#[cfg(feature = "weaviate-neo4j")]
use gatehouse_core::http::Secret;
use gatehouse_stores::IndexFile;
use serde_json::Value;

use super::{ConfigError, Env, raw};

#[derive(Debug, PartialEq)]
pub(crate) struct KnowledgeConfig {
    pub(crate) engine: raw::KnowledgeEngine,
    /// Absolute paths of the wiki directories that tools may access.
    pub(crate) wiki_roots: Vec<PathBuf>,
    /// Index file, which overrides the engine.
    pub(crate) index_file: Option<PathBuf>,
    database: PathBuf,
    env: Env,
}

pub(crate) enum EngineConfig {
    Sqlite {
        database: PathBuf,
    },
    #[cfg(feature = "postgres")]
    Postgres(Box<gatehouse_stores::PostgresConfig>),
    #[cfg(feature = "weaviate-neo4j")]
    WeaviateNeo4j(Box<gatehouse_stores::WeaviateNeo4jConfig>),
}

/// An engine, and the wiki directory that its index file names.
type ChosenEngine = (EngineConfig, Option<PathBuf>);

impl KnowledgeConfig {
    /// Resolves paths relative to `base`, the directory of the file.
    pub(super) fn validate(raw: raw::Knowledge, base: &Path, state: &Path, env: &Env) -> Self {
        Self {
            engine: raw.engine,
            wiki_roots: raw.wiki_roots.into_iter().map(|root| base.join(root)).collect(),
            index_file: env.get("KG_INDEX_PATH").map(PathBuf::from),
            database: state.join("knowledge.db"),
            env: env.clone(),
        }
    }

    /// Returns the engine and the default wiki directory of the index file.
    ///
    /// Refuses an index file whose database is missing, because a new empty database would look like an empty wiki.
    pub(crate) fn chosen(&self) -> Result<ChosenEngine, ConfigError> {
        let Some(path) = &self.index_file else { return Ok((self.engine_config(self.engine)?, None)) };
        let (file, _) = read_index(path)?;
        match reference(&file, "database").filter(|database| !Path::new(database).exists()) {
            Some(database) => Err(bad_index(format!(
                "the index file '{0}' names the database '{database}', which does not exist. Restore it, or index \
                again: `gatehouse kg index {1} --save-to {0}`",
                path.display(),
                file.data_source,
            ))),
            None => self.engine_for_indexing(),
        }
    }

    /// Like [`Self::engine_for_indexing`], for a command that rewrites the index file. If the old file is unusable, returns
    /// the engine of `presets.toml` and the error.
    pub(crate) fn engine_for_rewrite(&self) -> Result<(ChosenEngine, Option<ConfigError>), ConfigError> {
        match self.engine_for_indexing() {
            Ok(chosen) => Ok((chosen, None)),
            Err(unusable) => Ok(((self.engine_config(self.engine)?, None), Some(unusable))),
        }
    }

    pub(crate) fn is_index_file(&self, path: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).ok();
        self.index_file.as_deref().is_some_and(|file| real(file) == real(path))
    }

    /// Returns the engine for indexing a named directory. The index file may be missing, because indexing creates it.
    pub(crate) fn engine_for_indexing(&self) -> Result<ChosenEngine, ConfigError> {
        let Some(path) = self.index_file.as_ref().filter(|path| path.exists()) else {
            return Ok((self.engine_config(self.engine)?, None));
        };
        let (file, engine) = read_index(path)?;
        Ok((self.engine_config(engine)?.with_index_file(&file)?, Some(file.wiki())))
    }

    pub(crate) fn engine_config(&self, engine: raw::KnowledgeEngine) -> Result<EngineConfig, ConfigError> {
        match engine {
            raw::KnowledgeEngine::Sqlite => Ok(EngineConfig::Sqlite { database: self.database.clone() }),
            #[cfg(feature = "postgres")]
            raw::KnowledgeEngine::Postgres => {
                let server = self.env.postgres(&["DATABASE_URL"], "and the engine 'postgres' needs it");
                server.map(EngineConfig::Postgres)
            }
            #[cfg(feature = "weaviate-neo4j")]
            raw::KnowledgeEngine::WeaviateNeo4j => self.weaviate_neo4j(),
            #[cfg(not(all(feature = "postgres", feature = "weaviate-neo4j")))]
            other => Err(ConfigError::not_built("knowledge.engine", other.as_str())),
        }
    }

    #[cfg(feature = "weaviate-neo4j")]
    fn weaviate_neo4j(&self) -> Result<EngineConfig, ConfigError> {
        let get = |name| self.env.get(name);
        let missing = "is not set, and the engine 'weaviate-neo4j' needs the password of Neo4j";
        Ok(EngineConfig::WeaviateNeo4j(Box::new(gatehouse_stores::WeaviateNeo4jConfig {
            weaviate_url: get("WEAVIATE_URL").unwrap_or("http://localhost:8081").into(),
            weaviate_api_key: get("WEAVIATE_API_KEY").map(Secret::new),
            neo4j_uri: get("NEO4J_URI").unwrap_or("bolt://localhost:7687").into(),
            neo4j_user: get("NEO4J_USER").unwrap_or("neo4j").into(),
            neo4j_password: get("NEO4J_PASSWORD")
                .map(Secret::new)
                .ok_or_else(|| ConfigError::new("NEO4J_PASSWORD", missing))?,
            neo4j_database: get("NEO4J_DATABASE").map(str::to_owned),
            timing: gatehouse_stores::RemoteTimeouts::default(),
        })))
    }
}

impl raw::KnowledgeEngine {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::WeaviateNeo4j => "weaviate-neo4j",
        }
    }
}

impl EngineConfig {
    /// Checks that the index file was made with this database, and applies its SQLite path.
    fn with_index_file(self, file: &IndexFile) -> Result<Self, ConfigError> {
        let (place, named, index_address) = match self {
            Self::Sqlite { database } => {
                let database = reference(file, "database").map_or(database, PathBuf::from);
                return Ok(Self::Sqlite { database });
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(ref server) => {
                ("DATABASE_URL", format!("database {}", server.address()), reference(file, "address"))
            }
            #[cfg(feature = "weaviate-neo4j")]
            Self::WeaviateNeo4j(ref servers) => {
                let address = servers
                    .neo4j_address()
                    .map_err(|fault| ConfigError::new("knowledge.engine", fault.in_one_line()))?;
                ("NEO4J_URI", format!("graph {address}"), reference(file, "neo4j_uri"))
            }
        };
        match index_address.filter(|recorded_address| {
            named.split_once(' ').is_some_and(|(_, address)| address != *recorded_address)
        }) {
            Some(index_address) => Err(ConfigError::new(
                place,
                format!(
                    "names the {named}, but the index file of KG_INDEX_PATH was made in {index_address}; correct one \
                     of them, or index again with --save-to"
                ),
            )),
            None => Ok(self),
        }
    }
}

pub(crate) fn read_index(path: &Path) -> Result<(IndexFile, raw::KnowledgeEngine), ConfigError> {
    let file = IndexFile::read(path).map_err(|fault| bad_index(fault.in_one_line()))?;
    let engine =
        raw::KnowledgeEngine::value_variants().iter().find(|variant| variant.as_str() == file.search_backend);
    match engine.copied() {
        Some(engine) => Ok((file, engine)),
        None => Err(bad_index(format!(
            "the index file requires the engine '{}', which this build does not have",
            file.search_backend
        ))),
    }
}

fn reference<'a>(file: &'a IndexFile, name: &str) -> Option<&'a str> {
    file.backend_refs.get(name).and_then(Value::as_str)
}

fn bad_index(message: String) -> ConfigError {
    ConfigError::new("KG_INDEX_PATH", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::parse;

    /// Returns the error of an engine under these variables, or an empty text if it is usable.
    fn error(engine: &str, variables: &[(&'static str, &str)]) -> String {
        let content = format!("[knowledge]\nengine = \"{engine}\"");
        let mut all = [("NEO4J_USER", "neo4j"); 3];
        all[..variables.len()].copy_from_slice(variables);
        let config = parse(&content, &Env::from_pairs(all)).expect("valid");
        config.knowledge.chosen().err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn postgres_needs_an_address_and_errors_hide_it() {
        assert!(error("postgres", &[]).contains("DATABASE_URL"));
        let wrong = error("postgres", &[("DATABASE_URL", "postgres://u:s3cret@h:x/d")]);
        assert!(wrong.contains("invalid DATABASE_URL") && !wrong.contains("s3cret"), "{wrong}");
        assert_eq!(error("postgres", &[("DATABASE_URL", "postgres://u:s3cret@h/d")]), "");
    }

    #[test]
    fn an_index_file_of_another_database_is_refused() {
        let dir = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let path = dir.path().join("wiki.index");
        let refs = [("address".to_owned(), Value::from("h:5432/one"))].into_iter().collect();
        let file = IndexFile::new("now".into(), "/wiki".into(), "postgres", refs, 1);
        assert!(file.write(&path).is_ok());
        let index = ("KG_INDEX_PATH", path.to_str().unwrap_or_default());
        assert_eq!(error("sqlite", &[index, ("DATABASE_URL", "postgres://u:s3cret@h/one")]), "");
        let other = error("sqlite", &[index, ("DATABASE_URL", "postgres://u:s3cret@h/two")]);
        assert!(other.contains("h:5432/two") && other.contains("made in h:5432/one"), "{other}");
        assert!(!other.contains("s3cret"), "{other}");
    }

    #[cfg(feature = "weaviate-neo4j")]
    #[test]
    fn weaviate_and_neo4j_need_a_password() {
        assert!(error("weaviate-neo4j", &[]).contains("NEO4J_PASSWORD: is not set"));
        assert_eq!(error("weaviate-neo4j", &[("NEO4J_PASSWORD", "s3cret")]), "");
    }
}
