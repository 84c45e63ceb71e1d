//! Every environment variable this program reads, in one list; beside them those that presets.toml names
//! for the headers of gates' requests. Nothing else reads the environment.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use gatehouse_core::http::Secret;
use gatehouse_models::config::ProviderName;
use gatehouse_wire::downstream::InheritedEnv;

use super::{ConfigError, inherited::inherited};

/// All of them, each with what it is for, as `gatehouse doctor` shows them.
pub(crate) const VARIABLES: [(&str, &str); 29] = [
    ("MCP_PRESET", "the preset to serve, unless --preset says"),
    ("MCP_ENABLED_GATES", "gates to serve with their defaults (comma list), unless a preset is named"),
    ("MCP_GATEWAY_INTELLIGENCE_ENABLED", "false leaves every reply as it is; true is the default"),
    ("MCP_GATEWAY_SUMMARY_THRESHOLD_BYTES", "size from which on replies are shortened, unless a preset says"),
    ("MCP_GATEWAY_INTELLIGENCE_TTL_HOURS", "how long large results are kept, 3 by default"),
    ("MCP_GATEWAY_CHROMA_URL", "where ChromaDB is, if it is to keep the vectors of artifacts"),
    ("KG_INDEX_PATH", "an index file of `gatehouse kg index --save-to`; selects engine and wiki"),
    ("DATABASE_URL", "postgres://user:password@host/database, for the engine 'postgres'"),
    ("DOCUMENTS_DATABASE_URL", "the same for documents, where they are in another database"),
    ("NEO4J_URI", "where Neo4j is, for the engine 'weaviate-neo4j'"),
    ("NEO4J_USER", "the account there"),
    ("NEO4J_PASSWORD", "its password"),
    ("NEO4J_DATABASE", "the database there, if not the account's own"),
    ("WEAVIATE_URL", "where Weaviate is, for the same engine"),
    ("WEAVIATE_API_KEY", "its key, where it wants one"),
    ("GATEHOUSE_CONFIG", "the configuration, unless --config says; built-in is the shipped one"),
    ("GATEHOUSE_STATE", "the data folder"),
    ("GATEHOUSE_TOKEN", "bearer token for HTTP; required beyond loopback"),
    ("GATEHOUSE_LOG", "log filter for standard error, for example debug or gate=info"),
    ("NO_COLOR", "anything: terminals are shown no colours"),
    ("OPENAI_API_KEY", "key for OpenAI, or for a server that speaks its API"),
    ("OPENAI_BASE_URL", "where that API is, if not at OpenAI"),
    ("GEMINI_API_KEY", "key for Gemini"),
    ("GEMINI_BASE_URL", "where that API is, if not at Google"),
    ("ANTHROPIC_API_KEY", "key for Anthropic"),
    ("ANTHROPIC_BASE_URL", "where that API is, if not at Anthropic"),
    ("OLLAMA_HOST", "where Ollama is, for example 127.0.0.1:11434"),
    ("GATEHOUSE_REGISTRY_USER", "account at the registry that a command names"),
    ("GATEHOUSE_REGISTRY_PASSWORD", "the password or token that goes with it"),
];

/// The environment, read once.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Env(BTreeMap<&'static str, String>);

impl Env {
    /// Reads the variables of the list. An empty one counts as not set.
    pub(crate) fn read() -> Self {
        let set = |name| Some((name, std::env::var(name).ok().filter(|value| !value.is_empty())?));
        Self(VARIABLES.into_iter().filter_map(|(name, _)| set(name)).collect())
    }

    /// The variables that servers started as programs get, and those that are withheld from them.
    pub(crate) fn inherited() -> InheritedEnv {
        inherited(std::env::vars_os())
    }

    /// The value of a variable that presets.toml itself names, for a header.
    pub(crate) fn secret(&self, name: &str) -> Option<Secret> {
        let known = self.0.get(name).cloned();
        let value = known.or_else(|| std::env::var(name).ok())?;
        Some(Secret::new(value)).filter(|secret| !secret.reveal().is_empty())
    }

