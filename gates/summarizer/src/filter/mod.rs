//! The filter: shortens large replies on their way to the client.
//!
//! ```text
//! reply ─▶ small, an error, or from this gate's own tools?  unchanged
//!       ─▶ exact text needed?                              unchanged
//!       ─▶ lossless compact form (`text.compact`)           that form
//!       ─▶ not large enough?                                unchanged
//!       ─▶ summary: cached (`cache`, `semantic`), by the model (`model`, checked by `facts` and `claims`),
//!          or the local digest (`summary`)
//!       ─▶ the full text is stored as an artifact
//!       ─▶ the short form (`short_form`)
//! ```
//!
//! Errors never reach the client: the reply stays unchanged. If it is too long and could be stored, the client gets its
//! first page.

pub(crate) mod cache;
mod claim_words;
mod claims;
mod counters;
mod envelope;
mod exact;
mod facts;
mod guard_words;
pub(crate) mod guards;
mod model;
mod reply_parts;
mod semantic;
mod short_form;
pub(crate) mod summary;
mod wording;

use gatehouse_sdk::{
    Call, Content, Fault, FaultKind, Origin, OutgoingReply, Reply,
    artifacts::{self, Artifact, Draft},
    context::{self, Level},
    replies::DataOrigin,
    text,
};
use serde_json::{Map, Value};

use crate::Params;
use envelope::AnswerEnvelope;
use reply_parts::ReplyParts;
use summary::Summary;

/// Maximum percentage of tokens for a lossless form. The second limit applies to texts that could get a digest instead.
const MAX_COMPACT_PERCENT: u64 = 60;
const MAX_COMPACT_PERCENT_OF_LARGE: u64 = 30;

/// Maximum bytes of a lossless form. Claude Code writes a result of over 50,000 characters to a file, and a longer one
/// costs more than what it saves.
const MAX_COMPACT_BYTES: usize = 40_000;

const MIN_TOKENS: u32 = 600;

const MAX_SHORT_TOKENS: u32 = 1_200;

/// Size from which a text has more than `4 * MAX_SHORT_TOKENS` tokens, so it need not be counted first.
const SKIP_COUNT_BYTES: usize = 256 << 10;

pub(crate) struct Request<'a> {
    pub(crate) call: &'a Call<Params>,
    pub(crate) origin: &'a Origin,
    /// Arguments of the call: a JSON object as text.
    pub(crate) arguments: &'a str,
    /// True if the reply came from several tools, so that neither tool nor arguments identify it.
    pub(crate) several: bool,
    /// The data, or the text if there is none, which the summary is of.
    pub(crate) text: &'a str,
    /// The strings in the arguments.
    pub(crate) query: String,
    pub(crate) budget: u32,
}

/// Key in `_meta` for the tools that a reply came from, if there are several.
const CALLED_TOOLS: &str = "gatehouse/called";

/// Returns a shorter reply. `None` leaves the reply unchanged.
pub(crate) fn on_reply(call: &Call<Params>, outgoing: OutgoingReply) -> Result<Option<Reply>, Fault> {
    let OutgoingReply { origin, arguments, reply } = outgoing;
    let is_own_tool = crate::TOOLS.contains(&origin.tool.name.as_str());
    if reply.is_error || is_own_tool {
        return Ok(None);
    }
    let mut parts = ReplyParts::from_reply(reply)?;
    if parts.bytes() < call.params.threshold_bytes.at_most(u32::MAX) as usize {
        return Ok(None);
    }
    let envelope = AnswerEnvelope::open(&mut parts)?;
    // A compact form is text; in an envelope it must not replace other JSON.
    let may_be_text = envelope.as_ref().is_none_or(|envelope| envelope.is_text);
    let incoming = IncomingReply { call, origin: &origin, arguments: &arguments, parts: &parts };
    let short = incoming.shorten(may_be_text).unwrap_or_else(|fault| {
        counters::add("failed");
        context::log(Level::Warn, &format!("result not shortened: {:?}", fault.kind), "");
        incoming.first_page()
    });
    Ok(match (short, envelope) {
        (Some(short), Some(envelope)) => Some(envelope.close(short)),
        (short, _) => short,
    })
}

#[derive(Clone, Copy)]
struct IncomingReply<'a> {
    call: &'a Call<Params>,
    origin: &'a Origin,
    arguments: &'a str,
    parts: &'a ReplyParts,
}

