//! The knowledge graph: which engine keeps it, and where. One arm for each engine, here and nowhere else.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use gatehouse_core::ports::Embedder;
use gatehouse_stores::{IndexFile, KnowledgeConfig, WikiKnowledge, WikiRoots};
use serde_json::Value;

use super::{SystemClock, late::Graph, said};
use crate::config::{Config, ConfigError, Env, KnowledgeEngine};

/// What an engine is told: what an index file says, if there is one, and what holds without one.
struct Told {
    /// Folders that may be touched.
    roots: WikiRoots,
    /// The model that gives pages and questions their vectors.
    embedder: Arc<dyn Embedder>,
    /// The wiki of the index file.
    root: Option<PathBuf>,
    /// The database file of SQLite.
    database: Option<PathBuf>,
    /// The server that it was made on, without credentials.
    address: Option<String>,
    /// The same for the database of Neo4j.
    neo4j: Option<String>,
}

impl Told {
    /// Without an index file.
    fn new(roots: WikiRoots, embedder: &Arc<dyn Embedder>) -> Self {
        let embedder = Arc::clone(embedder);
        Self { roots, embedder, root: None, database: None, address: None, neo4j: None }
    }
}

/// The knowledge graph of a configuration, or of an index file where one is named. `roots` says which
/// folders it may touch.
pub(crate) fn knowledge(
    config: &Config,
    env: &Env,
    index_file: Option<&Path>,
    roots: WikiRoots,
    embedder: &Arc<dyn Embedder>,
) -> Result<WikiKnowledge, ConfigError> {
    let told = Told::new(roots, embedder);
    let Some(path) = index_file else {
        return on(config.knowledge.engine, told, config, env);
    };
    let (file, engine) = index_file_at(path)?;
    let reference = |name: &str| file.backend_refs.get(name).and_then(Value::as_str).map(str::to_owned);
    let database = reference("database").map(PathBuf::from);
    let (address, neo4j) = (reference("address"), reference("neo4j_uri"));
    on(engine, Told { root: Some(file.wiki()), database, address, neo4j, ..told }, config, env)
}

/// The knowledge graph of a host, which is made when a call first needs it.
pub(super) fn of_host(config: &Arc<Config>, env: &Env, embedder: &Arc<dyn Embedder>) -> Graph {
    let (config, env, embedder) = (Arc::clone(config), env.clone(), Arc::clone(embedder));
    Graph::new(Box::new(move || {
        let index_file = env.kg_index_path();
        still_there(index_file.as_deref())?;
        let roots = WikiRoots::Only(config.knowledge.wiki_roots.clone());
        knowledge(&config, &env, index_file.as_deref(), roots, &embedder)
    }))
}

/// The index file there, and the engine that it names.
pub(crate) fn index_file_at(path: &Path) -> Result<(IndexFile, KnowledgeEngine), ConfigError> {
    let file = IndexFile::read(path).map_err(|fault| bad_index(said(&fault)))?;
    let engine = match file.search_backend.as_str() {
        "sqlite" => KnowledgeEngine::Sqlite,
        "postgres" => KnowledgeEngine::Postgres,
        "weaviate-neo4j" => KnowledgeEngine::WeaviateNeo4j,
        other => {
            let message =
                format!("the index file wants the engine '{other}', which this build does not have");
            return Err(bad_index(message));
        }
    };
    Ok((file, engine))
}

fn bad_index(message: String) -> ConfigError {
    ConfigError { place: "KG_INDEX_PATH".into(), message }
}

/// Refuses an index file whose database is gone: an empty new one in its place would look like an empty wiki.
pub(crate) fn still_there(index_file: Option<&Path>) -> Result<(), ConfigError> {
    let Some(path) = index_file else { return Ok(()) };
    let (file, _) = index_file_at(path)?;
    let database = file.backend_refs.get("database").and_then(Value::as_str);
    match database.filter(|database| !Path::new(database).exists()) {
        Some(database) => Err(bad_index(format!(
            "the index file '{}' names the database '{database}', which does not exist (any more). Put it back, or index \
             again: `gatehouse kg index {} --save-to {}`",
            path.display(),
            file.data_source,
            path.display()
        ))),
        None => Ok(()),
    }
}

/// The knowledge graph on an engine that is named, whatever the configuration says.
pub(crate) fn knowledge_on(
    engine: KnowledgeEngine,
    config: &Config,
    env: &Env,
    embedder: &Arc<dyn Embedder>,
) -> Result<WikiKnowledge, ConfigError> {
    on(engine, Told::new(WikiRoots::Any, embedder), config, env)
}

fn on(engine: KnowledgeEngine, told: Told, config: &Config, env: &Env) -> Result<WikiKnowledge, ConfigError> {
    match engine {
        KnowledgeEngine::Sqlite => {
            let database = told.database.unwrap_or_else(|| config.state.join("knowledge.db"));
            let place = KnowledgeConfig { database, roots: told.roots, default_root: told.root };
            Ok(WikiKnowledge::sqlite(place, Arc::new(SystemClock), Some(told.embedder)))
        }
        KnowledgeEngine::Postgres => postgres(told, env),
        KnowledgeEngine::WeaviateNeo4j => weaviate_neo4j(told, env),
    }
}

