//! Placeholder for a missing model, whose faults give the reason and a hint that fits the configuration.

use async_trait::async_trait;
use gatehouse_core::{
    Fault,
    ports::{
        embed::{Embedder, EmbeddingPurpose, EmbeddingVector},
        llm::{Llm, ModelCompletion, ModelPrompt, OnCompletionProgress},
    },
};

use crate::config::{ModelsConfig, ProviderName, ProviderSettings};

pub(crate) const NOT_CONFIGURED: &str = "no language model is configured";

pub(crate) const SWITCHED_OFF: &str = "language models are switched off (llm = \"off\" in [models])";

pub(crate) struct NoModel {
    pub(crate) reason: String,
    pub(crate) hint: String,
    /// Hint to get web search.
    pub(crate) web_hint: String,
    /// Name of the model that would embed.
    pub(crate) embeds_as: String,
}

impl NoModel {
    /// Creates a placeholder that does not embed.
    pub(crate) fn new(reason: &str, hint: String, web_hint: String) -> Self {
        Self { reason: reason.to_owned(), hint, web_hint, embeds_as: String::new() }
    }

    /// Creates a placeholder for a provider that is not configured. `key` is the setting of its key.
    pub(crate) fn from_provider(name: ProviderName, key: &str, embeds_as: String) -> Self {
        let hint = format!("Set {key}, or choose another provider in [models].");
        let web_hint = match name {
            ProviderName::Ollama => {
                "It has no web search; choose openai, gemini or anthropic as llm in [models].".to_owned()
            }
            _ => hint.clone(),
        };
        Self { reason: format!("{name} is chosen in [models] but not configured"), hint, web_hint, embeds_as }
    }
}

#[async_trait]
impl Embedder for NoModel {
    fn model(&self) -> &str {
        &self.embeds_as
    }

    async fn embed(
        &self,
        _texts: &[String],
        _purpose: EmbeddingPurpose,
    ) -> Result<Vec<EmbeddingVector>, Fault> {
        Err(unavailable(&self.reason, &self.hint))
    }
}

#[async_trait]
impl Llm for NoModel {
    fn model(&self) -> Option<&str> {
        None
    }

    fn web_model(&self) -> Option<&str> {
        None
    }

    async fn complete(
        &self,
        prompt: ModelPrompt,
        _on_progress: OnCompletionProgress<'_>,
    ) -> Result<ModelCompletion, Fault> {
        Err(unavailable(&self.reason, if prompt.web_search { &self.web_hint } else { &self.hint }))
    }
}

pub(crate) fn no_web(model: &str, hint: &str) -> Fault {
    unavailable(&format!("{model} cannot search the web"), hint)
}

fn unavailable(reason: &str, hint: &str) -> Fault {
    Fault { retryable: false, ..Fault::unavailable(reason).hint(hint) }
}

const CONFIG_FILE: &str = "presets.toml";

/// Returns the setting that provides a key, such as a variable. Fits after `Set `.
pub(crate) fn key_hint(name: ProviderName, settings: &ProviderSettings) -> String {
    match (&settings.key_variable, settings.keyless) {
        (Some(variable), _) => variable.clone(),
        (None, true) => {
            format!("api_key = \"${{{}}}\" under [models.{}] in {CONFIG_FILE}", name.variable(), name.id())
        }
        (None, false) => name.variable().to_owned(),
    }
}

pub(crate) fn any_key_hint(config: &ModelsConfig) -> String {
    let options: Vec<String> =
        ProviderName::ALL.iter().map(|name| key_hint(*name, config.settings(*name))).collect();
    format!("Set one of {}.", listed(&options))
}

/// Returns the hint for missing web search. `chat` is true if OpenAI uses Chat Completions.
pub(crate) fn web_search_hint(config: &ModelsConfig, chat: bool) -> String {
    let mut options = Vec::new();
    for name in [ProviderName::OpenAi, ProviderName::Gemini, ProviderName::Anthropic] {
        match (name, config.is_configured(name)) {
            (_, false) => options.push(key_hint(name, config.settings(name))),
            (ProviderName::OpenAi, true) if chat => {
                let server = config.openai.base_url.as_ref().map(|_| " if the server there has that API");
                let server = server.unwrap_or_default();
                options.push(format!("api = \"responses\" under [models.openai] in {CONFIG_FILE}{server}"));
            }
            (_, true) => {}
        }
    }
    match options.as_slice() {
        [] => format!("Choose openai, gemini or anthropic as llm in [models] in {CONFIG_FILE}."),
        [option] => format!("Set {option}."),
        _ => format!("Set one of {}.", listed(&options)),
    }
}

fn listed(options: &[String]) -> String {
    match options {
        [] => String::new(),
        [option] => option.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_openai(base_url: Option<&str>, keyless: bool) -> ModelsConfig {
        let openai = ProviderSettings {
            base_url: base_url.map(str::to_owned),
            keyless,
            ..ProviderSettings::default()
        };
        ModelsConfig { openai, ..ModelsConfig::default() }
    }

    #[test]
    fn hints_fit_the_configuration() {
        let none = with_openai(None, false);
        assert_eq!(
            any_key_hint(&none),
            "Set one of OPENAI_API_KEY, GEMINI_API_KEY, ANTHROPIC_API_KEY or OLLAMA_HOST."
        );
        assert_eq!(
            web_search_hint(&none, false),
            "Set one of OPENAI_API_KEY, GEMINI_API_KEY or ANTHROPIC_API_KEY."
        );
        let own = with_openai(Some("http://box/v1"), false);
        assert_eq!(
            web_search_hint(&own, true),
            "Set one of api = \"responses\" under [models.openai] in presets.toml if the server there has that API, \
             GEMINI_API_KEY or ANTHROPIC_API_KEY."
        );
        let gemini = ProviderSettings { keyless: true, ..ProviderSettings::default() };
        let keyless = ModelsConfig { gemini, ..ModelsConfig::default() };
        assert!(
            web_search_hint(&keyless, false)
                .contains("api_key = \"${GEMINI_API_KEY}\" under [models.gemini]")
        );
    }
}
