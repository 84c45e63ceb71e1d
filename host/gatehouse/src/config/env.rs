//! Every environment variable this program reads, in one list; beside them those that presets.toml names
//! for the headers of gates' requests. Nothing else reads the environment.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use gatehouse_core::http::Secret;
use gatehouse_models::config::ProviderName;

use super::ConfigError;

/// A variable and what it is for.
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
}

const PRESET: &str = "MCP_PRESET";
const ENABLED_GATES: &str = "MCP_ENABLED_GATES";
const KG_INDEX_PATH: &str = "KG_INDEX_PATH";
const DATABASE_URL: &str = "DATABASE_URL";
const NEO4J_URI: &str = "NEO4J_URI";
const NEO4J_USER: &str = "NEO4J_USER";
const NEO4J_PASSWORD: &str = "NEO4J_PASSWORD";
const NEO4J_DATABASE: &str = "NEO4J_DATABASE";
const WEAVIATE_URL: &str = "WEAVIATE_URL";
const WEAVIATE_API_KEY: &str = "WEAVIATE_API_KEY";
const CONFIG: &str = "GATEHOUSE_CONFIG";
const STATE: &str = "GATEHOUSE_STATE";
const TOKEN: &str = "GATEHOUSE_TOKEN";
const LOG: &str = "GATEHOUSE_LOG";
const OPENAI_API_KEY: &str = "OPENAI_API_KEY";
const OPENAI_BASE_URL: &str = "OPENAI_BASE_URL";
const GEMINI_API_KEY: &str = "GEMINI_API_KEY";
const GEMINI_BASE_URL: &str = "GEMINI_BASE_URL";
const ANTHROPIC_API_KEY: &str = "ANTHROPIC_API_KEY";
const ANTHROPIC_BASE_URL: &str = "ANTHROPIC_BASE_URL";
const OLLAMA_HOST: &str = "OLLAMA_HOST";
const REGISTRY_USER: &str = "GATEHOUSE_REGISTRY_USER";
const REGISTRY_PASSWORD: &str = "GATEHOUSE_REGISTRY_PASSWORD";

/// All of them, for `gatehouse doctor` and the docs.
pub(crate) const VARIABLES: [Variable; 23] = [
    Variable { name: PRESET, meaning: "the preset to serve, unless --preset says" },
    Variable {
        name: ENABLED_GATES,
        meaning: "gates to serve with their defaults (comma list), unless a preset is named",
    },
    Variable {
        name: KG_INDEX_PATH,
        meaning: "an index file of `gatehouse kg index --save-to`; selects engine and wiki",
    },
    Variable {
        name: DATABASE_URL,
        meaning: "postgres://user:password@host/database, for the engine 'postgres'",
    },
    Variable { name: NEO4J_URI, meaning: "where Neo4j is, for the engine 'weaviate-neo4j'" },
    Variable { name: NEO4J_USER, meaning: "the account there" },
    Variable { name: NEO4J_PASSWORD, meaning: "its password" },
    Variable { name: NEO4J_DATABASE, meaning: "the database there, if not the account's own" },
    Variable { name: WEAVIATE_URL, meaning: "where Weaviate is, for the same engine" },
    Variable { name: WEAVIATE_API_KEY, meaning: "its key, where it wants one" },
    Variable {
        name: CONFIG,
        meaning: "the configuration, unless --config says; built-in is the shipped one",
    },
    Variable { name: STATE, meaning: "the data folder" },
    Variable { name: TOKEN, meaning: "bearer token for HTTP; required beyond loopback" },
    Variable { name: LOG, meaning: "log filter for standard error, for example debug or gate=info" },
    Variable { name: OPENAI_API_KEY, meaning: "key for OpenAI, or for a server that speaks its API" },
    Variable { name: OPENAI_BASE_URL, meaning: "where that API is, if not at OpenAI" },
    Variable { name: GEMINI_API_KEY, meaning: "key for Gemini" },
    Variable { name: GEMINI_BASE_URL, meaning: "where that API is, if not at Google" },
    Variable { name: ANTHROPIC_API_KEY, meaning: "key for Anthropic" },
    Variable { name: ANTHROPIC_BASE_URL, meaning: "where that API is, if not at Anthropic" },
    Variable { name: OLLAMA_HOST, meaning: "where Ollama is, for example 127.0.0.1:11434" },
    Variable { name: REGISTRY_USER, meaning: "account at the registry that a command names" },
    Variable { name: REGISTRY_PASSWORD, meaning: "the password or token that goes with it" },
];

/// The environment, read once.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Env(BTreeMap<&'static str, String>);

impl Env {
    /// Reads the variables of the list. An empty one counts as not set.
    pub(crate) fn read() -> Self {
        let set =
            |v: &Variable| Some((v.name, std::env::var(v.name).ok().filter(|value| !value.is_empty())?));
        Self(VARIABLES.iter().filter_map(set).collect())
    }