    #[cfg(test)]
    pub(crate) fn from_pairs<const N: usize>(variables: [(&'static str, &str); N]) -> Self {
        Self(variables.map(|(name, value)| (name, value.to_owned())).into())
    }

    /// The folders in which the system looks for programs.
    pub(crate) fn program_folders() -> Vec<PathBuf> {
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
    }

    fn get(&self, name: &str) -> Option<&str> {
        debug_assert!(VARIABLES.iter().any(|(known, _)| *known == name), "{name} is not in the list");
        self.0.get(name).map(String::as_str)
    }

    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn preset(&self) -> Option<&str> {
        self.get("MCP_PRESET")
    }

    pub(crate) fn enabled_gates(&self) -> Option<Vec<String>> {
        let list = self.get("MCP_ENABLED_GATES")?;
        Some(list.split(',').map(|gate| gate.trim().to_owned()).filter(|gate| !gate.is_empty()).collect())
    }

    pub(crate) fn intelligence_enabled(&self) -> Option<&str> {
        self.get("MCP_GATEWAY_INTELLIGENCE_ENABLED")
    }

    pub(crate) fn summary_threshold(&self) -> Option<&str> {
        self.get("MCP_GATEWAY_SUMMARY_THRESHOLD_BYTES")
    }

    pub(crate) fn intelligence_ttl_hours(&self) -> Option<&str> {
        self.get("MCP_GATEWAY_INTELLIGENCE_TTL_HOURS")
    }

    /// Where ChromaDB is.
    #[cfg(feature = "chroma")]
    pub(crate) fn chroma_url(&self) -> Option<&str> {
        self.get("MCP_GATEWAY_CHROMA_URL")
    }

    pub(crate) fn kg_index_path(&self) -> Option<PathBuf> {
        self.get("KG_INDEX_PATH").map(PathBuf::from)
    }

    /// Holds a password: for the engine, and never for a message.
    pub(crate) fn database_url(&self) -> Option<&str> {
        self.get("DATABASE_URL")
    }

    /// The same for documents, with the variable that says it.
    pub(crate) fn documents_database_url(&self) -> Option<(&'static str, &str)> {
        let own = self.get("DOCUMENTS_DATABASE_URL").map(|url| ("DOCUMENTS_DATABASE_URL", url));
        own.or_else(|| Some(("DATABASE_URL", self.database_url()?)))
    }

    /// Where Neo4j is; an address holds no credentials.
    pub(crate) fn neo4j_uri(&self) -> &str {
        self.get("NEO4J_URI").unwrap_or("bolt://localhost:7687")
    }

    /// Account, password and database in Neo4j.
    pub(crate) fn neo4j_account(&self) -> (&str, Option<Secret>, Option<&str>) {
        let user = self.get("NEO4J_USER").unwrap_or("neo4j");
        let password = self.get("NEO4J_PASSWORD").map(Secret::new);
        (user, password, self.get("NEO4J_DATABASE"))
    }

    /// Where Weaviate is, and its key.
    pub(crate) fn weaviate(&self) -> (&str, Option<Secret>) {
        let url = self.get("WEAVIATE_URL").unwrap_or("http://localhost:8081");
        (url, self.get("WEAVIATE_API_KEY").map(Secret::new))
    }

    /// The configuration that is named.
    pub(crate) fn config(&self) -> Option<&Path> {
        self.get("GATEHOUSE_CONFIG").map(Path::new)
    }

    pub(crate) fn state(&self) -> Option<PathBuf> {
        self.get("GATEHOUSE_STATE").map(PathBuf::from)
    }

    /// The variables that say where data is, as absolute paths, for a host that is started elsewhere.
    pub(crate) fn places(&self) -> BTreeMap<&'static str, PathBuf> {
        let set = |name| Some((name, std::path::absolute(self.0.get(name)?).ok()?));
        ["GATEHOUSE_STATE", "KG_INDEX_PATH"].into_iter().filter_map(set).collect()
    }

    pub(crate) fn token(&self) -> Option<&str> {
        self.get("GATEHOUSE_TOKEN")
    }

    /// The key for a provider of models; Ollama needs none.
    pub(crate) fn model_key(&self, provider: ProviderName) -> Option<Secret> {
        let name = match provider {
            ProviderName::OpenAi => "OPENAI_API_KEY",
            ProviderName::Gemini => "GEMINI_API_KEY",
            ProviderName::Anthropic => "ANTHROPIC_API_KEY",
            ProviderName::Ollama => return None,
        };
        Self::key(self.get(name)?)
    }

    /// A key out of a variable: one that was read from a file ends in a line break.
    pub(crate) fn key(value: &str) -> Option<Secret> {
        let key = value.trim();
        (!key.is_empty()).then(|| Secret::new(key))
    }

    /// Where a provider of models is, where the environment says so.
    pub(crate) fn model_address(&self, provider: ProviderName) -> Option<&str> {
        let name = match provider {
            ProviderName::OpenAi => "OPENAI_BASE_URL",
            ProviderName::Gemini => "GEMINI_BASE_URL",
            ProviderName::Anthropic => "ANTHROPIC_BASE_URL",
            ProviderName::Ollama => "OLLAMA_HOST",
        };
        self.get(name)
    }

    /// User and password for a registry; none where neither is set. One alone is a mistake.
    pub(crate) fn registry(&self) -> Result<Option<(&str, &str)>, ConfigError> {
        let missing = |place: &str, other: &str| ConfigError {
            place: place.into(),
            message: format!("is not set, but {other} is; set both or neither"),
        };
        match (self.get("GATEHOUSE_REGISTRY_USER"), self.get("GATEHOUSE_REGISTRY_PASSWORD")) {
            (Some(user), Some(password)) => Ok(Some((user, password))),
            (None, None) => Ok(None),
            (Some(_), None) => Err(missing("GATEHOUSE_REGISTRY_PASSWORD", "GATEHOUSE_REGISTRY_USER")),
            (None, Some(_)) => Err(missing("GATEHOUSE_REGISTRY_USER", "GATEHOUSE_REGISTRY_PASSWORD")),
        }
    }

    /// Whether whoever sits at a terminal wants colours there.
    pub(crate) fn colors(&self) -> bool {
        !self.is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb")
    }

    pub(crate) fn log(&self) -> Option<&str> {
        self.get("GATEHOUSE_LOG")
    }
}
