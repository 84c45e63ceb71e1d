//! Hints for missing models or web search, based on what is already configured.

use crate::config::{ModelsConfig, ProviderName, ProviderSettings};

const BLOCK: &str = "presets.toml";

/// Returns the setting that provides a key, such as a variable. Fits after `Set `.
pub(crate) fn key(name: ProviderName, settings: &ProviderSettings) -> String {
    match (&settings.key_variable, settings.keyless) {
        (Some(variable), _) => variable.clone(),
        (None, true) => {
            format!("api_key = \"${{{}}}\" under [models.{}] in {BLOCK}", name.variable(), name.id())
        }
        (None, false) => name.variable().to_owned(),
    }
}

pub(crate) fn any(config: &ModelsConfig) -> String {
    let ways: Vec<String> = ProviderName::ALL.iter().map(|name| key(*name, config.settings(*name))).collect();
    format!("Set one of {}.", listed(&ways))
}

/// Returns the hint for missing web search. `chat` is true if OpenAI uses Chat Completions.
pub(crate) fn web(config: &ModelsConfig, chat: bool) -> String {
    let mut ways = Vec::new();
    for name in [ProviderName::OpenAi, ProviderName::Gemini, ProviderName::Anthropic] {
        match (name, config.is_set_up(name)) {
            (_, false) => ways.push(key(name, config.settings(name))),
            (ProviderName::OpenAi, true) if chat => {
                let server = config.openai.base_url.as_ref().map(|_| " if the server there has that API");
                let server = server.unwrap_or_default();
                ways.push(format!("api = \"responses\" under [models.openai] in {BLOCK}{server}"));
            }
            (_, true) => {}
        }
    }
    match ways.as_slice() {
        [] => format!("Choose openai, gemini or anthropic as llm in [models] in {BLOCK}."),
        [way] => format!("Set {way}."),
        _ => format!("Set one of {}.", listed(&ways)),
    }
}

fn listed(ways: &[String]) -> String {
    match ways {
        [] => String::new(),
        [way] => way.clone(),
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
    fn the_advice_fits_what_is_set_up() {
        let none = with_openai(None, false);
        assert_eq!(
            any(&none),
            "Set one of OPENAI_API_KEY, GEMINI_API_KEY, ANTHROPIC_API_KEY or OLLAMA_HOST."
        );
        assert_eq!(web(&none, false), "Set one of OPENAI_API_KEY, GEMINI_API_KEY or ANTHROPIC_API_KEY.");
        let own = with_openai(Some("http://box/v1"), false);
        assert_eq!(
            web(&own, true),
            "Set one of api = \"responses\" under [models.openai] in presets.toml if the server there has that API, \
             GEMINI_API_KEY or ANTHROPIC_API_KEY."
        );
        let gemini = ProviderSettings { keyless: true, ..ProviderSettings::default() };
        let kept = ModelsConfig { gemini, ..ModelsConfig::default() };
        assert!(web(&kept, false).contains("api_key = \"${GEMINI_API_KEY}\" under [models.gemini]"));
    }
}