impl IncomingReply<'_> {
    fn shorten(self, may_be_text: bool) -> Result<Option<Reply>, Fault> {
        let Self { call, origin, arguments, parts } = self;
        let called = called_tools(call);
        let mut names = [&origin.name, &origin.tool.name].into_iter().chain(&called);
        let is_file = called.is_empty() && exact::reads_file(origin, arguments);
        let is_json = parts.view.data.as_ref().is_some_and(|data| data.origin == DataOrigin::Text);
        if names.any(|name| call.params.excludes(name)) || is_file && !is_json {
            return Ok(None);
        }
        let may_digest = parts.bytes() >= call.params.digest_above.at_most(u32::MAX) as usize;
        let max_percent = if may_digest { MAX_COMPACT_PERCENT_OF_LARGE } else { MAX_COMPACT_PERCENT };
        if may_be_text
            && let Some(encoded) = parts.compactable()
            && let Some(form) = text::compact(encoded)?
            && form.text.len() <= MAX_COMPACT_BYTES
            && u64::from(form.tokens_out) * 100 <= u64::from(form.tokens_in) * max_percent
        {
            counters::add_saved(form.tokens_in, form.tokens_out);
            let beside = Some(parts.beside()).filter(|beside| !beside.is_empty());
            let texts = beside.map(str::to_owned).into_iter().chain([form.text]);
            return Ok(Some(reply(texts.map(Content::Text).collect(), parts)));
        }
        if !may_digest {
            return Ok(None);
        }
        let budget = match parts.digested().len() {
            SKIP_COUNT_BYTES.. => MAX_SHORT_TOKENS,
            _ => match text::count(parts.digested())? {
                ..MIN_TOKENS => return Ok(None),
                tokens => MAX_SHORT_TOKENS.min(tokens / 4),
            },
        };
        let query = query(arguments);
        let has_several_tools = !called.is_empty();
        let request = Request {
            call,
            origin,
            arguments,
            several: has_several_tools,
            text: parts.digested(),
            query,
            budget,
        };
        let summary = summary::summarize(&request)?;
        match self.store(Some(&summary)) {
            Ok(artifact) => short_form::render(&request, &summary, Some(&artifact), parts),
            // The short form reports that a full store lost the result.
            Err(fault) if fault.kind == FaultKind::Exhausted && self.is_too_long() => {
                counters::add("not_kept");
                short_form::render(&request, &summary, None, parts)
            }
            Err(fault) => Err(fault),
        }
    }

    /// Stores a reply that could not be shortened and returns its first page. `None` if it is short enough or not stored.
    fn first_page(self) -> Option<Reply> {
        if !self.is_too_long() {
            return None;
        }
        let artifact = self.store(None).ok()?;
        Some(short_form::first_page(self.call, &artifact, self.parts))
    }

    fn is_too_long(self) -> bool {
        self.parts.whole().chars().count() > self.call.params.return_limit_chars.at_most(u32::MAX) as usize
    }

    fn store(self, summary: Option<&Summary>) -> Result<Artifact, Fault> {
        let (source, tool) = (self.origin.source.clone(), self.origin.name.clone());
        let draft = Draft {
            tool: Some(tool.clone()),
            source: Some(source.clone()),
            summary: summary.map(|summary| summary.to_stored(&named_arguments(self.arguments))),
            tags: vec![source, tool, self.call.preset.clone()],
            ttl_ms: Some(self.call.params.ttl_ms()),
            ..Draft::new("", "")
        };
        artifacts::put_reply(draft, &self.parts.view, self.parts.structured.as_deref())
    }
}

fn called_tools(call: &Call<Params>) -> Vec<String> {
    let meta = call.meta.as_deref().and_then(|meta| serde_json::from_str::<Map<String, Value>>(meta).ok());
    let called = meta.and_then(|mut meta| meta.remove(CALLED_TOOLS));
    called.and_then(|called| serde_json::from_value(called).ok()).unwrap_or_default()
}

fn reply(mut content: Vec<Content>, parts: &ReplyParts) -> Reply {
    content.extend(parts.rest.iter().cloned());
    Reply { content, structured: None, is_error: false, meta: None }
}

/// Characters of an argument. Longer ones are documents or code.
const MAX_ARGUMENT_CHARS: usize = 120;

/// Describes the arguments for searches, with names and numbers: `repo gatehouse, labels bug ui, page 2`.
fn named_arguments(arguments: &str) -> String {
    fn collect(value: &Value, into: &mut String) {
        match value {
            Value::Null => {}
            Value::String(text) => {
                into.push(' ');
                into.extend(text.chars().take(MAX_ARGUMENT_CHARS));
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
            Value::Object(map) => map.iter().for_each(|(name, value)| {
                into.push(' ');
                into.push_str(name);
                collect(value, into);
            }),
            other => {
                into.push(' ');
                into.push_str(&other.to_string());
            }
        }
    }
    let arguments: Map<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
    let named = arguments.iter().map(|(name, value)| {
        let mut text = name.clone();
        collect(value, &mut text);
        text
    });
    named.collect::<Vec<_>>().join(", ")
}

/// Longer text is a document rather than a question.
const MAX_QUERY_BYTES: usize = 2_000;

fn query(arguments: &str) -> String {
    fn collect(value: &Value, into: &mut Vec<String>) {
        match value {
            Value::String(text) => into.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
            Value::Object(map) => map.values().for_each(|value| collect(value, into)),
            _ => {}
        }
    }
    let arguments: Map<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
    let mut strings = Vec::new();
    arguments.values().for_each(|value| collect(value, &mut strings));
    let mut query = String::new();
    for text in strings {
        if query.len() + text.len() < MAX_QUERY_BYTES {
            query.push_str(if query.is_empty() { "" } else { " " });
            query.push_str(&text);
        }
    }
    query
}
