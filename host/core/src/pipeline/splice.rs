//! Puts parts of artifacts where the arguments say so, so that data moves from one tool to another without passing through
//! a model. `{"$artifact": "art-…"}` anywhere in the arguments becomes the text of the artifact;
//!
//! - with `"pointer": "/items/3"` (RFC 6901) the JSON value there,
//! - with `"range": [812, 1040]` these lines, counted from 1, both included,
//! - with `"as": "json"` the JSON that the text or the lines are, and with `"as": "text"` the value at the pointer as text.
//!
//! Only in a client's own call, and only what belongs to whoever calls. What was put in is not looked through again. All that
//! comes after sees the arguments as they are then; what is logged and counted is what the client sent. A tool whose schema
//! has a property `$artifact` of its own gets its arguments as they are.

#[cfg(any(test, fuzzing))]
pub(super) mod fuzz;
mod marker;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

pub(crate) use self::marker::has_own_markers;
use self::marker::{ArtifactMarker, MARKER, replace};
use super::{Next, Stage};
use crate::{
    budget::ByteBudget,
    call::{Call, Principal},
    json, names,
    outcome::{Fault, Outcome},
    ports::{ArtifactService, artifacts::ID_PREFIX},
};

/// The most parts of artifacts in the arguments of one call.
const MAX_PARTS: usize = 64;

/// The most bytes of arguments as JSON text after splicing.
const MAX_BYTES: usize = 16 << 20;

/// Bytes of memory that the JSON values of all parts may take.
const MAX_MEMORY: usize = 64 << 20;

/// Bytes that are read as JSON on a thread that serves requests.
const MAX_INLINE_PARSE_BYTES: usize = 32 << 10;

/// See the module.
pub struct SpliceStage {
    artifacts: Arc<dyn ArtifactService>,
}

#[async_trait]
impl Stage for SpliceStage {
    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let context = Arc::clone(&call.context);
        if context.enclosing_sources.is_empty()
            && may_have_markers(&call.arguments)
            && !context.entry()?.has_own_markers
        {
            self.splice(&context.principal, call).await?;
        }
        next.run(call).await
    }
}

impl SpliceStage {
    /// Takes parts from here.
    pub fn new(artifacts: Arc<dyn ArtifactService>) -> Self {
        Self { artifacts }
    }

    async fn splice(&self, owner: &Principal, call: &mut Call) -> Result<(), Fault> {
        let sent = parse_arguments(&call.arguments).await?;
        let mut markers = Vec::new();
        marker::find(&sent, &mut markers)?;
        if markers.is_empty() {
            return Ok(());
        }
        if markers.len() > MAX_PARTS {
            let count = markers.len();
            return Err(Fault::invalid(format!(
                "The arguments have {count} parts of artifacts; the most is {MAX_PARTS}."
            )));
        }
        let texts = self.read_texts(owner, &markers, json::encoded_len(&sent)).await?;
        let mut arguments = sent.clone();
        let short = texts.iter().map(String::len).sum::<usize>() <= MAX_INLINE_PARSE_BYTES;
        let work = move || {
            let mut reader = json::JsonReader::new(&ByteBudget::new(MAX_MEMORY));
            let mut values = Vec::new();
            for (marker, text) in markers.iter().zip(texts) {
                values.push(marker.value(text, &mut reader)?);
            }
            replace(&mut arguments, &mut values.into_iter());
            if json::encoded_len(&arguments) > MAX_BYTES { Err(too_large()) } else { Ok(arguments) }
        };
        call.arguments = if short { work()? } else { run_blocking(work).await?? };
        call.sent = Some(Arc::new(sent));
        Ok(())
    }

    /// The texts of all parts, which together with the rest are no larger than they may be.
    async fn read_texts(
        &self,
        owner: &Principal,
        markers: &[ArtifactMarker],
        rest: usize,
    ) -> Result<Vec<String>, Fault> {
        let ids: Vec<String> = markers.iter().map(|marker| marker.id.clone()).collect();
        let known = self.artifacts.info(owner, &ids).await?;
        let (mut texts, mut left) = (Vec::new(), MAX_BYTES.saturating_sub(rest));
        for (number, marker) in markers.iter().enumerate() {
            let Some(artifact) = known.get(number).and_then(Option::as_ref) else {
                return Err(unknown_artifact(&marker.id));
            };
            if marker.is_whole() && artifact.size > left as u64 {
                return Err(too_large());
            }
            let piece = self.artifacts.read(owner, &marker.id, &marker.part()).await?;
            left = left.checked_sub(piece.text.len()).ok_or_else(too_large)?;
            texts.push(piece.text);
        }
        Ok(texts)
    }
}

/// Whether arguments can have parts of artifacts. Some clients send arguments as a string that holds them.
fn may_have_markers(arguments: &Value) -> bool {
    match arguments {
        Value::String(text) => text.contains(MARKER),
        other => has_markers(other),
    }
}

fn has_markers(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.contains_key(MARKER) || members.values().any(has_markers),
        Value::Array(items) => items.iter().any(has_markers),
        _ => false,
    }
}

/// Arguments that came as a string are read here; a mistake in them is told where arguments are checked.
async fn parse_arguments(arguments: &Value) -> Result<Value, Fault> {
    let Value::String(text) = arguments else { return Ok(arguments.clone()) };
    let text = text.clone();
    let short = text.len() <= MAX_INLINE_PARSE_BYTES;
    let work = move || json::parse(&text).unwrap_or(Value::String(text));
    if short { Ok(work()) } else { run_blocking(work).await }
}

async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Fault> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Fault::internal("The parts of artifacts could not be put in."))
}

fn too_large() -> Fault {
    Fault::exhausted(format!(
        "With the parts of artifacts the arguments would be more than {MAX_BYTES} bytes."
    ))
    .hint("Take less: a pointer to a value, or a range of lines.")
}

/// The same for one that never was, one whose time is up, and one of somebody else.
fn unknown_artifact(id: &str) -> Fault {
    let shown = names::quoted(id, 80);
    let fault = Fault::not_found(format!("There is no artifact '{shown}', or not any more."));
    if id.starts_with(ID_PREFIX) {
        return fault.hint("Call the tool again that it is the result of, and use the new id.");
    }
    fault.hint(format!("Ids of artifacts begin with '{ID_PREFIX}'."))
}

#[cfg(test)]
mod tests;
