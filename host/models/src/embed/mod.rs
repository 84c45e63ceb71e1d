//! Embedding providers: what they share here, and a file for each with its requests and responses.

pub(crate) mod gemini;
pub(crate) mod ollama;
pub(crate) mod openai;

use std::{borrow::Cow, pin::Pin};

use async_trait::async_trait;
use futures_util::{StreamExt, TryStreamExt, stream};
use gatehouse_core::{
    Fault,
    ports::embed::{Embedder, EmbeddingPurpose, EmbeddingVector},
};
use serde_json::Value;
use tokio::time::Instant;

use crate::provider::Provider;

/// Maximum dimension of a vector; the largest models use half.
const MAX_DIMENSION: usize = 8192;

/// Maximum concurrent requests of one call. The provider's own limit covers all calls.
const MAX_CONCURRENT_REQUESTS: usize = 4;

pub(crate) struct BatchLimits {
    pub(crate) texts: usize,
    /// Bytes of all texts. Also limits tokens, because each has at least one byte.
    pub(crate) bytes: usize,
}

/// The embedding API of a provider.
pub(crate) trait EmbeddingApi: Send + Sync {
    const LIMITS: BatchLimits;

    /// Adds the prefix that the model expects and cuts off what it would not read.
    fn prepare<'a>(&self, text: &'a str, purpose: EmbeddingPurpose) -> Cow<'a, str>;

    fn request(&self, texts: &[&str], purpose: EmbeddingPurpose) -> (String, Value);

    /// Parses vectors in the order of the texts. `None` if the form is wrong.
    fn vectors(&self, answer: Value) -> Option<Vec<Vec<f32>>>;
}

pub(crate) struct ProviderEmbedder<A> {
    pub(crate) provider: Provider,
    /// `provider/model`.
    pub(crate) model: String,
    pub(crate) api: A,
}

#[async_trait]
impl<A: EmbeddingApi> Embedder for ProviderEmbedder<A> {
    fn model(&self) -> &str {
        &self.model
    }

    /// Sends as few requests as possible. Blank texts are not sent and have no vector.
    async fn embed(
        &self,
        texts: &[String],
        purpose: EmbeddingPurpose,
    ) -> Result<Vec<EmbeddingVector>, Fault> {
        let prepared: Vec<(usize, Cow<'_, str>)> = texts
            .iter()
            .enumerate()
            .filter(|(_, text)| !text.trim().is_empty())
            .map(|(number, text)| (number, self.api.prepare(text, purpose)))
            .collect();
        let texts_sent: Vec<&str> = prepared.iter().map(|(_, text)| text.as_ref()).collect();
        let requests: Vec<Pin<Box<dyn Future<Output = _> + Send + '_>>> = batches(&texts_sent, &A::LIMITS)
            .into_iter()
            .map(|batch| Box::pin(self.embed_batch(batch, purpose)) as _)
            .collect();
        let batch_vectors: Vec<Vec<EmbeddingVector>> =
            stream::iter(requests).buffered(MAX_CONCURRENT_REQUESTS).try_collect().await?;
        let mut vectors = vec![None; texts.len()];
        for ((number, _), vector) in prepared.iter().zip(batch_vectors.into_iter().flatten()) {
            vectors[*number] = vector;
        }
        let mut lengths = vectors.iter().flatten().map(Vec::len);
        if let Some(first) = lengths.next()
            && lengths.any(|other| other != first)
        {
            return Err(no_vectors(&self.provider, "vectors of different dimensions"));
        }
        Ok(vectors)
    }
}

impl<A: EmbeddingApi> ProviderEmbedder<A> {
    async fn embed_batch(
        &self,
        texts: &[&str],
        purpose: EmbeddingPurpose,
    ) -> Result<Vec<EmbeddingVector>, Fault> {
        let Self { provider, api, .. } = self;
        let (path, body) = api.request(texts, purpose);
        let answer = provider.ask(&path, &body, Instant::now() + provider.timeout()).await?;
        let vectors =
            api.vectors(answer).ok_or_else(|| no_vectors(provider, "a response without vectors"))?;
        if vectors.len() != texts.len() {
            let problem = format!("{} vectors for {} texts", vectors.len(), texts.len());
            return Err(no_vectors(provider, &problem));
        }
        vectors
            .into_iter()
            .map(|vector| unit(vector).ok_or_else(|| no_vectors(provider, "an invalid vector")))
            .collect()
    }
}

fn no_vectors(provider: &Provider, problem: &str) -> Fault {
    Fault::internal(format!("{} answered with {problem}", provider.subject()))
        .hint("Check that the model in [models] is an embedding model.")
}

/// Normalizes a vector to length 1. Returns `Some(None)` if it is all zeros, and `None` if it is invalid.
#[allow(clippy::option_option, reason = "the outer option is validity, the inner one the vector")]
fn unit(mut vector: Vec<f32>) -> Option<EmbeddingVector> {
    if vector.is_empty() || vector.len() > MAX_DIMENSION || vector.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    if length == 0.0 {
        return Some(None);
    }
    vector.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
    Some(Some(vector))
}

/// Splits texts into batches. A text over the limits gets its own batch.
fn batches<'a, 'b>(texts: &'a [&'b str], limits: &BatchLimits) -> Vec<&'a [&'b str]> {
    let mut batches = Vec::new();
    let mut rest = texts;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = rest.iter().take(limits.texts).take_while(|text| {
            bytes += text.len();
            bytes <= limits.bytes
        });
        let (batch, after) = rest.split_at(fits.count().max(1));
        batches.push(batch);
        rest = after;
    }
    batches
}

fn numbers(value: &Value) -> Option<Vec<f32>> {
    value.as_array()?.iter().map(|number| Some(number.as_f64()? as f32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_hold_as_much_as_they_may() {
        let limits = BatchLimits { texts: 3, bytes: 10 };
        let texts = ["aaaa", "bbbb", "cccc", "d", "e", "f", "g", "a text that is too long", "h"];
        let found: Vec<usize> = batches(&texts, &limits).iter().map(|batch| batch.len()).collect();
        assert_eq!(found, [2, 3, 2, 1, 1]);
        assert!(batches(&[], &limits).is_empty());
    }

    #[test]
    fn vectors_are_of_unit_length_or_none() {
        assert_eq!(unit(vec![3.0, 4.0]), Some(Some(vec![0.6, 0.8])));
        assert_eq!(unit(vec![0.0, 0.0]), Some(None));
        assert_eq!(unit(vec![f32::MAX, 0.0]), Some(Some(vec![1.0, 0.0])));
        for bad in [vec![], vec![f32::NAN], vec![f32::INFINITY], vec![0.0; MAX_DIMENSION + 1]] {
            assert_eq!(unit(bad), None);
        }
    }
}
