//! Everything that was chosen, composed: one embedder, and one language model, behind which two providers may
//! stand where the one that answers cannot search the web.

use std::sync::Arc;

use async_trait::async_trait;
use gatehouse_core::{
    Fault,
    http::Secret,
    ports::{
        embed::{EmbedFor, Embedder, Vector},
        llm::{Completion, Hear, Llm, Prompt},
    },
};

use crate::{
    config::{BadSetting, EmbeddingChoice, LlmChoice, ModelsConfig, OpenAiApi, ProviderName},
    embed::{LocalEmbedder, gemini::GeminiEmbedder, ollama::OllamaEmbedder, openai::OpenAiEmbedder},
    llm::{
        NoLlm, anthropic,
        anthropic::Anthropic,
        gemini,
        gemini::Gemini,
        no_web,
        ollama::Ollama,
        openai::{self, OpenAi},
    },
    provider::{Client, Provider},
};

/// The models of this host. Nothing is connected to before somebody asks.
pub struct Models {
    /// Answers questions.
    pub llm: Arc<dyn Llm>,
    /// Makes vectors.
    pub embedder: Arc<dyn Embedder>,
}

impl Models {
    /// Makes what was chosen.
    ///
    /// A provider that was named and is not set up is no error here: its faults say which variable is missing,
    /// and everything that needs no model works. Nobody else takes its place.
    ///
    /// # Errors
    /// A setting that makes no sense: an address that is none, a key that cannot be sent, embeddings of a
    /// provider that has none.
    pub fn new(config: &ModelsConfig) -> Result<Self, BadSetting> {
        let make = Make { config, client: Arc::default() };
        Ok(Self { llm: make.llm()?, embedder: make.embedder()? })
    }
}

struct Make<'a> {
    config: &'a ModelsConfig,
    client: Arc<Client>,
}

impl Make<'_> {
    fn embedder(&self) -> Result<Arc<dyn Embedder>, BadSetting> {
        let EmbeddingChoice::Provider(name, model) = &self.config.embedding else {
            return Ok(Arc::new(LocalEmbedder));
        };
        let Some(default) = name.default_embedding_model() else {
            return Err(bad(*name, "has no embeddings; local, openai, gemini and ollama have".to_owned()));
        };
        let model = model_name(*name, model.as_deref().unwrap_or(default))?;
        let provider = self.provider(*name)?;
        if !self.config.is_set_up(*name) {
            return Ok(Arc::new(NotSetUp { name: *name, model: provider.model(&model) }));
        }
        Ok(match name {
            ProviderName::OpenAi => Arc::new(OpenAiEmbedder::new(provider, model)),
            ProviderName::Gemini => {
                Arc::new(GeminiEmbedder::new(provider, self.version(*name, gemini::VERSION)?, model))
            }
            _ => Arc::new(OllamaEmbedder::new(provider, model)),
        })
    }

    fn llm(&self) -> Result<Arc<dyn Llm>, BadSetting> {
        // All of them are made, so that a wrong setting is found at the start.
        let mut made = Vec::new();
        for name in ProviderName::ALL {
            if self.config.is_set_up(name) {
                made.push((name, self.one(name, None)?));
            }
        }
        let plain = match &self.config.llm {
            LlmChoice::Off => return Ok(Arc::new(NoLlm { off: true })),
            LlmChoice::Auto => made.first().map(|(_, llm)| Arc::clone(llm)),
            LlmChoice::Provider(name, model) if self.config.is_set_up(*name) => {
                Some(self.one(*name, model.as_deref())?)
            }
            LlmChoice::Provider(name, model) => {
                model_name(*name, model.as_deref().unwrap_or(name.default_model()))?;
                return Ok(Arc::new(NotSetUp { name: *name, model: String::new() }));
            }
        };
        let Some(plain) = plain else { return Ok(Arc::new(NoLlm { off: false })) };
        if plain.web_model().is_some() {
            return Ok(plain);
        }
        let web = made.into_iter().map(|(_, llm)| llm).find(|llm| llm.web_model().is_some());
        Ok(Arc::new(Composed { plain, web }))
    }

    fn one(&self, name: ProviderName, model: Option<&str>) -> Result<Arc<dyn Llm>, BadSetting> {
        let provider = self.provider(name)?;
        let model = model_name(name, model.unwrap_or(name.default_model()))?;
        Ok(match name {
            ProviderName::OpenAi => {
                let responses = match self.config.openai_api {
                    OpenAiApi::Auto => provider.is_at(openai::HOST),
                    OpenAiApi::Responses => true,
                    OpenAiApi::Chat => false,
                };
                Arc::new(OpenAi::new(provider, model, responses))
            }
            ProviderName::Gemini => {
                Arc::new(Gemini::new(provider, self.version(name, gemini::VERSION)?, model))
            }
            ProviderName::Anthropic => {
                let version = self.version(name, anthropic::VERSION)?;
                let provider = provider.header("anthropic-version", &version)?;
                Arc::new(Anthropic::new(provider, &version, model))
            }
            ProviderName::Ollama => Arc::new(Ollama::new(provider, model)),
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
        Provider::new(name, settings, header, self.config.retry, Arc::clone(&self.client))
    }

    fn version(&self, name: ProviderName, default: &str) -> Result<String, BadSetting> {
        let version = self.config.settings(name).api_version.as_deref().unwrap_or(default);
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if version.is_empty() || version.len() > 32 || !version.chars().all(fits) {
            return Err(bad(name, "api_version has letters, digits and '-' only".to_owned()));
        }
        Ok(version.to_owned())
    }
}

/// A model's name, which is part of Gemini's paths.
fn model_name(provider: ProviderName, model: &str) -> Result<String, BadSetting> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.:/@".contains(c);
    if model.is_empty() || model.len() > 128 || !model.chars().all(fits) || model.contains("..") {
        let shown = gatehouse_core::names::quoted(model, 64);
        return Err(bad(provider, format!("'{shown}' is no name of a model")));
    }
    Ok(model.to_owned())
}

