//! All environment variables that the program reads, in one list, plus those that `presets.toml` names for headers. No
//! other module reads the environment.

use std::{collections::BTreeMap, path::PathBuf};

use gatehouse_core::http::Secret;
use gatehouse_models::config::{EmbeddingChoice, LlmChoice, ProviderName};
#[cfg(feature = "postgres")]
use gatehouse_stores::PostgresConfig;
use gatehouse_wire::downstream::InheritedEnv;

use super::{
    Config, ConfigError, DocumentsEngine, KnowledgeEngine,
    environment_file::{self, FileVariables},
    inherited::inherited,
    raw::ArtifactsEngine,
    read_index,
};

/// Variables and their descriptions, as `gatehouse doctor` shows them.
pub(crate) const VARIABLES: [(&str, &str); 39] = [
    ("MCP_PRESET", "preset to serve, unless --preset is set"),
    ("MCP_ENABLED_GATES", "gates to serve with their defaults (comma-separated), unless a preset is set"),
    ("MCP_GATEWAY_INTELLIGENCE_ENABLED", "false disables filters of replies; true by default"),
    (
        "MCP_GATEWAY_SUMMARY_THRESHOLD_BYTES",
        "size in bytes above which replies are shortened, unless a preset sets it",
    ),
    ("MCP_GATEWAY_INTELLIGENCE_TTL_HOURS", "hours to store large results, 3 by default"),
    ("MCP_GATEWAY_CHROMA_URL", "URL of ChromaDB, to store the vectors of artifacts there"),
    ("KG_INDEX_PATH", "an index file of `gatehouse kg index --save-to`; selects engine and wiki"),
    ("DATABASE_URL", "postgres://user:password@host/database, for the engine 'postgres'"),
    ("DOCUMENTS_DATABASE_URL", "the same for documents, if they are in another database"),
    ("NEO4J_URI", "URL of Neo4j, for the engine 'weaviate-neo4j'"),
    ("NEO4J_USER", "Neo4j account"),
    ("NEO4J_PASSWORD", "Neo4j password"),
    ("NEO4J_DATABASE", "Neo4j database, if not the account's default"),
    ("WEAVIATE_URL", "URL of Weaviate, for the same engine"),
    ("WEAVIATE_API_KEY", "Weaviate API key, if required"),
    (
        "GATEHOUSE_CONFIG",
        "configuration file, unless --config is set; built-in means the shipped one, user that of the user",
    ),
    ("GATEHOUSE_STATE", "data directory"),
    ("GATEHOUSE_TOKEN", "bearer token for HTTP; required beyond loopback"),
    (
        "GATEHOUSE_SEAL_KEYS",
        "keys that seal session IDs, in Base64, separated by commas; by default a file of the data directory",
    ),
    ("GATEHOUSE_LOG", "log filter for standard error, for example debug or gate=info"),
    (
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "URL of a collector for traces, without the path; this and the next eight are read from the process only",
    ),
    ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "the same with the path, which comes first"),
    ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf, if set"),
    ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "the same"),
    ("OTEL_TRACES_EXPORTER", "otlp by default; none sends no traces"),
    ("OTEL_TRACES_SAMPLER", "which traces are sent; parentbased_always_on by default"),
    ("OTEL_TRACES_SAMPLER_ARG", "share of traces for parentbased_traceidratio, for example 0.1"),
    ("OTEL_SERVICE_NAME", "name of the host in traces; gatehouse by default"),
    ("OTEL_SDK_DISABLED", "true sends no traces"),
    ("NO_COLOR", "any value disables colors in terminals"),
    ("OPENAI_API_KEY", "key for OpenAI, or for a server that speaks its API"),
    ("OPENAI_BASE_URL", "URL of that API, if not OpenAI's"),
    ("GEMINI_API_KEY", "key for Gemini"),
    ("GEMINI_BASE_URL", "URL of that API, if not Google's"),
    ("ANTHROPIC_API_KEY", "key for Anthropic"),
    ("ANTHROPIC_BASE_URL", "URL of that API, if not Anthropic's"),
    ("OLLAMA_HOST", "address of Ollama, for example 127.0.0.1:11434"),
    ("GATEHOUSE_REGISTRY_USER", "account for the registry that a command uses"),
    ("GATEHOUSE_REGISTRY_PASSWORD", "password or token for that account"),
];

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Env {
    /// Listed variables that are set.
    listed: BTreeMap<&'static str, String>,
    /// Variables of the user's file. No program inherits them; a definition has to name them.
    file: FileVariables,
}

