//! `[models]` and its environment variables, validated. A missing key is not an error here: many features need no
//! model.

use std::time::Duration;

use gatehouse_models::{
    ModelsConfig,
    config::{EmbeddingChoice, LlmChoice, OpenAiApi, ProviderName, ProviderSettings},
};
use gatehouse_sandbox::parse_duration;

use super::{
    ConfigError, ConfigText, Env, PlainError, TextValue,
    parse_errors::not_allowed,
    raw::{ModelApi, ModelProvider, Models},
};

const MAX_TIMEOUT: Duration = Duration::from_secs(600);

pub(super) fn validate(text: &ConfigText, raw: Models, env: &Env) -> Result<ModelsConfig, ConfigError> {
    let mut config = ModelsConfig::default();
    if let Some(choice) = &raw.embedding {
        let providers: Vec<ProviderName> =
            ProviderName::ALL.into_iter().filter(|name| name.default_embedding_model().is_some()).collect();
        config.embedding = match parse_choice(text, choice, &["local"], &providers)? {
            Some((name, model)) => EmbeddingChoice::Provider(name, model),
            None => EmbeddingChoice::Local,
        };
    }
    if let Some(choice) = &raw.llm {
        config.llm = match parse_choice(text, choice, &["auto", "off"], &ProviderName::ALL)? {
            Some((name, model)) => LlmChoice::Provider(name, model),
            None if **choice == "off" => LlmChoice::Off,
            None => LlmChoice::Auto,
        };
    }
    config.openai_api = match raw.openai.api.as_deref() {
        None => OpenAiApi::Auto,
        Some(ModelApi::Responses) => OpenAiApi::Responses,
        Some(ModelApi::Chat) => OpenAiApi::Chat,
    };
    config.openai = settings(text, ProviderName::OpenAi, raw.openai, env)?;
    config.gemini = settings(text, ProviderName::Gemini, raw.gemini, env)?;
    config.anthropic = settings(text, ProviderName::Anthropic, raw.anthropic, env)?;
    config.ollama = settings(text, ProviderName::Ollama, raw.ollama, env)?;
    Ok(config)
}

/// Parses a provider and an optional model after a slash. `None` for one of the plain `words`.
fn parse_choice(
    text: &ConfigText,
    choice: &TextValue<String>,
    words: &[&str],
    providers: &[ProviderName],
) -> Result<Option<(ProviderName, Option<String>)>, ConfigError> {
    let written = choice.as_str();
    if words.contains(&written) {
        return Ok(None);
    }
    let (id, model) = match written.split_once('/') {
        Some((id, model)) => (id, Some(model)),
        None => (written, None),
    };
    let candidates: Vec<&str> =
        words.iter().copied().chain(providers.iter().map(|provider| provider.id())).collect();
    let Some(name) = ProviderName::parse(id).filter(|name| providers.contains(name)) else {
        return Err(text.error_at(choice.span(), not_allowed(id, &candidates)));
    };
    if model == Some("") {
        bail_at!(text, choice, "missing model name after '{id}/'; remove the slash for the default model");
    }
    Ok(Some((name, model.map(str::to_owned))))
}

/// Returns the name in `${NAME}`. The file must not contain the key itself.
fn key_variable(written: &str) -> Result<&str, PlainError> {
    let name = written.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let fits = |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    name.filter(fits).ok_or_else(|| {
        "api_key must name the variable that holds the key, for example \"${OPENAI_API_KEY}\"; do not write the key \
        itself in this file".into()
    })
}

fn settings(
    text: &ConfigText,
    name: ProviderName,
    raw: ModelProvider,
    env: &Env,
) -> Result<ProviderSettings, ConfigError> {
    let mut settings = ProviderSettings::default();
    let variable = match name {
        ProviderName::OpenAi => "OPENAI_BASE_URL",
        ProviderName::Gemini => "GEMINI_BASE_URL",
        ProviderName::Anthropic => "ANTHROPIC_BASE_URL",
        ProviderName::Ollama => "OLLAMA_HOST",
    };
    let address = env.get(variable).map(str::to_owned);
    let from_file = address.is_none() && raw.base_url.is_some();
    match raw.api_key {
        Some(written) => {
            let variable = text.at(&written, key_variable(&written))?;
            settings.key = env.secret(variable).and_then(|secret| Env::trimmed_secret(secret.reveal()));
            settings.key_variable = Some(variable.to_owned());
        }
        // The author of the file must not be able to send the operator's key to a server of their choice.
        None if from_file => settings.keyless = name != ProviderName::Ollama,
        // Ollama needs no key.
        None if name == ProviderName::Ollama => {}
        None => settings.key = env.get(name.variable()).and_then(Env::trimmed_secret),
    }
    settings.base_url = address.or(raw.base_url);
    if let Some(api) = raw.api.filter(|_| name != ProviderName::OpenAi) {
        bail_at!(text, api, "{name} has only one API; remove api, which is for openai");
    }
    if let Some(version) = raw.api_version {
        if !matches!(name, ProviderName::Gemini | ProviderName::Anthropic) {
            bail_at!(text, version, "{name} has no API version setting; the version can be part of base_url");
        }
        settings.api_version = Some(version.into_inner());
    }
    if let Some(concurrency) = raw.concurrency {
        if !(1..=64).contains(&*concurrency) {
            bail_at!(text, concurrency, "concurrency must be 1 to 64");
        }
        settings.concurrency = *concurrency;
    }
    if let Some(timeout) = raw.timeout {
        let time = text.at(&timeout, parse_duration(&timeout))?;
        if time.is_zero() || time > MAX_TIMEOUT {
            bail_at!(text, timeout, "timeout must be more than 0 and at most \"10 min\"");
        }
        settings.timeout = time;
    }
    Ok(settings)
}

#[cfg(test)]
mod tests;
