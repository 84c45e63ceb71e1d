//! Reuses the summary of an earlier, similar result. Everything must agree: a read-only tool of the same version, the
//! caller, the other arguments, the shape, the question (`guards`), both vectors, and the summary's facts with the new
//! result. For some hits, the model is asked anyway; if it finds other facts, reuse is disabled for that tool.

use std::collections::BTreeSet;

use gatehouse_sdk::{
    Effect,
    context::{self, Level},
    kv,
    models::{self, Purpose},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Request, cache, counters, facts, guards,
    model::{self, SentenceCheck},
    summary::{CacheHit, Summary},
};

const MIN_RESULT_COSINE: f64 = 0.9;

const MAX_ENTRIES: usize = 8;

const MAX_EMBEDDED_CHARS: usize = 32_000;

const MAX_SHAPE_BYTES: usize = 1 << 20;

/// One in this many hits is checked.
const CHECK_INTERVAL: u8 = 8;

/// Models choose different true facts, so half must agree.
const SAME_FACTS_DIVISOR: usize = 2;

#[derive(Serialize, Deserialize)]
struct SemanticEntry {
    question: String,
    /// Embedding model; vectors of different models are not comparable.
    embedding: String,
    question_vector: Vec<f32>,
    result_vector: Vec<f32>,
    summary: Summary,
}

pub(super) fn find(request: &Request<'_>, llm: &str) -> Option<Summary> {
    let (request_question, key) = question_for(request, llm)?;
    if kv::shared().get(&switched_off_key(request)).ok()?.is_some() {
        counters::add("refused.switched_off");
        return None;
    }
    let entries = entries(&key);
    if entries.is_empty() {
        counters::add("miss.semantic");
        return None;
    }
    let (embedding, question, result) = vectors(&request_question, request.text)?;
    for entry in entries.into_iter().rev().filter(|entry| entry.embedding == embedding) {
        let similarity = cosine(&question, &entry.question_vector);
        let refusal = if let Some(guard) = guards::mismatch(&request_question, &entry.question) {
            guard.name()
        } else if similarity < request.call.params.cache_similarity {
            "similarity".into()
        } else if cosine(&result, &entry.result_vector) <= MIN_RESULT_COSINE {
            "result".into()
        } else if let Some(unverified) = checked_again(request, &entry.summary) {
            let cached = Some(CacheHit::Semantic(similarity));
            return Some(spot_check(request, Summary { cached, unverified, ..entry.summary }));
        } else {
            "facts".into()
        };
        counters::add(&format!("refused.{refusal}"));
    }
    counters::add("miss.semantic");
    None
}

/// Returns the sentences of an earlier summary, checked against this result: in its words, one can be reworded here.
/// `None` if it does not support one of them.
fn checked_again(request: &Request<'_>, earlier: &Summary) -> Option<Vec<String>> {
    let check = SentenceCheck::new(request).ok()?;
    earlier.unverified.iter().map(|sentence| check.checked(sentence.clone())).collect()
}

pub(super) fn remember(request: &Request<'_>, llm: &str, summary: &Summary) {
    let Some((question, key)) = question_for(request, llm) else { return };
    let Some((embedding, question_vector, result_vector)) = vectors(&question, request.text) else { return };
    let mut entries = entries(&key);
    entries.retain(|entry| entry.question != question);
    let summary = summary.clone();
    entries.push(SemanticEntry { question, embedding, question_vector, result_vector, summary });
    let newest = entries.len().saturating_sub(MAX_ENTRIES);
    if let Ok(json) = serde_json::to_vec(&entries[newest..]) {
        let _ = kv::shared().set(&key, &json, Some(request.call.params.ttl_ms()));
    }
}

