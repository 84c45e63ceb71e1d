//! The knowledge graph: which engine keeps it, and where. One arm for each engine, here and nowhere else.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use gatehouse_core::ports::Embedder;
use gatehouse_stores::{IndexFile, KnowledgeConfig, WikiKnowledge, WikiRoots};
use serde_json::Value;

use super::{SystemClock, said};
use crate::config::{Config, ConfigError, Env, KnowledgeEngine};

/// What an index file says beside the engine.
#[derive(Default)]
struct Index {
    /// Its wiki.
    root: Option<PathBuf>,
    /// The database file of SQLite.
    database: Option<PathBuf>,
    /// The server that it was made on, without credentials.
    address: Option<String>,
}

/// The knowledge graph of a configuration, or of an index file where one is named. `roots` says which
/// folders it may touch.
pub(crate) fn knowledge(
    config: &Config,
    env: &Env,
    index_file: Option<&Path>,
    roots: WikiRoots,
) -> Result<WikiKnowledge, ConfigError> {
    let Some(path) = index_file else {
        return on(config.knowledge.engine, Index::default(), config, env, roots);
    };
    let bad = |message: String| ConfigError { place: "KG_INDEX_PATH".into(), message };
    let file = IndexFile::read(path).map_err(|fault| bad(said(&fault)))?;
    let reference = |name: &str| file.backend_refs.get(name).and_then(Value::as_str).map(str::to_owned);
    let engine = match file.search_backend.as_str() {
        "sqlite" => KnowledgeEngine::Sqlite,
        "postgres" => KnowledgeEngine::Postgres,
        other => {
            let message =
                format!("the index file wants the engine '{other}', which this build does not have");
            return Err(bad(message));
        }
    };
    let database = reference("database").map(PathBuf::from);
    let index = Index { root: Some(file.wiki()), database, address: reference("address") };
    on(engine, index, config, env, roots)
}

/// The knowledge graph on an engine that is named, whatever the configuration says.
pub(crate) fn knowledge_on(
    engine: KnowledgeEngine,
    config: &Config,
    env: &Env,
) -> Result<WikiKnowledge, ConfigError> {
    on(engine, Index::default(), config, env, WikiRoots::Any)
}

fn on(
    engine: KnowledgeEngine,
    index: Index,
    config: &Config,
    env: &Env,
    roots: WikiRoots,
) -> Result<WikiKnowledge, ConfigError> {
    match engine {
        KnowledgeEngine::Sqlite => {
            let database = index.database.unwrap_or_else(|| config.state.join("knowledge.db"));
            let place = KnowledgeConfig { database, roots, default_root: index.root };
            Ok(WikiKnowledge::sqlite(place, Arc::new(SystemClock), embedder()))
        }
        KnowledgeEngine::Postgres => postgres(index, env, roots),
    }
}

/// The model that gives pages and questions their vectors.
fn embedder() -> Option<Arc<dyn Embedder>> {
    Some(Arc::new(gatehouse_models::LocalEmbedder))
}

#[cfg(feature = "postgres")]
fn postgres(index: Index, env: &Env, roots: WikiRoots) -> Result<WikiKnowledge, ConfigError> {
    let bad = |message: String| ConfigError { place: "DATABASE_URL".into(), message };
    let url = env.database_url().ok_or_else(|| {
        bad("is not set, and the engine 'postgres' needs it: postgres://user:password@host:5432/database"
            .into())
    })?;
    let server = gatehouse_stores::PostgresConfig::parse(url).map_err(|fault| bad(said(&fault)))?;
    // An index of one database is never taken for that of another.
    if let Some(made) = index.address.filter(|address| address != server.address()) {
        return Err(bad(format!(
            "names the database {}, but the index file of KG_INDEX_PATH was made in {made}; \
             correct one of them, or index again with --save-to",
            server.address()
        )));
    }
    Ok(WikiKnowledge::postgres(server, roots, index.root, Arc::new(SystemClock), embedder()))
}

#[cfg(not(feature = "postgres"))]
fn postgres(_: Index, _: &Env, _: WikiRoots) -> Result<WikiKnowledge, ConfigError> {
    let message = "this build does not have the engine 'postgres'; build with --features postgres".into();
    Err(ConfigError { place: "knowledge.engine".into(), message })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str, env: &Env) -> Config {
        let text = crate::config::Text { file: None, content: text.into() };
        Config::parse(&text, env).unwrap_or_else(|error| panic!("{error}"))
    }

    fn error(env: &Env, index: Option<&Path>) -> String {
        let config = config("[knowledge]\nengine = \"postgres\"", env);
        knowledge(&config, env, index, WikiRoots::Any)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn postgres_needs_its_address_and_never_repeats_it() {
        assert!(error(&Env::of([]), None).contains("DATABASE_URL"));
        let wrong = error(&Env::of([("DATABASE_URL", "postgres://u:s3cret@h:x/d")]), None);
        assert!(
            wrong.contains("does not name a PostgreSQL database") && !wrong.contains("s3cret"),
            "{wrong}"
        );
        assert_eq!(error(&Env::of([("DATABASE_URL", "postgres://u:s3cret@h/d")]), None), "");
    }

    #[test]
    fn an_index_file_of_another_database_is_refused() {
        let dir = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let path = dir.path().join("wiki.index");
        let refs = [("address".to_owned(), Value::from("h:5432/one"))].into_iter().collect();
        let file = IndexFile::new("now".into(), "/wiki".into(), "postgres", refs, 1);
        assert!(file.write(&path).is_ok());
        assert_eq!(error(&Env::of([("DATABASE_URL", "postgres://u:s3cret@h/one")]), Some(&path)), "");
        let other = error(&Env::of([("DATABASE_URL", "postgres://u:s3cret@h/two")]), Some(&path));
        assert!(other.contains("h:5432/two") && other.contains("made in h:5432/one"), "{other}");
        assert!(!other.contains("s3cret"), "{other}");
    }
}