    /// The value of a variable that presets.toml itself names, for a header.
    pub(crate) fn secret(&self, name: &str) -> Option<Secret> {
        let known = self.0.get(name).cloned();
        let value = known.or_else(|| std::env::var(name).ok())?;
        Some(Secret::new(value)).filter(|secret| !secret.reveal().is_empty())
    }

    #[cfg(test)]
    pub(crate) fn of<const N: usize>(variables: [(&'static str, &str); N]) -> Self {
        Self(variables.map(|(name, value)| (name, value.to_owned())).into())
    }

    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn preset(&self) -> Option<&str> {
        self.0.get(PRESET).map(String::as_str)
    }

    pub(crate) fn enabled_gates(&self) -> Option<Vec<String>> {
        let list = self.0.get(ENABLED_GATES)?;
        Some(list.split(',').map(|gate| gate.trim().to_owned()).filter(|gate| !gate.is_empty()).collect())
    }

    pub(crate) fn kg_index_path(&self) -> Option<PathBuf> {
        self.0.get(KG_INDEX_PATH).map(PathBuf::from)
    }

    /// Holds a password: for the engine, and never for a message.
    pub(crate) fn database_url(&self) -> Option<&str> {
        self.0.get(DATABASE_URL).map(String::as_str)
    }

    /// Where Neo4j is; an address holds no credentials.
    pub(crate) fn neo4j_uri(&self) -> &str {
        self.0.get(NEO4J_URI).map_or("bolt://localhost:7687", String::as_str)
    }

    /// Account, password and database in Neo4j.
    pub(crate) fn neo4j_account(&self) -> (&str, Option<Secret>, Option<&str>) {
        let user = self.0.get(NEO4J_USER).map_or("neo4j", String::as_str);
        let password = self.0.get(NEO4J_PASSWORD).map(|password| Secret::new(password.as_str()));
        (user, password, self.0.get(NEO4J_DATABASE).map(String::as_str))
    }

    /// Where Weaviate is, and its key.
    pub(crate) fn weaviate(&self) -> (&str, Option<Secret>) {
        let url = self.0.get(WEAVIATE_URL).map_or("http://localhost:8081", String::as_str);
        (url, self.0.get(WEAVIATE_API_KEY).map(|key| Secret::new(key.as_str())))
    }

    /// The configuration that is named.
    pub(crate) fn config(&self) -> Option<&Path> {
        self.0.get(CONFIG).map(Path::new)
    }

    pub(crate) fn state(&self) -> Option<PathBuf> {
        self.0.get(STATE).map(PathBuf::from)
    }

    /// The variables that say where data is, as absolute paths, for a host that is started elsewhere.
    pub(crate) fn places(&self) -> BTreeMap<&'static str, PathBuf> {
        let set = |name| Some((name, std::path::absolute(self.0.get(name)?).ok()?));
        [STATE, KG_INDEX_PATH].into_iter().filter_map(set).collect()
    }

    pub(crate) fn token(&self) -> Option<&str> {
        self.0.get(TOKEN).map(String::as_str)
    }

    /// The key for a provider of models; Ollama needs none.
    pub(crate) fn model_key(&self, provider: ProviderName) -> Option<Secret> {
        let name = match provider {
            ProviderName::OpenAi => OPENAI_API_KEY,
            ProviderName::Gemini => GEMINI_API_KEY,
            ProviderName::Anthropic => ANTHROPIC_API_KEY,
            ProviderName::Ollama => return None,
        };
        Self::key(self.0.get(name)?)
    }

    /// A key out of a variable: one that was read from a file ends in a line break.
    pub(crate) fn key(value: &str) -> Option<Secret> {
        let key = value.trim();
        (!key.is_empty()).then(|| Secret::new(key))
    }

    /// Where a provider of models is, where the environment says so.
    pub(crate) fn model_address(&self, provider: ProviderName) -> Option<&str> {
        let name = match provider {
            ProviderName::OpenAi => OPENAI_BASE_URL,
            ProviderName::Gemini => GEMINI_BASE_URL,
            ProviderName::Anthropic => ANTHROPIC_BASE_URL,
            ProviderName::Ollama => OLLAMA_HOST,
        };
        self.0.get(name).map(String::as_str)
    }

    /// User and password for a registry; none where neither is set. One alone is a mistake.
    pub(crate) fn registry(&self) -> Result<Option<(&str, &str)>, ConfigError> {
        let missing = |place: &str, other: &str| ConfigError {
            place: place.into(),
            message: format!("is not set, but {other} is; set both or neither"),
        };
        match (self.0.get(REGISTRY_USER), self.0.get(REGISTRY_PASSWORD)) {
            (Some(user), Some(password)) => Ok(Some((user, password))),
            (None, None) => Ok(None),
            (Some(_), None) => Err(missing(REGISTRY_PASSWORD, REGISTRY_USER)),
            (None, Some(_)) => Err(missing(REGISTRY_USER, REGISTRY_PASSWORD)),
        }
    }

    pub(crate) fn log(&self) -> Option<&str> {
        self.0.get(LOG).map(String::as_str)
    }
}