/// Returns the question and the key for similar calls. `None` if no summary can be reused: the tool has effects, the call has no free-text question,
/// or the result is too long to compare.
fn question_for(request: &Request<'_>, llm: &str) -> Option<(String, String)> {
    let origin = request.origin;
    let params = &request.call.params;
    if origin.tool.effect != Effect::ReadOnly || params.cache_similarity >= 1.0 {
        return None;
    }
    let mut arguments: Map<String, Value> = serde_json::from_str(request.arguments).ok()?;
    let name = params.free_text.iter().find(|name| arguments.get(*name).is_some_and(Value::is_string))?;
    let question = arguments.remove(name)?.as_str()?.to_owned();
    arguments.retain(|_, value| !value.is_null());
    arguments.sort_keys();
    let other_arguments = Value::Object(arguments).to_string();
    let shape = shape(request.text)?;
    let caller = request.call.caller.as_deref().unwrap_or_default();
    let parts = [caller, &origin.source, &origin.version, &origin.name, llm, name, &other_arguments, &shape];
    Some((question, format!("s:{}", cache::digest(&parts))))
}

/// Returns the shape of a result: its JSON paths without list indices, one per line. `None` if the result is too long.
fn shape(text: &str) -> Option<String> {
    if text.len() > MAX_SHAPE_BYTES {
        return None;
    }
    let Ok(value) = serde_json::from_str::<Value>(text) else { return Some("text".into()) };
    let mut paths = BTreeSet::new();
    collect_paths(&value, &mut String::new(), &mut paths);
    Some(paths.into_iter().collect::<Vec<_>>().join("\n"))
}

fn collect_paths(value: &Value, path: &mut String, into: &mut BTreeSet<String>) {
    let length = path.len();
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                path.push('/');
                path.push_str(key);
                collect_paths(value, path, into);
                path.truncate(length);
            }
        }
        Value::Array(items) => {
            path.push_str("[]");
            items.iter().for_each(|item| collect_paths(item, path, into));
            path.truncate(length);
        }
        _ => drop(into.insert(path.clone())),
    }
}

fn entries(key: &str) -> Vec<SemanticEntry> {
    let stored = kv::shared().get(key).ok().flatten();
    stored.and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default()
}

fn vectors(question: &str, result: &str) -> Option<(String, Vec<f32>, Vec<f32>)> {
    let end = result.char_indices().nth(MAX_EMBEDDED_CHARS).map_or(result.len(), |(end, _)| end);
    let texts = [question.to_owned(), result[..end].to_owned()];
    let embeddings = models::embed(&texts, Purpose::Document).ok()?;
    let mut vectors = embeddings.vectors.into_iter();
    Some((embeddings.model, vectors.next()??, vectors.next()??))
}

/// Computes the cosine of unit vectors.
fn cosine(a: &[f32], b: &[f32]) -> f64 {
    if a.len() != b.len() {
        return 0.0;
    }
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

/// Returns the hit, or the model's new summary if a check of this hit failed.
fn spot_check(request: &Request<'_>, hit: Summary) -> Summary {
    let digest = cache::digest(&[request.text, &request.query]);
    let chosen = u8::from_str_radix(&digest[..2], 16).is_ok_and(|byte| byte % CHECK_INTERVAL == 0);
    if !chosen {
        return hit;
    }
    let fresh = model::summary(request).filter(|fresh| !fresh.unverified.is_empty());
    let Some(fresh) = fresh else { return hit };
    counters::add("checked");
    let (old, new) = (facts::facts(&hit.unverified), facts::facts(&fresh.unverified));
    if old.intersection(&new).count() * SAME_FACTS_DIVISOR >= old.len().min(new.len()) {
        return hit;
    }
    counters::add("checked.false");
    let origin = request.origin;
    let message = format!("summaries of '{}' are no longer reused for other questions", origin.name);
    context::log(Level::Warn, &message, "");
    let _ = kv::shared().set(&switched_off_key(request), b"1", None);
    fresh
}

fn switched_off_key(request: &Request<'_>) -> String {
    let origin = request.origin;
    format!("off:{}", cache::digest(&[&origin.source, &origin.name]))
}
