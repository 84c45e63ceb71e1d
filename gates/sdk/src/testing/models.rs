//! Models as a test wants them: closures that answer.

use super::{Fake, current, unset};
use crate::{
    Fault,
    models::{Completion, Embeddings, Encoding, Options, Purpose, Serving},
};

type Complete = Box<dyn Fn(&str, &Options) -> Result<Completion, Fault>>;
type Embed = Box<dyn Fn(&[String], Purpose) -> Result<Embeddings, Fault>>;
type CountTokens = Box<dyn Fn(&str, Encoding) -> u32>;

/// The closures.
#[derive(Default)]
pub(super) struct Models {
    complete: Option<Complete>,
    embed: Option<Embed>,
    count_tokens: Option<CountTokens>,
    serving: Option<Serving>,
}

impl Fake {
    /// What [`crate::models::complete`] does.
    #[must_use]
    pub fn complete(mut self, f: impl Fn(&str, &Options) -> Result<Completion, Fault> + 'static) -> Self {
        self.models.complete = Some(Box::new(f));
        self
    }

    /// What [`crate::models::embed`] does.
    #[must_use]
    pub fn embed(mut self, f: impl Fn(&[String], Purpose) -> Result<Embeddings, Fault> + 'static) -> Self {
        self.models.embed = Some(Box::new(f));
        self
    }

    /// What [`crate::models::count_tokens`] does with each text.
    #[must_use]
    pub fn count_tokens(mut self, f: impl Fn(&str, Encoding) -> u32 + 'static) -> Self {
        self.models.count_tokens = Some(Box::new(f));
        self
    }

    /// What [`crate::models::which`] says.
    #[must_use]
    pub fn serving(mut self, llm: Option<&str>, web_search: Option<&str>, embedding: &str) -> Self {
        self.models.serving = Some(Serving {
            llm: llm.map(str::to_owned),
            web_search: web_search.map(str::to_owned),
            embedding: embedding.to_owned(),
        });
        self
    }
}

pub(crate) fn complete(prompt: &str, options: &Options) -> Result<Completion, Fault> {
    current().models.complete.as_ref().map_or_else(|| unset("models.complete"), |f| f(prompt, options))
}

pub(crate) fn embed(texts: &[String], purpose: Purpose) -> Result<Embeddings, Fault> {
    current().models.embed.as_ref().map_or_else(|| unset("models.embed"), |f| f(texts, purpose))
}

pub(crate) fn count_tokens(texts: &[String], encoding: Encoding) -> Result<Vec<u32>, Fault> {
    let host = current();
    let count = host.models.count_tokens.as_ref();
    count.map_or_else(
        || unset("models.count-tokens"),
        |f| Ok(texts.iter().map(|text| f(text, encoding)).collect()),
    )
}

pub(crate) fn which() -> Result<Serving, Fault> {
    current().models.serving.clone().map_or_else(|| unset("models.which"), Ok)
}