#[cfg(feature = "postgres")]
fn postgres(told: Told, env: &Env) -> Result<WikiKnowledge, ConfigError> {
    let bad = |message: String| ConfigError { place: "DATABASE_URL".into(), message };
    let url = env.database_url().ok_or_else(|| {
        bad("is not set, and the engine 'postgres' needs it: postgres://user:password@host:5432/database"
            .into())
    })?;
    let server = gatehouse_stores::PostgresConfig::parse(url).map_err(|fault| bad(said(&fault)))?;
    // An index of one database is never taken for that of another.
    if let Some(made) = told.address.filter(|address| address != server.address()) {
        return Err(bad(format!(
            "names the database {}, but the index file of KG_INDEX_PATH was made in {made}; \
             correct one of them, or index again with --save-to",
            server.address()
        )));
    }
    Ok(WikiKnowledge::postgres(server, told.roots, told.root, Arc::new(SystemClock), Some(told.embedder)))
}

#[cfg(not(feature = "postgres"))]
fn postgres(_: Told, _: &Env) -> Result<WikiKnowledge, ConfigError> {
    let message = "this build does not have the engine 'postgres'; build with --features postgres".into();
    Err(ConfigError { place: "knowledge.engine".into(), message })
}

#[cfg(feature = "weaviate-neo4j")]
fn weaviate_neo4j(told: Told, env: &Env) -> Result<WikiKnowledge, ConfigError> {
    let bad = |place: &str, message: String| ConfigError { place: place.into(), message };
    let (weaviate_url, weaviate_api_key) = env.weaviate();
    let (user, password, database) = env.neo4j_account();
    let neo4j_password = password.ok_or_else(|| {
        bad(
            "NEO4J_PASSWORD",
            "is not set, and the engine 'weaviate-neo4j' needs the password of Neo4j".into(),
        )
    })?;
    let servers = gatehouse_stores::WeaviateNeo4jConfig {
        weaviate_url: weaviate_url.into(),
        weaviate_api_key,
        neo4j_uri: env.neo4j_uri().into(),
        neo4j_user: user.into(),
        neo4j_password,
        neo4j_database: database.map(str::to_owned),
        timing: gatehouse_stores::Timing::default(),
    };
    let named = servers.neo4j_address().map_err(|fault| bad("knowledge.engine", said(&fault)))?;
    // An index of one graph is never taken for that of another.
    if let Some(made) = told.neo4j.filter(|made| *made != named) {
        let message = format!(
            "names the graph {named}, but the index file of KG_INDEX_PATH was made in {made}; \
             correct one of them, or index again with --save-to"
        );
        return Err(bad("NEO4J_URI", message));
    }
    WikiKnowledge::weaviate_neo4j(&servers, told.roots, told.root, Arc::new(SystemClock), Some(told.embedder))
        .map_err(|fault| bad("knowledge.engine", said(&fault)))
}

#[cfg(not(feature = "weaviate-neo4j"))]
fn weaviate_neo4j(_: Told, _: &Env) -> Result<WikiKnowledge, ConfigError> {
    let message =
        "this build does not have the engine 'weaviate-neo4j'; build with --features weaviate-neo4j".into();
    Err(ConfigError { place: "knowledge.engine".into(), message })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str, env: &Env) -> Config {
        let text = crate::config::Text { file: None, content: text.into() };
        Config::parse(&text, env).unwrap_or_else(|error| panic!("{error}"))
    }

    fn embedder() -> Arc<dyn Embedder> {
        Arc::new(gatehouse_text::LocalEmbedder)
    }

    fn error(env: &Env, index: Option<&Path>) -> String {
        let config = config("[knowledge]\nengine = \"postgres\"", env);
        knowledge(&config, env, index, WikiRoots::Any, &embedder())
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

    #[cfg(feature = "weaviate-neo4j")]
    #[test]
    fn weaviate_and_neo4j_need_a_password_and_addresses_without_one() {
        let error = |variables: &[(&'static str, &str)]| {
            let mut all = [("NEO4J_USER", "neo4j"); 3];
            all[..variables.len()].copy_from_slice(variables);
            let env = Env::of(all);
            let config = config("[knowledge]\nengine = \"weaviate-neo4j\"", &env);
            let made = knowledge(&config, &env, None, WikiRoots::Any, &embedder());
            made.err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert!(error(&[]).contains("NEO4J_PASSWORD: is not set"));
        assert_eq!(error(&[("NEO4J_PASSWORD", "s3cret")]), "");
        let wrong = error(&[("NEO4J_PASSWORD", "s3cret"), ("WEAVIATE_URL", "http://me:s3cret@h")]);
        assert!(wrong.contains("WEAVIATE_URL holds credentials") && !wrong.contains("s3cret"), "{wrong}");
        assert!(
            error(&[("NEO4J_PASSWORD", "s3cret"), ("NEO4J_URI", "http://h")])
                .contains("NEO4J_URI 'http://h'")
        );
    }
}
