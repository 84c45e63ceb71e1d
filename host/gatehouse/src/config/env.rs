//! All environment variables that the program reads, in one list, plus those that `presets.toml` names for headers. No
//! other module reads the environment.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use gatehouse_core::http::Secret;
use gatehouse_models::config::ProviderName;
#[cfg(feature = "postgres")]
use gatehouse_stores::PostgresConfig;
use gatehouse_wire::downstream::InheritedEnv;

use super::{ConfigError, inherited::inherited};

/// Variables and their descriptions, as `gatehouse doctor` shows them.
pub(crate) const VARIABLES: [(&str, &str); 29] = [
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
    ("GATEHOUSE_CONFIG", "configuration file, unless --config is set; built-in means the shipped one"),
    ("GATEHOUSE_STATE", "data directory"),
    ("GATEHOUSE_TOKEN", "bearer token for HTTP; required beyond loopback"),
    ("GATEHOUSE_LOG", "log filter for standard error, for example debug or gate=info"),
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

/// Parses the value of a variable. The error does not contain the value, which has a password.
#[cfg(feature = "postgres")]
pub(super) fn parse_postgres(variable: &str, url: &str) -> Result<Box<PostgresConfig>, ConfigError> {
    let server =
        PostgresConfig::parse(url).map_err(|fault| ConfigError::new(variable, fault.in_one_line()))?;
    Ok(Box::new(server))
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Env(BTreeMap<&'static str, String>);

impl Env {
    /// Reads the listed variables. Empty ones count as unset.
    pub(crate) fn read() -> Self {
        let set = |name| Some((name, std::env::var(name).ok().filter(|value| !value.is_empty())?));
        Self(VARIABLES.into_iter().filter_map(|(name, _)| set(name)).collect())
    }

    /// Returns the variables that servers started as programs inherit, and those withheld from them.
    pub(crate) fn inherited() -> InheritedEnv {
        inherited(std::env::vars_os())
    }

    pub(crate) fn secret(&self, name: &str) -> Option<Secret> {
        let known = self.0.get(name).cloned();
        let value = known.or_else(|| std::env::var(name).ok())?;
        Some(Secret::new(value)).filter(|secret| !secret.reveal().is_empty())
    }

    #[cfg(test)]
    pub(crate) fn from_pairs<const N: usize>(variables: [(&'static str, &str); N]) -> Self {
        Self(variables.map(|(name, value)| (name, value.to_owned())).into())
    }

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

    #[cfg(feature = "chroma")]
    pub(crate) fn chroma_url(&self) -> Option<&str> {
        self.get("MCP_GATEWAY_CHROMA_URL")
    }

    pub(crate) fn kg_index_path(&self) -> Option<PathBuf> {
        self.get("KG_INDEX_PATH").map(PathBuf::from)
    }

    /// Returns the server of DATABASE_URL. `owner` is the part of the host that needs it, for the error.
    #[cfg(feature = "postgres")]
    pub(crate) fn postgres(&self, owner: &str) -> Result<Box<PostgresConfig>, ConfigError> {
        let url = self.database_url().ok_or_else(|| {
            let why = format!(
                "is not set, and the engine 'postgres'{owner} needs it: postgres://user:password@host:5432/database"
            );
            ConfigError::new("DATABASE_URL", why)
        })?;
        parse_postgres("DATABASE_URL", url)
    }

    /// Contains a password: never print it.
    fn database_url(&self) -> Option<&str> {
        self.get("DATABASE_URL")
    }

    /// Returns the database of the documents, and the variable that sets it.
    pub(crate) fn documents_database_url(&self) -> Option<(&'static str, &str)> {
        let own = self.get("DOCUMENTS_DATABASE_URL").map(|url| ("DOCUMENTS_DATABASE_URL", url));
        own.or_else(|| Some(("DATABASE_URL", self.database_url()?)))
    }

    pub(crate) fn neo4j_uri(&self) -> &str {
        self.get("NEO4J_URI").unwrap_or("bolt://localhost:7687")
    }

    pub(crate) fn neo4j_account(&self) -> (&str, Option<Secret>, Option<&str>) {
        let user = self.get("NEO4J_USER").unwrap_or("neo4j");
        let password = self.get("NEO4J_PASSWORD").map(Secret::new);
        (user, password, self.get("NEO4J_DATABASE"))
    }

    pub(crate) fn weaviate(&self) -> (&str, Option<Secret>) {
        let url = self.get("WEAVIATE_URL").unwrap_or("http://localhost:8081");
        (url, self.get("WEAVIATE_API_KEY").map(Secret::new))
    }

    pub(crate) fn config(&self) -> Option<&Path> {
        self.get("GATEHOUSE_CONFIG").map(Path::new)
    }

    pub(crate) fn state(&self) -> Option<PathBuf> {
        self.get("GATEHOUSE_STATE").map(PathBuf::from)
    }

    /// Returns the variables that locate data, as absolute paths, for a host started in another directory.
    pub(crate) fn data_paths(&self) -> BTreeMap<&'static str, PathBuf> {
        let set = |name| Some((name, std::path::absolute(self.0.get(name)?).ok()?));
        ["GATEHOUSE_STATE", "KG_INDEX_PATH"].into_iter().filter_map(set).collect()
    }

    pub(crate) fn token(&self) -> Option<&str> {
        self.get("GATEHOUSE_TOKEN")
    }

    /// Returns the key for a model provider. `None` for Ollama, which needs no key.
    pub(crate) fn model_key(&self, provider: ProviderName) -> Option<Secret> {
        let name = match provider {
            ProviderName::OpenAi => "OPENAI_API_KEY",
            ProviderName::Gemini => "GEMINI_API_KEY",
            ProviderName::Anthropic => "ANTHROPIC_API_KEY",
            ProviderName::Ollama => return None,
        };
        Self::trimmed_secret(self.get(name)?)
    }

    /// Trims the value of a key variable. Keys read from files end in a line break.
    pub(crate) fn trimmed_secret(value: &str) -> Option<Secret> {
        let key = value.trim();
        (!key.is_empty()).then(|| Secret::new(key))
    }

    pub(crate) fn model_address(&self, provider: ProviderName) -> Option<&str> {
        let name = match provider {
            ProviderName::OpenAi => "OPENAI_BASE_URL",
            ProviderName::Gemini => "GEMINI_BASE_URL",
            ProviderName::Anthropic => "ANTHROPIC_BASE_URL",
            ProviderName::Ollama => "OLLAMA_HOST",
        };
        self.get(name)
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

    pub(crate) fn colors(&self) -> bool {
        !self.is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb")
    }

    pub(crate) fn log(&self) -> Option<&str> {
        self.get("GATEHOUSE_LOG")
    }
}
