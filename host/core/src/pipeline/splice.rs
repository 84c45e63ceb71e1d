//! Replaces artifact markers in arguments, so that data moves between tools without passing through a model.
//!
//! `{"$artifact": "art-…"}` anywhere in the arguments becomes the text of the artifact. Options:
//!
//! - `"pointer": "/items/3"` (RFC 6901) selects a JSON value.
//! - `"range": [812, 1040]` selects lines, counted from 1, inclusive.
//! - `"as": "json"` parses the selected text as JSON; `"as": "text"` keeps a selected value as text.
//!
//! Only a client's own call is spliced, and only with the caller's artifacts. Inserted data is not searched for
//! markers. Later stages see the new arguments; logs and counts use the original ones. A tool whose schema defines
//! `$artifact` gets its arguments unchanged.

mod marker;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

#[cfg(any(test, fuzzing))]
pub(crate) use self::marker::fuzz_arguments;
pub(crate) use self::marker::has_own_markers;
use self::marker::{ArtifactMarker, MARKER, replace};
use super::{MAX_INLINE_PARSE_BYTES, Next, Stage, run_work};
use crate::{
    Call, Fault, Outcome, Principal,
    budget::ByteBudget,
    json, names,
    ports::{ArtifactService, PortSetup, artifacts::ID_PREFIX},
};

/// Maximum markers in the arguments of one call.
const MAX_PARTS: usize = 64;

/// Maximum bytes of spliced arguments as JSON text.
const MAX_BYTES: usize = 16 << 20;

const WORK_PANICKED: &str = "cannot insert artifacts into the arguments";

/// Maximum bytes of memory for all parsed values.
const MAX_MEMORY: usize = 64 << 20;

pub struct SpliceStage {
    artifacts: Arc<dyn PortSetup<dyn ArtifactService>>,
}

#[async_trait]
impl Stage for SpliceStage {
    fn applies(&self, call: &Call) -> bool {
        let may_splice = || !call.context.entry().is_ok_and(|entry| entry.has_own_markers);
        call.context.enclosing_sources.is_empty() && may_have_markers(&call.arguments) && may_splice()
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let context = Arc::clone(&call.context);
        context.entry()?;
        self.splice(context.principal(), call).await?;
        next.run(call).await
    }
}

impl SpliceStage {
    pub fn new(artifacts: Arc<dyn PortSetup<dyn ArtifactService>>) -> Self {
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
                "arguments have {count} artifact markers; the limit is {MAX_PARTS}"
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
        call.arguments = run_work(short, WORK_PANICKED, work).await??;
        call.sent = Some(Arc::new(sent));
        Ok(())
    }

    /// Reads the text of all markers. Fails if these texts and the `rest` bytes exceed [`MAX_BYTES`].
    async fn read_texts(
        &self,
        owner: &Principal,
        markers: &[ArtifactMarker],
        rest: usize,
    ) -> Result<Vec<String>, Fault> {
        let ids: Vec<String> = markers.iter().map(|marker| marker.id.clone()).collect();
        let artifacts = self.artifacts.port()?;
        let infos = artifacts.info(owner, &ids).await?;
        let (mut texts, mut remaining) = (Vec::new(), MAX_BYTES.saturating_sub(rest));
        for (number, marker) in markers.iter().enumerate() {
            let Some(artifact) = infos.get(number).and_then(Option::as_ref) else {
                return Err(unknown_artifact(&marker.id));
            };
            if marker.is_whole() && artifact.size > remaining as u64 {
                return Err(too_large());
            }
            let piece = artifacts.read(owner, &marker.id, &marker.part()).await?;
            remaining = remaining.checked_sub(piece.text.len()).ok_or_else(too_large)?;
            texts.push(piece.text);
        }
        Ok(texts)
    }
}

/// Returns true if the arguments, or arguments sent as a JSON string, may contain markers.
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

/// Parses arguments that are a JSON string. Leaves invalid JSON to *validate*.
async fn parse_arguments(arguments: &Value) -> Result<Value, Fault> {
    let Value::String(text) = arguments else { return Ok(arguments.clone()) };
    let text = text.clone();
    let short = text.len() <= MAX_INLINE_PARSE_BYTES;
    run_work(short, WORK_PANICKED, move || json::parse(&text).unwrap_or(Value::String(text))).await
}

fn too_large() -> Fault {
    Fault::exhausted(format!("arguments with artifacts inserted would exceed the limit of {MAX_BYTES} bytes"))
        .hint("Insert less: set \"pointer\" to select a value, or \"range\" to select lines.")
}

/// Returns the same fault for an artifact that never existed, has expired, or belongs to another user.
fn unknown_artifact(id: &str) -> Fault {
    let display_id = names::quoted(id, 80);
    let fault = Fault::not_found(format!("artifact '{display_id}' not found or expired"));
    if id.starts_with(ID_PREFIX) {
        return fault.hint("Call the tool that produced it again, and use the new id.");
    }
    fault.hint(format!("Artifact ids begin with '{ID_PREFIX}'."))
}

#[cfg(test)]
mod tests;
