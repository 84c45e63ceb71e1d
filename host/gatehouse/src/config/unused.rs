//! Known environment variables that are set but not used by this configuration. The user may expect the store that they
//! name.

use gatehouse_models::config::{EmbeddingChoice, LlmChoice, ProviderName};

use super::{Config, DocumentsEngine, Env, KnowledgeEngine, raw::ArtifactsEngine, read_index};

const GRAPH: [&str; 6] =
    ["NEO4J_URI", "NEO4J_USER", "NEO4J_PASSWORD", "NEO4J_DATABASE", "WEAVIATE_URL", "WEAVIATE_API_KEY"];

/// Returns a message for each group of unused variables, with the line that would use them.
pub(crate) fn unused(config: &Config, env: &Env) -> Vec<String> {
    let graph = graph_engine(config);
    let documents = config.documents.engine;
    let artifacts = config.artifacts.engine;
    let mut found = Vec::new();
    let mut check = |variables: &[&str], is_used: bool, reason: &str| {
        let set: Vec<&str> = variables.iter().copied().filter(|name| env.is_set(name)).collect();
        if !set.is_empty() && !is_used {
            let are = if set.len() == 1 { "is" } else { "are" };
            found.push(format!("{} {are} set and not used: {reason}", set.join(", ")));
        }
    };
    check(
        &GRAPH,
        graph == KnowledgeEngine::WeaviateNeo4j,
        &format!(
            "the knowledge engine is '{}'. To use them, write engine = \"weaviate-neo4j\" under [knowledge] in presets.toml",
            engine_name(graph)
        ),
    );
    let documents_use_it = documents == DocumentsEngine::Postgres && !env.is_set("DOCUMENTS_DATABASE_URL");
    check(
        &["DATABASE_URL"],
        graph == KnowledgeEngine::Postgres || artifacts == ArtifactsEngine::Postgres || documents_use_it,
        "no engine is 'postgres'. To use it, write engine = \"postgres\" under [knowledge], [documents] or [artifacts] in \
         presets.toml",
    );
    check(
        &["DOCUMENTS_DATABASE_URL"],
        documents == DocumentsEngine::Postgres,
        "the documents engine is 'sqlite'. To use it, write engine = \"postgres\" under [documents] in presets.toml",
    );
    check(
        &["MCP_GATEWAY_CHROMA_URL"],
        cfg!(feature = "chroma"),
        "this build does not have ChromaDB; build with --features chroma",
    );
    let models = &config.models;
    for provider in ProviderName::ALL {
        let embeds = matches!(models.embedding, EmbeddingChoice::Provider(name, _) if name == provider);
        check(
            &[provider.variable()],
            embeds || models.llm != LlmChoice::Off,
            "llm is \"off\" under [models] in presets.toml, and embeddings use another provider",
        );
    }
    found
}

/// Returns the engine of the index file if one is named and readable, else the one of `presets.toml`.
fn graph_engine(config: &Config) -> KnowledgeEngine {
    let file = config.knowledge.index_file.as_deref();
    let indexed = file.and_then(|path| read_index(path).ok());
    indexed.map_or(config.knowledge.engine, |(_, engine)| engine)
}

fn engine_name(engine: KnowledgeEngine) -> &'static str {
    match engine {
        KnowledgeEngine::Sqlite => "sqlite",
        KnowledgeEngine::Postgres => "postgres",
        KnowledgeEngine::WeaviateNeo4j => "weaviate-neo4j",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigText;

    fn unused_lines<const N: usize>(content: &str, variables: [(&'static str, &str); N]) -> Vec<String> {
        let env = Env::from_pairs(variables);
        let config = Config::parse(&ConfigText { file: None, content: content.into() }, &env);
        unused(&config.unwrap_or_else(|error| panic!("{error}")), &env)
    }

    #[test]
    fn variables_of_engines_that_are_not_chosen_are_named() {
        let graph =
            [("NEO4J_URI", "bolt://h:1"), ("NEO4J_PASSWORD", "s3cret"), ("WEAVIATE_URL", "http://h:2")];
        let [line] = unused_lines("", graph).try_into().unwrap_or_else(|all| panic!("{all:?}"));
        assert!(line.starts_with("NEO4J_URI, NEO4J_PASSWORD, WEAVIATE_URL are set and not used"), "{line}");
        assert!(line.contains("'sqlite'") && !line.contains("s3cret"), "{line}");
        assert!(unused_lines("[knowledge]\nengine = \"weaviate-neo4j\"", graph).is_empty());
        let postgres = [("DATABASE_URL", "postgres://u@h/d")];
        assert!(unused_lines("", postgres)[0].starts_with("DATABASE_URL is set and not used"));
        for block in ["knowledge", "documents", "artifacts"] {
            assert!(
                unused_lines(&format!("[{block}]\nengine = \"postgres\""), postgres).is_empty(),
                "{block}"
            );
        }
        let both = [("DATABASE_URL", "postgres://u@h/d"), ("DOCUMENTS_DATABASE_URL", "postgres://u@h/e")];
        assert_eq!(
            unused_lines("[documents]\nengine = \"postgres\"", both).len(),
            1,
            "the documents have their own"
        );
        let key = [("OPENAI_API_KEY", "k")];
        assert!(unused_lines("", key).is_empty());
        assert_eq!(unused_lines("[models]\nllm = \"off\"", key).len(), 1);
        assert!(unused_lines("[models]\nllm = \"off\"\nembedding = \"openai\"", key).is_empty());
    }
}
