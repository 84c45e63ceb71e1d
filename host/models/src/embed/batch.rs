//! What the providers of embeddings have in common: many texts become a few requests, and what comes back is
//! checked before anybody compares it.

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

/// The most numbers of a vector; the largest models have half of it.
const MAX_DIMENSION: usize = 8192;

/// Requests of one call at the same time; the provider's own limit holds for all calls together.
const MAX_CONCURRENT_REQUESTS: usize = 4;

/// One request may hold so much.
pub(crate) struct BatchLimits {
    /// Texts.
    pub(crate) texts: usize,
    /// Bytes of all texts. A token has a byte at least, so it bounds tokens too.
    pub(crate) bytes: usize,
}

/// How a provider is asked for vectors.
pub(crate) trait EmbeddingApi: Send + Sync {
    /// What one request may hold.
    const LIMITS: BatchLimits;

    /// The text as it is sent: with a prefix that the model wants, without what it would not read.
    fn prepare<'a>(&self, text: &'a str, purpose: EmbeddingPurpose) -> Cow<'a, str>;

    /// Path and body of a request.
    fn request(&self, texts: &[&str], purpose: EmbeddingPurpose) -> (String, Value);

    /// The vectors in an answer, in the order of the texts; none where the answer is in the wrong form.
    fn vectors(&self, answer: Value) -> Option<Vec<Vec<f32>>>;
}

/// A provider of embeddings.
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

    /// In as few requests as the limits allow. Blank texts are not sent and have no vector.
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
        let found: Vec<Vec<EmbeddingVector>> =
            stream::iter(requests).buffered(MAX_CONCURRENT_REQUESTS).try_collect().await?;
        let mut all = vec![None; texts.len()];
        for ((number, _), vector) in prepared.iter().zip(found.into_iter().flatten()) {
            all[*number] = vector;
        }
        let mut lengths = all.iter().flatten().map(Vec::len);
        if let Some(first) = lengths.next()
            && lengths.any(|other| other != first)
        {
            return Err(no_vectors(&self.provider, "vectors of different dimensions"));
        }
        Ok(all)
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
            api.vectors(answer).ok_or_else(|| no_vectors(provider, "something that holds no vectors"))?;
        if vectors.len() != texts.len() {
            return Err(no_vectors(
                provider,
                &format!("{} vectors for {} texts", vectors.len(), texts.len()),
            ));
        }
        vectors
            .into_iter()
            .map(|vector| unit(vector).ok_or_else(|| no_vectors(provider, "a vector of no sensible length")))
            .collect()
    }
}

fn no_vectors(provider: &Provider, what: &str) -> Fault {
    Fault::internal(format!("{} answered with {what}.", provider.subject()))
        .hint("Check that the model named in [models] is one for embeddings.")
}

/// A vector of length 1; none of zeros, which says nothing. The outer none: it is no vector.
#[allow(clippy::option_option, reason = "one for the answer, one for the vector")]
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

/// Runs of texts that fit into a request; a text that is too long alone is one alone.
fn batches<'a, 'b>(texts: &'a [&'b str], limits: &BatchLimits) -> Vec<&'a [&'b str]> {
    let mut all = Vec::new();
    let mut rest = texts;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = rest.iter().take(limits.texts).take_while(|text| {
            bytes += text.len();
            bytes <= limits.bytes
        });
        let (batch, after) = rest.split_at(fits.count().max(1));
        all.push(batch);
        rest = after;
    }
    all
}

/// The array of numbers that a pointer names.
pub(super) fn numbers(value: &Value) -> Option<Vec<f32>> {
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
