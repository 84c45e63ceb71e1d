//! Builds the configured embedder and language model. Another provider can add web search.

use std::sync::Arc;

use async_trait::async_trait;
use gatehouse_core::{
    Fault,
    http::Secret,
    ports::{
        TokenCounter,
        embed::Embedder,
        llm::{Llm, ModelCompletion, ModelPrompt, OnCompletionProgress},
    },
};
use gatehouse_net::HttpClients;

use crate::{
    config::{BadSetting, EmbeddingChoice, LlmChoice, ModelsConfig, OpenAiApi, ProviderName},
    embed::{ProviderEmbedder, gemini::GeminiEmbeddings, ollama::OllamaEmbeddings, openai::OpenAiEmbeddings},
    llm::{ProviderLlm, anthropic, gemini, ollama::OllamaChat, openai},
    no_model::{NOT_CONFIGURED, NoModel, SWITCHED_OFF, any_key_hint, key_hint, no_web, web_search_hint},
    provider::Provider,
};

/// Models of a host. Nothing connects before the first request.
pub struct ConfiguredModels {
    pub llm: Arc<dyn Llm>,
    pub embedder: Arc<dyn Embedder>,
    pub missing: MissingModels,
}

/// Missing features, each with a hint, for users.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MissingModels {
    pub answers: Option<String>,
    pub web_search: Option<String>,
}

/// Models that run on this machine, from other crates.
pub struct LocalModels {
    /// Used if no embedding provider is configured.
    pub embedder: Arc<dyn Embedder>,
    /// Counts tokens as OpenAI does.
    pub tokens: Arc<dyn TokenCounter>,
}

impl ConfiguredModels {
    /// Creates the configured models.
    ///
    /// If the chosen provider is not configured, its requests fail with the name of the missing variable. No other
    /// provider replaces it.
    ///
    /// # Errors
    /// An invalid setting, such as an invalid base URL or an embedding provider without embeddings.
    pub fn new(config: &ModelsConfig, local: LocalModels) -> Result<Self, BadSetting> {
        let make = Builder { config, local, clients: Arc::default() };
        let (llm, missing) = make.llm()?;
        Ok(Self { llm, embedder: make.embedder()?, missing })
    }
}

struct Builder<'a> {
    config: &'a ModelsConfig,
    local: LocalModels,
    clients: Arc<HttpClients>,
}