fn bad(provider: ProviderName, message: String) -> BadSetting {
    BadSetting { provider, message }
}

/// One that answers, and one that searches.
struct Composed {
    plain: Arc<dyn Llm>,
    web: Option<Arc<dyn Llm>>,
}

#[async_trait]
impl Llm for Composed {
    fn model(&self) -> Option<&str> {
        self.plain.model()
    }

    fn web_model(&self) -> Option<&str> {
        self.web.as_ref()?.web_model()
    }

    async fn complete(&self, prompt: Prompt, hear: Hear<'_>) -> Result<Completion, Fault> {
        match &self.web {
            Some(web) if prompt.web_search => web.complete(prompt, hear).await,
            None if prompt.web_search => Err(no_web(self.plain.model().unwrap_or("The model"))),
            _ => self.plain.complete(prompt, hear).await,
        }
    }
}

/// A provider that was named and has no key.
struct NotSetUp {
    name: ProviderName,
    model: String,
}

impl NotSetUp {
    fn fault(&self) -> Fault {
        let variable = self.name.variable();
        let mut fault = Fault::unavailable(format!("{} is chosen in [models] and is not set up.", self.name))
            .hint(format!("Set {variable}, or choose another provider in [models]."));
        fault.retryable = false;
        fault
    }
}

#[async_trait]
impl Embedder for NotSetUp {
    fn model(&self) -> &str {
        &self.model
    }

    async fn embed(&self, _texts: &[String], _purpose: EmbedFor) -> Result<Vec<Vector>, Fault> {
        Err(self.fault())
    }
}

#[async_trait]
impl Llm for NotSetUp {
    fn model(&self) -> Option<&str> {
        None
    }

    fn web_model(&self) -> Option<&str> {
        None
    }

    async fn complete(&self, _prompt: Prompt, _hear: Hear<'_>) -> Result<Completion, Fault> {
        Err(self.fault())
    }
}
