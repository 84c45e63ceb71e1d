//! What a reply becomes: the kind that the request wants, checked as far as a gate can.

use gatehouse_sdk::{
    Content, Fault, Reply, ResourceBody,
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

/// Bytes of a result above which it is kept as an artifact.
const MAX_INLINE_BYTES: usize = 32 << 10;

/// Files and symbols that are told as affected, and characters of each.
const MAX_AFFECTED: usize = 500;
const MAX_NAME_CHARS: usize = 300;

/// Characters that are told of such a result.
const MAX_EXCERPT_CHARS: usize = 1_000;

/// A result.
pub(super) struct RequestArtifact {
    kind: Kind,
    data: Value,
    affected_files: Vec<String>,
    affected_symbols: Vec<String>,
    /// What was not checked, and why.
    note: Option<String>,
}

impl RequestArtifact {
    pub(super) fn into_json(self) -> Value {
        let mut told = json!({
            "artifact_type": self.kind.as_str(),
            "data": self.data,
            "affected_files": self.affected_files,
            "affected_symbols": self.affected_symbols,
        });
        if let Some(note) = self.note {
            told["note"] = note.into();
        }
        told
    }
}

/// What a reply is for this request. A reply that is not what was wanted comes with the refusal, as text.
pub(super) fn from_reply(reply: Reply, envelope: &RequestEnvelope) -> Result<RequestArtifact, RequestError> {
    let data: Option<Value> = reply.structured.as_deref().and_then(|data| serde_json::from_str(data).ok());
    let text = reply.text();
    if reply.is_error {
        let said = if text.trim().is_empty() { "The tool says that it failed.".to_owned() } else { text };
        return Err(RequestError::from_tool_error(said));
    }
    let bytes = reply.content.iter().find_map(bytes);
    let kind = envelope.artifact.unwrap_or(match (&data, &bytes) {
        (Some(_), _) => Kind::Json,
        (None, Some(_)) if text.trim().is_empty() => Kind::Binary,
        _ => Kind::Text,
    });
    let listed = |key: &str| strings(data.as_ref().and_then(|data| data.get(key)));
    // A tool names its own files by their whole paths, too; one that goes up from somewhere names nothing.
    let files: Vec<String> =
        listed("affected_files").into_iter().filter(|path| !patch::goes_up(path)).collect();
    let mut artifact = RequestArtifact {
        kind,
        data: Value::Null,
        affected_files: files.clone(),
        affected_symbols: listed("affected_symbols"),
        note: None,
    };
    let refuse = |why: &str| {
        let mut refusal = RequestError::invalid(
            format!("The tool has run; its result is no {}: {why}.", kind.as_str()),
            "The result is there as TEXT. Ask for another artifact, or for none.".into(),
        );
        refusal.result = Some(Box::new(RequestArtifact {
            kind: Kind::Text,
            data: text.clone().into(),
            affected_files: files.clone(),
            affected_symbols: listed("affected_symbols"),
            note: None,
        }));
        refusal
    };
    match kind {
        Kind::Text => artifact.data = text.into(),
        Kind::Json => {
            let read = match data.clone() {
                Some(data) => data,
                None => serde_json::from_str(unfenced(&text)).map_err(|why| refuse(&why.to_string()))?,
            };
            artifact.data = read;
        }
        Kind::Patch => {
            let files = patch::files(unfenced(&text)).map_err(|why| refuse(&why))?;
            artifact.affected_files.extend(files);
            artifact.affected_files.sort();
            artifact.affected_files.dedup();
            artifact.data = unfenced(&text).into();
            artifact.note = Some("Well formed; whether it applies is for whoever has the files.".into());
        }
        Kind::CodePy | Kind::CodeTs => {
            let code = unfenced(&text);
            if code.trim().is_empty() {
                return Err(refuse("it is empty"));
            }
            artifact.data = code.into();
            artifact.note = Some("Not parsed: check it where it is to run.".into());
        }
        Kind::Binary => {
            let Some((mime_type, bytes)) = bytes else {
                return Err(refuse("it has no picture, sound or file"));
            };
            artifact.data = binary(envelope, &mime_type, bytes)?;
        }
    }
    Ok(store_if_large(artifact, envelope))
}

/// Keeps what is large whole and tells its beginning; where it cannot be kept it comes whole. A preset with the summarizer
/// has better: its filter digests the result within the answer, and knows which tools are wanted to the letter.
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
        artifact.note = Some("Kept whole as an artifact; get_workspace_file reads any part of it.".into());
    }
    artifact
}

/// Keeps bytes as base64 text.
fn binary(envelope: &RequestEnvelope, mime_type: &str, bytes: &[u8]) -> Result<Value, RequestError> {
    let count = bytes.len();
    let summary = format!("{count} bytes of {mime_type} in base64");
    let id =
        store_text(envelope, base64(bytes), "text/plain", Some(summary)).map_err(RequestError::from_fault)?;
    Ok(json!({"artifact_id": id, "mime_type": mime_type, "bytes": count, "encoding": "base64"}))
}

/// Keeps a text as an artifact, and gives its id.
fn store_text(
    envelope: &RequestEnvelope,
    text: String,
    mime_type: &str,
    summary: Option<String>,
) -> Result<String, Fault> {
    let draft = Draft {
        text,
        mime_type: mime_type.into(),
        tool: Some(envelope.action.clone()),
        source: None,
        summary,
        tags: vec!["request".into()],
        ttl_ms: None,
    };
    Ok(artifacts::put(&draft)?.id)
}

fn bytes(block: &Content) -> Option<(String, &[u8])> {
    match block {
        Content::Image(media) | Content::Audio(media) => Some((media.mime_type.clone(), &media.data)),
        Content::Embedded(resource) => match &resource.body {
            ResourceBody::Blob(data) => {
                let kind = resource.mime_type.clone().unwrap_or_else(|| "application/octet-stream".into());
                Some((kind, data))
            }
            ResourceBody::Text(_) => None,
        },
        _ => None,
    }
}

/// The names that a tool says it affected, as many and as long as anybody reads.
fn strings(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str)
        .take(MAX_AFFECTED)
        .map(|one| reply_format::line(one, MAX_NAME_CHARS))
        .collect()
}

/// The inside of a text that is one fenced block of Markdown, as models send code; else the text.
fn unfenced(text: &str) -> &str {
    let inside = text.trim().strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let inside = inside.filter(|inside| !inside.contains("```"));
    inside.and_then(|inside| inside.split_once('\n')).map_or(text, |(_, code)| code)
}

/// RFC 4648.
fn base64(bytes: &[u8]) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    STANDARD.encode(bytes)
}
