//! Choice of the provider for each request, and messages if there is none.

use gatehouse_core::{
    FaultKind,
    http::Secret,
    ports::{embed::EmbeddingPurpose, llm::ModelPrompt},
};
use gatehouse_models::{
    ModelsConfig,
    config::{EmbeddingChoice, LlmChoice, OpenAiApi, ProviderName, ProviderSettings},
};

use crate::{
    plain::models,
    support::{Dialect, Does, KEY, Mock, ask, prompt},
};

fn key() -> ProviderSettings {
    ProviderSettings { key: Some(Secret::new(KEY)), ..ProviderSettings::default() }
}

fn at(url: &str) -> ProviderSettings {
    ProviderSettings { base_url: Some(url.into()), ..ProviderSettings::default() }
}

fn serving(config: &ModelsConfig) -> (Option<String>, Option<String>) {
    let models = models(config).unwrap();
    (models.llm.model().map(str::to_owned), models.llm.web_model().map(str::to_owned))
}

#[tokio::test]
async fn nothing_is_configured() {
    let config = ModelsConfig::default();
    assert_eq!(serving(&config), (None, None));
    let fault = ask(&config, prompt("Greet.")).await.0.unwrap_err();
    assert_eq!((fault.kind, fault.retryable), (FaultKind::Unavailable, false));
    for name in ProviderName::ALL {
        assert!(fault.hint.as_ref().unwrap().contains(name.variable()), "{fault:?}");
    }
    let models = models(&config).unwrap();
    assert_eq!(models.embedder.model(), "local/plain");
    assert!(models.embedder.embed(&["search".into()], EmbeddingPurpose::Query).await.unwrap()[0].is_some());
}

#[tokio::test]
async fn off_is_off() {
    let config = ModelsConfig { llm: LlmChoice::Off, openai: key(), ..ModelsConfig::default() };
    assert_eq!(serving(&config), (None, None));
    let fault = ask(&config, prompt("Greet.")).await.0.unwrap_err();
    assert!(fault.message.contains("switched off"), "{fault:?}");
}

#[test]
fn the_first_configured_provider_serves() {
    let some = |text: &str| Some(text.to_owned());
    let all = ModelsConfig {
        openai: key(),
        gemini: key(),
        anthropic: key(),
        ollama: at("127.0.0.1"),
        ..ModelsConfig::default()
    };
    assert_eq!(serving(&all), (some("openai/gpt-5.4-mini"), some("openai/gpt-5.4-mini")));
    let gemini = ModelsConfig { gemini: key(), anthropic: key(), ..ModelsConfig::default() };
    assert_eq!(serving(&gemini), (some("gemini/gemini-2.5-flash"), some("gemini/gemini-2.5-flash")));
    let named = LlmChoice::Provider(ProviderName::Anthropic, some("claude-opus-5-5"));
    let named = ModelsConfig { llm: named, ..all.clone() };
    assert_eq!(serving(&named), (some("anthropic/claude-opus-5-5"), some("anthropic/claude-opus-5-5")));
    let ollama = ModelsConfig { ollama: at("127.0.0.1"), ..ModelsConfig::default() };
    assert_eq!(serving(&ollama), (some("ollama/llama3.2"), None));
    // A server with OpenAI's API needs no key, and has no web search.
    let own = ModelsConfig { openai: at("http://127.0.0.1:8080/v1"), ..ModelsConfig::default() };
    assert_eq!(serving(&own), (some("openai/gpt-5.4-mini"), None));
    let responses = ModelsConfig { openai_api: OpenAiApi::Responses, ..own };
    assert_eq!(serving(&responses).1, some("openai/gpt-5.4-mini"));
}

#[tokio::test]
async fn another_one_searches_where_the_first_cannot() {
    let [plain, web] = [Dialect::Ollama, Dialect::Gemini];
    let ollama = Mock::script(vec![Does::says(plain.hello())]).await;
    let gemini = Mock::script(vec![Does::says(include_str!("../data/gemini-search.sse"))]).await;
    let mut config = plain.config(&ollama.url);
    config.gemini = web.config(&gemini.url).gemini;
    assert_eq!(serving(&config).1.as_deref(), Some("gemini/gemini-2.5-flash"));
    assert_eq!(ask(&config, prompt("Greet.")).await.0.unwrap().text, "Hello world.");
    let found = ask(&config, ModelPrompt { web_search: true, ..prompt("Find.") }).await.0.unwrap();
    assert_eq!((found.model.as_str(), found.sources.len()), ("gemini/gemini-2.5-flash", 2));
    assert_eq!((ollama.seen().len(), gemini.seen().len()), (1, 1));
}

#[tokio::test]
async fn a_named_provider_without_a_key_is_not_replaced() {
    let config = ModelsConfig {
        llm: LlmChoice::Provider(ProviderName::Anthropic, None),
        embedding: EmbeddingChoice::Provider(ProviderName::OpenAi, None),
        gemini: key(),
        ..ModelsConfig::default()
    };
    assert_eq!(serving(&config), (None, None));
    let fault = ask(&config, prompt("Greet.")).await.0.unwrap_err();
    assert!(fault.hint.as_ref().unwrap().contains("ANTHROPIC_API_KEY"), "{fault:?}");
    let models = models(&config).unwrap();
    let fault = models.embedder.embed(&["a".into()], EmbeddingPurpose::Query).await.unwrap_err();
    assert_eq!(
        (fault.kind, models.embedder.model()),
        (FaultKind::Unavailable, "openai/text-embedding-3-small")
    );
    assert!(fault.hint.unwrap().contains("OPENAI_API_KEY"));
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let bad = |config: ModelsConfig| models(&config).map(|_| ()).unwrap_err().to_string();
    let broken =
        ProviderSettings { key: Some(Secret::new("sk-hidden\nvalue")), ..ProviderSettings::default() };
    let error = bad(ModelsConfig { openai: broken, ..ModelsConfig::default() });
    assert!(error.starts_with("OpenAI: the key") && !error.contains("hidden"), "{error}");
    let error = bad(ModelsConfig { ollama: at("ftp://box"), ..ModelsConfig::default() });
    assert!(error.contains("not an http or https URL"), "{error}");
    let version = ProviderSettings { api_version: Some("../v1".into()), ..key() };
    assert!(bad(ModelsConfig { gemini: version, ..ModelsConfig::default() }).contains("api_version"));
    let embedding = EmbeddingChoice::Provider(ProviderName::Anthropic, None);
    assert!(bad(ModelsConfig { embedding, ..ModelsConfig::default() }).contains("no embeddings"));
    let llm = LlmChoice::Provider(ProviderName::Gemini, Some("../../x?y".into()));
    assert!(
        bad(ModelsConfig { llm, gemini: key(), ..ModelsConfig::default() }).contains("invalid model name")
    );
}