impl Builder<'_> {
    fn embedder(&self) -> Result<Arc<dyn Embedder>, BadSetting> {
        let EmbeddingChoice::Provider(name, model) = &self.config.embedding else {
            return Ok(Arc::clone(&self.local.embedder));
        };
        let Some(default) = name.default_embedding_model() else {
            return Err(BadSetting::new(*name, "has no embeddings; use local, openai, gemini or ollama"));
        };
        let bare = model_name(*name, model.as_deref().unwrap_or(default))?;
        let provider = self.provider(*name)?;
        let model = provider.model(&bare);
        if !self.config.is_configured(*name) {
            return Ok(Arc::new(self.not_configured(*name, model)));
        }
        Ok(match name {
            ProviderName::OpenAi => {
                let api = OpenAiEmbeddings { model: bare, tokens: Arc::clone(&self.local.tokens) };
                Arc::new(ProviderEmbedder { provider, model, api })
            }
            ProviderName::Gemini => {
                let api = GeminiEmbeddings { version: self.version(*name, gemini::VERSION)?, model: bare };
                Arc::new(ProviderEmbedder { provider, model, api })
            }
            _ => Arc::new(ProviderEmbedder { provider, model, api: OllamaEmbeddings { model: bare } }),
        })
    }

    fn llm(&self) -> Result<(Arc<dyn Llm>, MissingModels), BadSetting> {
        // Create all of them, so that invalid settings are found at startup.
        let mut llms = Vec::new();
        for name in ProviderName::ALL {
            if self.config.is_configured(name) {
                llms.push((name, self.one(name, None)?));
            }
        }
        let without_model = |no: NoModel| {
            let answers = Some(if no.reason == SWITCHED_OFF {
                no.reason.clone()
            } else {
                format!("{}. {}", no.reason, no.hint)
            });
            (Arc::new(no) as Arc<dyn Llm>, MissingModels { answers, web_search: None })
        };
        let plain = match &self.config.llm {
            LlmChoice::Off => {
                let hint = "Set llm to \"auto\" or to a provider in [models].".to_owned();
                return Ok(without_model(NoModel::new(SWITCHED_OFF, hint.clone(), hint)));
            }
            LlmChoice::Auto => llms.first().map(|(_, llm)| Arc::clone(llm)),
            LlmChoice::Provider(name, model) if self.config.is_configured(*name) => {
                Some(self.one(*name, model.as_deref())?)
            }
            LlmChoice::Provider(name, model) => {
                model_name(*name, model.as_deref().unwrap_or(name.default_model()))?;
                return Ok(without_model(self.not_configured(*name, String::new())));
            }
        };
        let Some(plain) = plain else {
            let hint = any_key_hint(self.config);
            return Ok(without_model(NoModel::new(NOT_CONFIGURED, hint, self.web_hint()?)));
        };
        if plain.web_model().is_some() {
            return Ok((plain, MissingModels::default()));
        }
        let web_hint = self.web_hint()?;
        let web = llms.into_iter().map(|(_, llm)| llm).find(|llm| llm.web_model().is_some());
        let web_search = web.is_none().then(|| format!("No model searches the web. {web_hint}"));
        let llm = Arc::new(WebSearchFallback { plain, web, web_hint });
        Ok((llm, MissingModels { answers: None, web_search }))
    }

    fn web_hint(&self) -> Result<String, BadSetting> {
        Ok(web_search_hint(self.config, !self.speaks_responses(&self.provider(ProviderName::OpenAi)?)))
    }

    fn speaks_responses(&self, openai: &Provider) -> bool {
        match self.config.openai_api {
            OpenAiApi::Auto => openai.is_at(openai::HOST),
            OpenAiApi::Responses => true,
            OpenAiApi::Chat => false,
        }
    }

    fn not_configured(&self, name: ProviderName, embeds_as: String) -> NoModel {
        NoModel::from_provider(name, &key_hint(name, self.config.settings(name)), embeds_as)
    }

    fn one(&self, name: ProviderName, model: Option<&str>) -> Result<Arc<dyn Llm>, BadSetting> {
        let provider = self.provider(name)?;
        let model = model_name(name, model.unwrap_or(name.default_model()))?;
        Ok(match name {
            ProviderName::OpenAi if self.speaks_responses(&provider) => {
                Arc::new(ProviderLlm::new(provider, model, openai::OpenAiResponses))
            }
            ProviderName::OpenAi => {
                let api = openai::ChatCompletions { official: provider.is_at(openai::HOST) };
                Arc::new(ProviderLlm::new(provider, model, api))
            }
            ProviderName::Gemini => {
                let api = gemini::GenerateContent { version: self.version(name, gemini::VERSION)? };
                Arc::new(ProviderLlm::new(provider, model, api))
            }
            ProviderName::Anthropic => {
                let version = self.version(name, anthropic::VERSION)?;
                let provider = provider.header("anthropic-version", &version)?;
                let api = anthropic::AnthropicMessages::from_version(&version);
                Arc::new(ProviderLlm::new(provider, model, api))
            }
            ProviderName::Ollama => Arc::new(ProviderLlm::new(provider, model, OllamaChat)),
        })
    }

    fn provider(&self, name: ProviderName) -> Result<Provider, BadSetting> {
        let header = |key: &Secret| match name {
            ProviderName::Gemini => ("x-goog-api-key", key.reveal().to_owned()),
            ProviderName::Anthropic => ("x-api-key", key.reveal().to_owned()),
            ProviderName::OpenAi | ProviderName::Ollama => {
                ("authorization", format!("Bearer {}", key.reveal()))
            }
        };
        let settings = self.config.settings(name);
        Provider::new(name, settings, header, self.config.retry, Arc::clone(&self.clients))
    }

    fn version(&self, name: ProviderName, default: &str) -> Result<String, BadSetting> {
        let version = self.config.settings(name).api_version.as_deref().unwrap_or(default);
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if version.is_empty() || version.len() > 32 || !version.chars().all(fits) {
            return Err(BadSetting::new(name, "api_version must contain only letters, digits and '-'"));
        }
        Ok(version.to_owned())
    }
}

/// Checks a model's name, which is part of Gemini's paths.
fn model_name(provider: ProviderName, model: &str) -> Result<String, BadSetting> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.:/@".contains(c);
    if model.is_empty() || model.len() > 128 || !model.chars().all(fits) || model.contains("..") {
        let display_name = gatehouse_core::names::quoted(model, 64);
        return Err(BadSetting::new(provider, format!("invalid model name '{display_name}'")));
    }
    Ok(model.to_owned())
}

struct WebSearchFallback {
    plain: Arc<dyn Llm>,
    web: Option<Arc<dyn Llm>>,
    /// Hint to get web search.
    web_hint: String,
}

#[async_trait]
impl Llm for WebSearchFallback {
    fn model(&self) -> Option<&str> {
        self.plain.model()
    }

    fn web_model(&self) -> Option<&str> {
        self.web.as_ref()?.web_model()
    }

    async fn complete(
        &self,
        prompt: ModelPrompt,
        on_progress: OnCompletionProgress<'_>,
    ) -> Result<ModelCompletion, Fault> {
        match &self.web {
            Some(web) if prompt.web_search => web.complete(prompt, on_progress).await,
            None if prompt.web_search => {
                Err(no_web(self.plain.model().unwrap_or("the model"), &self.web_hint))
            }
            _ => self.plain.complete(prompt, on_progress).await,
        }
    }
}
