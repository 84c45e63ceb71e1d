//! Model configuration as plain data, from presets.toml and the environment.

use std::{fmt, time::Duration};

use gatehouse_core::http::Secret;
use gatehouse_net::Backoff;

/// A provider with a network API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProviderName {
    /// OpenAI, or a server with a compatible API.
    OpenAi,
    Gemini,
    /// Has no embeddings.
    Anthropic,
    Ollama,
}

impl ProviderName {
    /// All providers, in the order in which `auto` looks for a configured one.
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::Gemini, Self::Anthropic, Self::Ollama];

    /// Returns the name in presets.toml.
    pub const fn id(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Gemini => "gemini",
            Self::Anthropic => "anthropic",
            Self::Ollama => "ollama",
        }
    }

    /// Returns the display name.
    pub const fn title(self) -> &'static str {
        match self {
            Self::OpenAi => "OpenAI",
            Self::Gemini => "Gemini",
            Self::Anthropic => "Anthropic",
            Self::Ollama => "Ollama",
        }
    }

    pub const fn variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_API_KEY",
            Self::Gemini => "GEMINI_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::Ollama => "OLLAMA_HOST",
        }
    }

    pub const fn address(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Gemini => "https://generativelanguage.googleapis.com",
            Self::Anthropic => "https://api.anthropic.com",
            Self::Ollama => "http://127.0.0.1:11434",
        }
    }

    pub const fn default_model(self) -> &'static str {
        match self {
            Self::OpenAi => "gpt-5.4-mini",
            Self::Gemini => "gemini-2.5-flash",
            Self::Anthropic => "claude-sonnet-5-5",
            Self::Ollama => "llama3.2",
        }
    }

    /// `None` for Anthropic.
    pub const fn default_embedding_model(self) -> Option<&'static str> {
        match self {
            Self::OpenAi => Some("text-embedding-3-small"),
            Self::Gemini => Some("gemini-embedding-001"),
            Self::Anthropic => None,
            Self::Ollama => Some("nomic-embed-text"),
        }
    }

    pub fn parse(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| name.id() == id)
    }
}

impl fmt::Display for ProviderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OpenAiApi {
    /// Responses for OpenAI itself, Chat Completions for compatible servers, which rarely support Responses.
    #[default]
    Auto,
    /// Supports web search.
    Responses,
    Chat,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum EmbeddingChoice {
    #[default]
    Local,
    /// A provider, and a model other than its default.
    Provider(ProviderName, Option<String>),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LlmChoice {
    /// The first configured provider of [`ProviderName::ALL`].
    #[default]
    Auto,
    Off,
    Provider(ProviderName, Option<String>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSettings {
    pub key: Option<Secret>,
    /// Environment variable for the key. `None` means the provider's default.
    pub key_variable: Option<String>,
    /// True if the configuration sets a base URL but no key variable, so no key is sent.
    pub keyless: bool,
    /// Absolute http or https URL. Setting it also configures Ollama and servers with OpenAI's API, which need no key.
    pub base_url: Option<String>,
    /// Version of the API: part of Gemini's paths (`v1beta`), a header for Anthropic (`2026-10-21`).
    pub api_version: Option<String>,
    /// Maximum concurrent requests, 1 to 64. Further requests wait.
    pub concurrency: usize,
    /// Maximum silence while a response arrives, and maximum time of an embedding request with all retries.
    pub timeout: Duration,
}

impl Default for ProviderSettings {
    fn default() -> Self {
        Self {
            key: None,
            key_variable: None,
            keyless: false,
            base_url: None,
            api_version: None,
            concurrency: 4,
            timeout: Duration::from_secs(120),
        }
    }
}

/// Retries of transient errors, with full jitter and exponential backoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Maximum number of retries.
    pub times: u32,
    pub backoff: Backoff,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            times: 4,
            backoff: Backoff { first: Duration::from_millis(500), longest: Duration::from_secs(20) },
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelsConfig {
    pub embedding: EmbeddingChoice,
    pub llm: LlmChoice,
    pub openai: ProviderSettings,
    pub openai_api: OpenAiApi,
    pub gemini: ProviderSettings,
    pub anthropic: ProviderSettings,
    pub ollama: ProviderSettings,
    pub retry: RetryPolicy,
}

impl ModelsConfig {
    pub fn settings(&self, name: ProviderName) -> &ProviderSettings {
        match name {
            ProviderName::OpenAi => &self.openai,
            ProviderName::Gemini => &self.gemini,
            ProviderName::Anthropic => &self.anthropic,
            ProviderName::Ollama => &self.ollama,
        }
    }

    /// Returns `true` if a provider has a key, or a base URL that needs none.
    pub fn is_configured(&self, name: ProviderName) -> bool {
        let settings = self.settings(name);
        match name {
            ProviderName::OpenAi => settings.key.is_some() || settings.base_url.is_some(),
            ProviderName::Gemini | ProviderName::Anthropic => settings.key.is_some(),
            ProviderName::Ollama => settings.base_url.is_some(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{provider}: {message}")]
pub struct BadSetting {
    pub provider: ProviderName,
    /// Problem; never contains the key.
    pub message: String,
}

impl BadSetting {
    pub(crate) fn new(provider: ProviderName, message: impl Into<String>) -> Self {
        Self { provider, message: message.into() }
    }
}
