//! `[models]` and its environment variables, validated. A missing key is not an error here: many features need no
//! model.

use std::time::Duration;

use gatehouse_core::names::{did_you_mean, quoted};
use gatehouse_models::{
    ModelsConfig,
    config::{EmbeddingChoice, LlmChoice, OpenAiApi, ProviderName, ProviderSettings},
};
use gatehouse_sandbox::parse_duration;
use toml::Spanned;

use super::{
    ConfigError, Env,
    error::ConfigText,
    raw::{ModelApi, ModelProvider, RawModels},
};

const MAX_TIMEOUT: Duration = Duration::from_secs(600);

pub(super) fn checked(text: &ConfigText, raw: RawModels, env: &Env) -> Result<ModelsConfig, ConfigError> {
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
            None if choice.get_ref() == "off" => LlmChoice::Off,
            None => LlmChoice::Auto,
        };
    }
    config.openai_api = match raw.openai.api.as_ref().map(Spanned::get_ref) {
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
    choice: &Spanned<String>,
    words: &[&str],
    providers: &[ProviderName],
) -> Result<Option<(ProviderName, Option<String>)>, ConfigError> {
    let written = choice.get_ref().as_str();
    if words.contains(&written) {
        return Ok(None);
    }
    let (id, model) = match written.split_once('/') {
        Some((id, model)) => (id, Some(model)),
        None => (written, None),
    };
    let known: Vec<&str> =
        words.iter().copied().chain(providers.iter().map(|provider| provider.id())).collect();
    let Some(name) = ProviderName::parse(id).filter(|name| providers.contains(name)) else {
        let near = did_you_mean(id, known.iter().copied());
        let why = format!("'{}' is not allowed here.{near} There are: {}.", quoted(id, 64), known.join(", "));
        return Err(text.error_at(choice.span(), why));
    };
    if model == Some("") {
        let why = format!("missing model name after '{id}/'; remove the slash for the default model");
        return Err(text.error_at(choice.span(), why));
    }
    Ok(Some((name, model.map(str::to_owned))))
}