impl Env {
    /// Reads the listed variables, and the [`environment_file`]. Empty ones count as unset. A variable of the process
    /// comes before that of the file.
    pub(crate) fn read() -> Result<Self, ConfigError> {
        let file = environment_file::read()?;
        let value = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
        let set = |name: &'static str| {
            // The exporter of traces reads its variables itself.
            let of_file =
                || file.get(name).cloned().filter(|value| !value.is_empty() && !name.starts_with("OTEL_"));
            Some((name, value(name).or_else(of_file)?))
        };
        Ok(Self { listed: VARIABLES.into_iter().filter_map(|(name, _)| set(name)).collect(), file })
    }

    /// Returns the variables that servers started as programs inherit, and those withheld from them.
    pub(crate) fn inherited() -> InheritedEnv {
        inherited(std::env::vars_os())
    }

    pub(crate) fn secret(&self, name: &str) -> Option<Secret> {
        let process_value = self.listed.get(name).cloned().or_else(|| std::env::var(name).ok());
        let value = process_value.or_else(|| self.file.get(name).cloned())?;
        Some(Secret::new(value)).filter(|secret| !secret.reveal().is_empty())
    }

    /// Returns the environment with more variables of the file.
    pub(crate) fn with_variables(&self, variables: &FileVariables) -> Self {
        let mut env = self.clone();
        env.file.extend(variables.clone());
        env
    }

    #[cfg(test)]
    pub(crate) fn from_pairs<const N: usize>(variables: [(&'static str, &str); N]) -> Self {
        Self {
            listed: variables.map(|(name, value)| (name, value.to_owned())).into(),
            file: FileVariables::new(),
        }
    }

    pub(crate) fn program_folders() -> Vec<PathBuf> {
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
    }

    /// Returns the value of a listed variable. `None` if it is not set or empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        debug_assert!(VARIABLES.iter().any(|(variable, _)| *variable == name), "{name} is not in the list");
        self.listed.get(name).map(String::as_str)
    }

    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.listed.contains_key(name)
    }

    /// Returns true if a variable chooses the preset for clients that name none.
    pub(crate) fn chooses_preset(&self) -> bool {
        self.is_set("MCP_PRESET") || self.is_set("MCP_ENABLED_GATES")
    }

    pub(crate) fn enabled_gates(&self) -> Option<Vec<String>> {
        let list = self.get("MCP_ENABLED_GATES")?;
        Some(list.split(',').map(|gate| gate.trim().to_owned()).filter(|gate| !gate.is_empty()).collect())
    }

    /// Returns the server of the first of these variables that is set. `missing` completes the error if none is. Errors
    /// contain no value, because values have passwords.
    #[cfg(feature = "postgres")]
    pub(crate) fn postgres(
        &self,
        variables: &[&str],
        missing: &str,
    ) -> Result<Box<PostgresConfig>, ConfigError> {
        let set = variables.iter().find_map(|name| Some((name, self.get(name)?)));
        let (variable, url) = set.ok_or_else(|| {
            let reason = format!("is not set, {missing}: postgres://user:password@host:5432/database");
            ConfigError::new(variables.first().unwrap_or(&""), reason)
        })?;
        let server = PostgresConfig::parse(url);
        server.map(Box::new).map_err(|fault| ConfigError::new(variable, fault.in_one_line()))
    }

    /// Returns the variables that locate data, as absolute paths, for a host started in another directory.
    pub(crate) fn data_paths(&self) -> BTreeMap<&'static str, PathBuf> {
        let set = |name| Some((name, std::path::absolute(self.listed.get(name)?).ok()?));
        ["GATEHOUSE_STATE", "KG_INDEX_PATH"].into_iter().filter_map(set).collect()
    }

    /// Trims the value of a key variable. Keys read from files end in a line break.
    pub(crate) fn trimmed_secret(value: &str) -> Option<Secret> {
        let key = value.trim();
        (!key.is_empty()).then(|| Secret::new(key))
    }

    /// Returns user and password for a registry, or `None` if neither is set. Fails if only one is set.
    pub(crate) fn registry(&self) -> Result<Option<(&str, &str)>, ConfigError> {
        let missing = |place: &str, other: &str| {
            ConfigError::new(place, format!("is not set, but {other} is; set both or neither"))
        };
        match (self.get("GATEHOUSE_REGISTRY_USER"), self.get("GATEHOUSE_REGISTRY_PASSWORD")) {
            (Some(user), Some(password)) => Ok(Some((user, password))),
            (None, None) => Ok(None),
            (Some(_), None) => Err(missing("GATEHOUSE_REGISTRY_PASSWORD", "GATEHOUSE_REGISTRY_USER")),
            (None, Some(_)) => Err(missing("GATEHOUSE_REGISTRY_USER", "GATEHOUSE_REGISTRY_PASSWORD")),
        }
    }

    /// Whether there is a graphical session.
    pub(crate) fn has_desktop() -> bool {
        cfg!(target_os = "macos")
            || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some())
    }

    pub(crate) fn colors(&self) -> bool {
        !self.is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb")
    }
}

const GRAPH: [&str; 6] =
    ["NEO4J_URI", "NEO4J_USER", "NEO4J_PASSWORD", "NEO4J_DATABASE", "WEAVIATE_URL", "WEAVIATE_API_KEY"];

/// Returns a message for each group of variables that are set but not used by this configuration, with the line that
/// would use them. The user may expect the store that they name.
pub(crate) fn unused(config: &Config, env: &Env) -> Vec<String> {
    // The engine of the index file, if one is named and readable.
    let index = config.knowledge.index_file.as_deref().and_then(|path| read_index(path).ok());
    let graph = index.map_or(config.knowledge.engine, |(_, engine)| engine);
    let documents = config.documents.engine;
    let artifacts = config.artifacts.engine;
    let mut warnings = Vec::new();
    let mut check = |variables: &[&str], is_used: bool, reason: &str| {
        let set: Vec<&str> = variables.iter().copied().filter(|name| env.is_set(name)).collect();
        if !set.is_empty() && !is_used {
            let are = if set.len() == 1 { "is" } else { "are" };
            warnings.push(format!("{} {are} set and not used: {reason}", set.join(", ")));
        }
    };
    check(
        &GRAPH,
        graph == KnowledgeEngine::WeaviateNeo4j,
        &format!(
            "the knowledge engine is '{}'. To use them, write engine = \"weaviate-neo4j\" under [knowledge] in presets.toml",
            graph.as_str()
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
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::parse;

    fn unused_lines<const N: usize>(content: &str, variables: [(&'static str, &str); N]) -> Vec<String> {
        let env = Env::from_pairs(variables);
        unused(&parse(content, &env).expect("valid"), &env)
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
