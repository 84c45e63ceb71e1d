//! What an operator chose: plain data, made of presets.toml and the environment by whoever starts the host.

use std::{fmt, time::Duration};

use gatehouse_core::http::Secret;
use gatehouse_net::Backoff;

/// The providers that are called over a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProviderName {
    /// OpenAI, and servers that speak its API.
    OpenAi,
    /// Google's Gemini API.
    Gemini,
    /// Anthropic; it has no embeddings.
    Anthropic,
    /// Ollama.
    Ollama,
}

impl ProviderName {
    /// All of them, in the order in which `auto` looks for one that is set up.
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::Gemini, Self::Anthropic, Self::Ollama];

    /// As presets.toml writes it.
    pub const fn id(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Gemini => "gemini",
            Self::Anthropic => "anthropic",
            Self::Ollama => "ollama",
        }
    }

    /// As people write it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::OpenAi => "OpenAI",
            Self::Gemini => "Gemini",
            Self::Anthropic => "Anthropic",
            Self::Ollama => "Ollama",
        }
    }

    /// The variable that sets it up.
    pub const fn variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_API_KEY",
            Self::Gemini => "GEMINI_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::Ollama => "OLLAMA_HOST",
        }
    }

    /// Where it is unless the operator says otherwise.
    pub const fn address(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Gemini => "https://generativelanguage.googleapis.com",
            Self::Anthropic => "https://api.anthropic.com",
            Self::Ollama => "http://127.0.0.1:11434",
        }
    }

    /// The language model that is asked unless the operator names one.
    pub const fn default_model(self) -> &'static str {
        match self {
            Self::OpenAi => "gpt-5.4-mini",
            Self::Gemini => "gemini-2.5-flash",
            Self::Anthropic => "claude-sonnet-5-5",
            Self::Ollama => "llama3.2",
        }
    }

    /// The embedding model that is asked unless the operator names one; Anthropic has none.
    pub const fn default_embedding_model(self) -> Option<&'static str> {
        match self {
            Self::OpenAi => Some("text-embedding-3-small"),
            Self::Gemini => Some("gemini-embedding-001"),
            Self::Anthropic => None,
            Self::Ollama => Some("nomic-embed-text"),
        }
    }

    /// The provider of this id.
    pub fn parse(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| name.id() == id)
    }
}

impl fmt::Display for ProviderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}

/// Which API of OpenAI is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OpenAiApi {
    /// Responses at OpenAI itself, Chat Completions elsewhere: what compatible servers have.
    #[default]
    Auto,
    /// Responses, which can search the web.
    Responses,
    /// Chat Completions.
    Chat,
}

/// Who makes vectors.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum EmbeddingChoice {
    /// The model in the binary.
    #[default]
    Local,
    /// A provider, and its model unless it is the default one.
    Provider(ProviderName, Option<String>),
}

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LlmChoice {
    /// The first provider that is set up, in the order of [`ProviderName::ALL`].
    #[default]
    Auto,
    /// Nobody.
    Off,
    /// A provider, and its model unless it is the default one.
    Provider(ProviderName, Option<String>),
}

/// How one provider is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSettings {
    /// The key.
    pub key: Option<Secret>,
    /// The variable that was named to hold the key; the provider's own where none was.
    pub key_variable: Option<String>,
    /// Whether no key is sent because the configuration says where the provider is and names no variable.
    pub keyless: bool,
    /// Where it is, an absolute http or https URL; its own address where none is given. Set, it also says
    /// that a provider that needs no key there (Ollama, a server that speaks OpenAI's API) is set up.
    pub base_url: Option<String>,
    /// The version of its API: a part of Gemini's paths (`v1beta`), a header of Anthropic's (`2026-10-21`).
    pub api_version: Option<String>,
    /// Requests at the same time, 1 to 64; further ones wait.
    pub concurrency: usize,
    /// How long it may be silent while it answers, and how long a request for vectors may take with all its
    /// retries.
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

/// How faults that pass by themselves are waited out: each time a random part of a span that doubles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often after the first time.
    pub times: u32,
    /// The spans.
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

/// Everything that is chosen about models.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelsConfig {
    /// Who makes vectors.
    pub embedding: EmbeddingChoice,
    /// Who answers.
    pub llm: LlmChoice,
    /// OpenAI, or a server that speaks its API.
    pub openai: ProviderSettings,
    /// Which API of OpenAI is spoken.
    pub openai_api: OpenAiApi,
    /// Gemini.
    pub gemini: ProviderSettings,
    /// Anthropic.
    pub anthropic: ProviderSettings,
    /// Ollama.
    pub ollama: ProviderSettings,
    /// How faults that pass are waited out.
    pub retry: RetryPolicy,
}

impl ModelsConfig {
    /// What was said about a provider.
    pub fn settings(&self, name: ProviderName) -> &ProviderSettings {
        match name {
            ProviderName::OpenAi => &self.openai,
            ProviderName::Gemini => &self.gemini,
            ProviderName::Anthropic => &self.anthropic,
            ProviderName::Ollama => &self.ollama,
        }
    }

    /// Whether a provider can be asked: it has a key, or an address at which none is needed.
    pub fn is_set_up(&self, name: ProviderName) -> bool {
        let settings = self.settings(name);
        match name {
            ProviderName::OpenAi => settings.key.is_some() || settings.base_url.is_some(),
            ProviderName::Gemini | ProviderName::Anthropic => settings.key.is_some(),
            ProviderName::Ollama => settings.base_url.is_some(),
        }
    }
}

/// A setting that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{provider}: {message}")]
pub struct BadSetting {
    /// Whose.
    pub provider: ProviderName,
    /// What is wrong with it; never the key.
    pub message: String,
}
