//! Creates the knowledge graph for the configured engine.

use std::{path::PathBuf, sync::Arc};

use gatehouse_core::ports::Embedder;
use gatehouse_stores::{KnowledgeConfig, WikiKnowledge, WikiRoots};

use super::{SystemClock, lazy_port::LazyGraph};
use crate::config::{Config, ConfigError, EngineConfig};

/// Creates the knowledge graph of an engine, with an optional default wiki. `roots` are the directories it may access.
pub(crate) fn knowledge(
    (engine, wiki): (EngineConfig, Option<PathBuf>),
    roots: WikiRoots,
    embedder: &Arc<dyn Embedder>,
) -> Result<WikiKnowledge, ConfigError> {
    let (clock, embedder) = (Arc::new(SystemClock), Some(Arc::clone(embedder)));
    Ok(match engine {
        EngineConfig::Sqlite { database } => {
            WikiKnowledge::sqlite(KnowledgeConfig { database, roots, default_root: wiki }, clock, embedder)
        }
        #[cfg(feature = "postgres")]
        EngineConfig::Postgres(server) => WikiKnowledge::postgres(*server, roots, wiki, clock, embedder),
        #[cfg(feature = "weaviate-neo4j")]
        EngineConfig::WeaviateNeo4j(servers) => {
            WikiKnowledge::weaviate_neo4j(&servers, roots, wiki, clock, embedder).map_err(|fault| {
                ConfigError { place: "knowledge.engine".into(), message: fault.in_one_line() }
            })?
        }
    })
}

/// Creates the knowledge port, which opens the graph on first use.
pub(super) fn from_config(config: &Arc<Config>, embedder: &Arc<dyn Embedder>) -> LazyGraph {
    let (config, embedder) = (Arc::clone(config), Arc::clone(embedder));
    LazyGraph::new("the knowledge graph is", move || {
        let roots = WikiRoots::Only(config.knowledge.wiki_roots.clone());
        knowledge(config.knowledge.chosen()?, roots, &embedder)
    })
}

#[cfg(all(test, feature = "weaviate-neo4j"))]
mod tests {
    use super::*;
    use crate::config::{ConfigText, Env};

    #[test]
    fn addresses_of_weaviate_and_neo4j_hold_no_credentials() {
        let error = |variable: &'static str, value: &str| {
            let env = Env::from_pairs([("NEO4J_PASSWORD", "s3cret"), (variable, value)]);
            let content = "[knowledge]\nengine = \"weaviate-neo4j\"".into();
            let config = Config::parse(&ConfigText { file: None, content }, &env);
            let config = config.unwrap_or_else(|error| panic!("{error}"));
            let embedder: Arc<dyn Embedder> = Arc::new(gatehouse_text::LocalEmbedder);
            let made =
                config.knowledge.chosen().and_then(|chosen| knowledge(chosen, WikiRoots::Any, &embedder));
            made.err().map(|error| error.to_string()).unwrap_or_default()
        };
        let wrong = error("WEAVIATE_URL", "http://me:s3cret@h");
        assert!(wrong.contains("WEAVIATE_URL holds credentials") && !wrong.contains("s3cret"), "{wrong}");
        assert!(error("NEO4J_URI", "http://h").contains("NEO4J_URI 'http://h'"));
    }
}
