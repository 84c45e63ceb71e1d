//! Converts a reply to the artifact type that the request wants, and checks it as far as a gate can.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use gatehouse_sdk::{
    Content, EmbeddedResource, Fault, Reply, ResourceBody,
    artifacts::{self, Draft},
    context,
};
use serde_json::{Value, json};

use super::{
    answer::RequestError,
    envelope::{Kind, RequestEnvelope},
    patch,
};
use crate::reply_format;

const MAX_INLINE_BYTES: usize = 32 << 10;

const MAX_AFFECTED: usize = 500;
const MAX_NAME_CHARS: usize = 300;

const MAX_EXCERPT_CHARS: usize = 1_000;

pub(super) struct RequestArtifact {
    kind: Kind,
    data: Value,
    affected_files: Vec<String>,
    affected_symbols: Vec<String>,
    note: Option<String>,
}

impl RequestArtifact {
    pub(super) fn into_json(self) -> Value {
        let mut object = json!({
            "artifact_type": self.kind.as_str(),
            "data": self.data,
            "affected_files": self.affected_files,
            "affected_symbols": self.affected_symbols,
        });
        if let Some(note) = self.note {
            object["note"] = note.into();
        }
        object
    }
}

/// Converts a reply to the result of this request. If it is not the requested type, the error includes it as text.
pub(super) fn from_reply(reply: Reply, envelope: &RequestEnvelope) -> Result<RequestArtifact, RequestError> {
    let data: Option<Value> = reply.structured.as_deref().and_then(|data| serde_json::from_str(data).ok());
    let text = reply.text();
    if reply.is_error {
        let silent = text.trim().is_empty();
        let message = if silent { "the tool reported a failure without a message".to_owned() } else { text };
        return Err(RequestError::from_tool_error(message));
    }
    let bytes = reply.content.iter().find_map(bytes);
    let kind = envelope.artifact.unwrap_or(match (&data, &bytes) {
        (Some(_), _) => Kind::Json,
        (None, Some(_)) if text.trim().is_empty() => Kind::Binary,
        _ => Kind::Text,
    });
    let listed = |key: &str| strings(data.as_ref().and_then(|data| data.get(key)));
    let make = |kind: Kind, data: Value| {
        // Tools name their own files with full paths. Drop paths with `..`.
        let files = listed("affected_files").into_iter().filter(|path| !patch::has_parent_component(path));
        let affected_symbols = listed("affected_symbols");
        RequestArtifact { kind, data, affected_files: files.collect(), affected_symbols, note: None }
    };
    let mut artifact = make(kind, Value::Null);
    let refuse = |reason: &str| {
        let mut error = RequestError::invalid(
            format!("the tool ran, but its result is not valid {}: {reason}", kind.as_str()),
            "The result is included as TEXT. Set another artifact, or omit it.",
        );
        error.result = Some(Box::new(make(Kind::Text, text.clone().into())));
        error
    };
    match kind {
        Kind::Text => artifact.data = text.into(),
        Kind::Json => {
            artifact.data = match data.clone() {
                Some(data) => data,
                None => {
                    serde_json::from_str(unfenced(&text)).map_err(|reason| refuse(&reason.to_string()))?
                }
            };
        }
        Kind::Patch => {
            let files = patch::files(unfenced(&text)).map_err(|reason| refuse(&reason))?;
            artifact.affected_files.extend(files);
            artifact.affected_files.sort();
            artifact.affected_files.dedup();
            artifact.data = unfenced(&text).into();
            artifact.note = Some("Well-formed; not checked against the files.".into());
        }
        Kind::CodePy | Kind::CodeTs => {
            let code = unfenced(&text);
            if code.trim().is_empty() {
                return Err(refuse("it is empty"));
            }
            artifact.data = code.into();
            artifact.note = Some("Not parsed; check it before you run it.".into());
        }
        Kind::Binary => {
            let Some((mime_type, bytes)) = bytes else {
                return Err(refuse("it has no image, audio or file"));
            };
            artifact.data = binary(envelope, &mime_type, bytes)?;
        }
    }
    Ok(store_if_large(artifact, envelope))
}

/// Stores a large result as an artifact and returns its beginning, or the full result if storing fails. With the
/// summarizer in the preset, results stay inline, because its filter shortens them and knows which tools need exact
/// text.
fn store_if_large(mut artifact: RequestArtifact, envelope: &RequestEnvelope) -> RequestArtifact {
    let (text, mime_type) = match &artifact.data {
        Value::String(text) => (text.clone(), "text/plain"),
        data => (data.to_string(), "application/json"),
    };
    if text.len() <= MAX_INLINE_BYTES || context::exposed_name("get_workspace_file").is_some() {
        return artifact;
    }
    let bytes = text.len();
    let beginning: String = text.chars().take(MAX_EXCERPT_CHARS).collect();
    if let Ok(id) = store_text(envelope, text, mime_type, None) {
        artifact.data =
            json!({"artifact_id": id, "mime_type": mime_type, "bytes": bytes, "beginning": beginning});
        artifact.note =
            Some("Stored in full as an artifact; get_workspace_file reads any part of it.".into());
    }
    artifact
}

fn binary(envelope: &RequestEnvelope, mime_type: &str, bytes: &[u8]) -> Result<Value, RequestError> {
    let count = bytes.len();
    let summary = format!("{count} bytes of {mime_type} in base64");
    let id = store_text(envelope, STANDARD.encode(bytes), "text/plain", Some(summary))?;
    Ok(json!({"artifact_id": id, "mime_type": mime_type, "bytes": count, "encoding": "base64"}))
}

fn store_text(
    envelope: &RequestEnvelope,
    text: String,
    mime_type: &str,
    summary: Option<String>,
) -> Result<String, Fault> {
    let (tool, tags) = (Some(envelope.action.clone()), vec!["request".into()]);
    Ok(artifacts::put(&Draft { tool, summary, tags, ..Draft::new(text, mime_type) })?.id)
}

fn bytes(block: &Content) -> Option<(String, &[u8])> {
    match block {
        Content::Image(media) | Content::Audio(media) => Some((media.mime_type.clone(), &media.data)),
        Content::Embedded(EmbeddedResource { body: ResourceBody::Blob(data), mime_type, .. }) => {
            Some((mime_type.clone().unwrap_or_else(|| "application/octet-stream".into()), data))
        }
        _ => None,
    }
}

/// Reads a list of names, limited in number and length.
fn strings(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str)
        .take(MAX_AFFECTED)
        .map(|name| reply_format::line(name, MAX_NAME_CHARS))
        .collect()
}

/// Returns the inside of a text that is a single Markdown code block, as models often send code.
fn unfenced(text: &str) -> &str {
    let inside = text.trim().strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let inside = inside.filter(|inside| !inside.contains("```"));
    inside.and_then(|inside| inside.split_once('\n')).map_or(text, |(_, code)| code)
}
