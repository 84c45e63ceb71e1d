//! Tests of model settings.

use super::*;
use crate::config::tests::parse;

fn models(content: &str, env: &Env) -> Result<ModelsConfig, PlainError> {
    parse(content, env).map(|config| config.models)
}

#[test]
fn the_default_embedding_is_local_and_the_environment_sets_providers() {
    let config = models("", &Env::default()).expect("valid");
    assert_eq!(config, ModelsConfig::default());
    let env = Env::from_pairs([("GEMINI_API_KEY", "secret-0123456789\n"), ("OLLAMA_HOST", "box:1234")]);
    let config = models("", &env).expect("valid");
    assert!(config.is_configured(ProviderName::Gemini) && config.is_configured(ProviderName::Ollama));
    assert!(!config.is_configured(ProviderName::OpenAi));
    assert_eq!(config.gemini.key.as_ref().map(|key| key.reveal()), Some("secret-0123456789"));
    assert_eq!(config.ollama.base_url.as_deref(), Some("box:1234"));
    assert!(!format!("{config:?}").contains("0123456789"), "{config:?}");
}

#[test]
fn the_file_chooses_models_and_the_environment_addresses() {
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
    let env = Env::from_pairs([("OPENAI_API_KEY", "sk-0123456789"), ("GATEHOUSE_TOKEN", "token-0123456789")]);
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
    let both =
        Env::from_pairs([("OPENAI_API_KEY", "sk-0123456789"), ("OPENAI_BASE_URL", "https://env.example/v1")]);
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
    assert!(error("[models.openai]\ntimeout = \"11 min\"").contains(":2:11: timeout must be more than 0"));
    let literal = error("[models.openai]\napi_key = \"sk-live-0123456789\"");
    assert!(
        literal.contains(":2:11: api_key must name the variable") && !literal.contains("sk-live"),
        "{literal}"
    );
}