/// Returns the name in `${NAME}`. The file must not contain the key itself.
fn variable(written: &str) -> Result<&str, String> {
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
    let address = env.model_address(name).map(str::to_owned);
    let from_file = address.is_none() && raw.base_url.is_some();
    match raw.api_key {
        Some(written) => {
            let variable = variable(written.get_ref()).map_err(|why| text.error_at(written.span(), why))?;
            settings.key = env.secret(variable).and_then(|secret| Env::key(secret.reveal()));
            settings.key_variable = Some(variable.to_owned());
        }
        // The author of the file must not be able to send the operator's key to a server of their choice.
        None if from_file => settings.keyless = name != ProviderName::Ollama,
        None => settings.key = env.model_key(name),
    }
    settings.base_url = address.or(raw.base_url);
    if let Some(api) = raw.api.filter(|_| name != ProviderName::OpenAi) {
        return Err(
            text.error_at(api.span(), format!("{name} has only one API; remove api, which is for openai"))
        );
    }
    if let Some(version) = raw.api_version {
        if !matches!(name, ProviderName::Gemini | ProviderName::Anthropic) {
            let why = format!("{name} has no API version setting; the version can be part of base_url");
            return Err(text.error_at(version.span(), why));
        }
        settings.api_version = Some(version.into_inner());
    }
    if let Some(concurrency) = raw.concurrency {
        if !(1..=64).contains(concurrency.get_ref()) {
            return Err(text.error_at(concurrency.span(), "concurrency must be 1 to 64"));
        }
        settings.concurrency = *concurrency.get_ref();
    }
    if let Some(timeout) = raw.timeout {
        let at = |why: String| text.error_at(timeout.span(), why);
        let time = parse_duration(timeout.get_ref()).map_err(|error| at(error.to_string()))?;
        if time.is_zero() || time > MAX_TIMEOUT {
            return Err(at("timeout must be more than 0 and at most \"10 min\"".to_owned()));
        }
        settings.timeout = time;
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn models(content: &str, env: &Env) -> Result<ModelsConfig, String> {
        let text = ConfigText { file: Some("/etc/gh/presets.toml".into()), content: content.into() };
        Config::parse(&text, env).map(|config| config.models).map_err(|error| error.to_string())
    }

    #[test]
    fn without_a_word_the_embedding_is_local_and_the_environment_chooses() {
        let config = models("", &Env::default()).expect("valid");
        assert_eq!(config, ModelsConfig::default());
        let env = Env::from_pairs([("GEMINI_API_KEY", "secret-0123456789\n"), ("OLLAMA_HOST", "box:1234")]);
        let config = models("", &env).expect("valid");
        assert!(config.is_set_up(ProviderName::Gemini) && config.is_set_up(ProviderName::Ollama));
        assert!(!config.is_set_up(ProviderName::OpenAi));
        assert_eq!(config.gemini.key.as_ref().map(|key| key.reveal()), Some("secret-0123456789"));
        assert_eq!(config.ollama.base_url.as_deref(), Some("box:1234"));
        assert!(!format!("{config:?}").contains("0123456789"), "{config:?}");
    }

    #[test]
    fn the_file_chooses_and_the_environment_says_where() {
        let content = "[models]\nembedding = \"openai/text-embedding-3-large\"\nllm = \"ollama/qwen3:8b\"\n\
                       [models.openai]\nbase_url = \"https://file.example/v1\"\napi = \"responses\"\n\
                       concurrency = 8\ntimeout = \"30 s\"\n[models.gemini]\napi_version = \"v1\"\n\
                       base_url = \"https://gemini.example\"\n";
        let env = Env::from_pairs([("OPENAI_BASE_URL", "https://env.example/v1")]);
        let config = models(content, &env).expect("valid");
        let large = Some("text-embedding-3-large".to_owned());
        assert_eq!(config.embedding, EmbeddingChoice::Provider(ProviderName::OpenAi, large));
        assert_eq!(config.llm, LlmChoice::Provider(ProviderName::Ollama, Some("qwen3:8b".into())));
        assert_eq!(config.openai_api, OpenAiApi::Responses);
        assert_eq!(config.openai.base_url.as_deref(), Some("https://env.example/v1"));
        assert_eq!((config.openai.concurrency, config.openai.timeout.as_secs()), (8, 30));
        assert_eq!(config.gemini.base_url.as_deref(), Some("https://gemini.example"));
        assert_eq!(config.gemini.api_version.as_deref(), Some("v1"));
        let off = models("[models]\nllm = \"off\"\nembedding = \"local\"", &env).expect("valid");
        assert_eq!((off.llm, off.embedding), (LlmChoice::Off, EmbeddingChoice::Local));
    }

    #[test]
    fn an_address_of_the_file_gets_the_key_that_its_block_names_and_no_other() {
        let env =
            Env::from_pairs([("OPENAI_API_KEY", "sk-0123456789"), ("GATEHOUSE_TOKEN", "token-0123456789")]);
        let key = |content: &str, env: &Env| {
            let config = models(content, env).expect("valid");
            (config.openai.key.map(|key| key.reveal().to_owned()), config.openai.keyless)
        };
        let address = "[models.openai]\nbase_url = \"https://file.example/v1\"\n";
        assert_eq!(key("", &env), (Some("sk-0123456789".into()), false));
        assert_eq!(key(address, &env), (None, true));
        let named = |name: &str| format!("{address}api_key = \"${{{name}}}\"\n");
        assert_eq!(key(&named("OPENAI_API_KEY"), &env), (Some("sk-0123456789".into()), false));
        assert_eq!(key(&named("GATEHOUSE_TOKEN"), &env), (Some("token-0123456789".into()), false));
        assert_eq!(key(&named("GATEHOUSE_TEST_UNSET"), &env), (None, false));
        // If the environment sets the URL, it also supplies the key.
        let both = Env::from_pairs([
            ("OPENAI_API_KEY", "sk-0123456789"),
            ("OPENAI_BASE_URL", "https://env.example/v1"),
        ]);
        assert_eq!(key(address, &both), (Some("sk-0123456789".into()), false));
    }

    #[test]
    fn every_mistake_has_its_place() {
        let error = |content: &str| models(content, &Env::default()).expect_err("refused");
        let llm = error("[models]\nllm = \"openia\"");
        assert!(llm.contains(":2:7: 'openia' is not allowed here. Did you mean 'openai'?"), "{llm}");
        let embedding = error("[models]\nembedding = \"anthropic\"");
        assert!(embedding.contains("There are: local, openai, gemini, ollama."), "{embedding}");
        assert!(error("[models]\nllm = \"gemini/\"").contains("missing model name"));
        assert!(error("[models]\nllms = 5").contains(":2:1: unknown key 'llms'. Did you mean 'llm'?"));
        assert!(error("[models.gemini]\napi = \"chat\"").contains(":2:7: Gemini has only one API"));
        assert!(error("[models.ollama]\napi_version = \"v1\"").contains(":2:15: Ollama has no API version"));
        assert!(error("[models.openai]\nconcurrency = 0").contains(":2:15: concurrency must be 1 to 64"));
        assert!(
            error("[models.openai]\ntimeout = \"11 min\"").contains(":2:11: timeout must be more than 0")
        );
        let literal = error("[models.openai]\napi_key = \"sk-live-0123456789\"");
        assert!(
            literal.contains(":2:11: api_key must name the variable") && !literal.contains("sk-live"),
            "{literal}"
        );
    }
}
