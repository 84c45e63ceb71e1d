//! The filter: what becomes of a large reply on its way to the client.
//!
//! ```text
//! reply ─▶ small? an error? one of our own tools'?          as it is
//!       ─▶ a form that leaves nothing out (`text.compact`)  that
//!       ─▶ not large enough, or wanted to the letter?       as it is
//!       ─▶ summary: an earlier one (`cache`, `semantic`), the model's (`model`, held against the result in
//!          `facts` and `claims`), or the local digest (`summary`)
//!       ─▶ the whole text is kept as an artifact
//!       ─▶ the short form (`short`)
//! ```
//!
//! Nothing that goes wrong here reaches the client: the reply then stays as it is, or, where that is too long, its
//! first page stands for it, if the whole of it could be kept.

pub(crate) mod cache;
mod claim_words;
mod claims;
mod counters;
mod envelope;
mod facts;
mod guard_words;
pub(crate) mod guards;
mod model;
mod reply_parts;
mod semantic;
mod shape;
mod short_form;
pub(crate) mod summary;

use gatehouse_sdk::{
    Call, Content, Fault, FaultKind, Origin, OutgoingReply, Reply,
    artifacts::{self, Artifact, Draft},
    context::{self, Level},
    text,
};
use serde_json::{Map, Value};

use crate::Params;
use envelope::AnswerEnvelope;
use reply_parts::ReplyParts;
use summary::Summary;

/// Hundredths of the tokens that a form without loss may take: more is not worth another look. Of a text that a digest could
/// stand for it may take no more than the second: beyond, a digest is cheaper with all that is asked afterwards.
const MAX_COMPACT_PERCENT: u64 = 60;
const MAX_COMPACT_PERCENT_OF_LARGE: u64 = 30;

/// Tokens below which there is nothing to save.
const MIN_TOKENS: u32 = 600;

/// Tokens of the short form at most.
const MAX_SHORT_TOKENS: u32 = 1_200;

/// Bytes from which a text has more than four times that many tokens, whatever it is: it need not be counted first.
const CERTAINLY_LARGE_BYTES: usize = 256 << 10;

/// What a summary is made of.
pub(crate) struct Request<'a> {
    pub(crate) call: &'a Call<Params>,
    pub(crate) origin: &'a Origin,
    /// The arguments of the call: a JSON object as text.
    pub(crate) arguments: &'a str,
    /// True if the reply came from several tools, so that neither tool nor arguments identify it.
    pub(crate) several: bool,
    /// What there is to read of the reply.
    pub(crate) text: &'a str,
    /// What the call asked for, in its own words.
    pub(crate) query: String,
    /// Tokens of the short form at most.
    pub(crate) budget: u32,
}

/// Key of the `_meta` under which the host lists the tools that a reply came from, if there are several.
const CALLED_TOOLS: &str = "gatehouse/called";

/// Another reply to stand for this one; none to leave it as it is.
pub(crate) fn on_reply(call: &Call<Params>, outgoing: OutgoingReply) -> Result<Option<Reply>, Fault> {
    let OutgoingReply { origin, arguments, reply } = outgoing;
    let own = crate::TOOLS.contains(&origin.tool.name.as_str());
    if reply.is_error || own {
        return Ok(None);
    }
    let mut seen = ReplyParts::from_reply(reply);
    if seen.text.len() < call.params.threshold_bytes.at_most(u32::MAX) as usize {
        return Ok(None);
    }
    let envelope = AnswerEnvelope::open(&mut seen);
    // A form without loss is text, which other JSON in an envelope must not become.
    let may_be_text = envelope.as_ref().is_none_or(|envelope| envelope.is_text);
    let short = shorten_reply(call, &origin, &arguments, &seen, may_be_text).unwrap_or_else(|fault| {
        counters::add("failed");
        context::log(Level::Warn, &format!("a result stays as it is: {:?}", fault.kind), "");
        first_page(call, &origin, &arguments, &seen)
    });
    Ok(match (short, envelope) {
        (Some(short), Some(envelope)) => Some(envelope.close(short)),
        (short, _) => short,
    })
}

fn shorten_reply(
    call: &Call<Params>,
    origin: &Origin,
    arguments: &str,
    seen: &ReplyParts,
    may_be_text: bool,
) -> Result<Option<Reply>, Fault> {
    let called = called_tools(call);
    let mut names = [&origin.name, &origin.tool.name].into_iter().chain(&called);
    let large = seen.text.len() >= call.params.digest_above.at_most(u32::MAX) as usize;
    let digested = large && !names.any(|name| call.params.excludes(name));
    let most = if digested { MAX_COMPACT_PERCENT_OF_LARGE } else { MAX_COMPACT_PERCENT };
    // Of several texts one form would not say where one ends and the next begins.
    if seen.whole.is_none()
        && may_be_text
        && let Some(form) = text::compact(&seen.text)?
        && u64::from(form.tokens_out) * 100 <= u64::from(form.tokens_in) * most
    {
        counters::add_saved(form.tokens_in, form.tokens_out);
        return Ok(Some(reply(vec![Content::Text(form.text)], seen)));
    }
    if !digested {
        return Ok(None);
    }
    let budget = match seen.text.len() {
        CERTAINLY_LARGE_BYTES.. => MAX_SHORT_TOKENS,
        _ => match text::count(&seen.text)? {
            ..MIN_TOKENS => return Ok(None),
            tokens => MAX_SHORT_TOKENS.min(tokens / 4),
        },
    };
    let query = query(arguments);
    let several = !called.is_empty();
    let request = Request { call, origin, arguments, several, text: &seen.text, query, budget };
    let summary = summary::summarize(&request)?;
    match store_artifact(call, origin, arguments, seen, Some(&summary)) {
        Ok(artifact) => short_form::render(&request, &summary, Some(&artifact), seen),
        // A full store is not the client's fault; that nothing was kept is said.
        Err(fault) if fault.kind == FaultKind::Exhausted && too_long(call, seen) => {
            counters::add("not_kept");
            short_form::render(&request, &summary, None, seen)
        }
        Err(fault) => Err(fault),
    }
}

/// Returns the names of the tools that the reply came from, if there are several.
fn called_tools(call: &Call<Params>) -> Vec<String> {
    let meta = call.meta.as_deref().and_then(|meta| serde_json::from_str::<Map<String, Value>>(meta).ok());
    let called = meta.and_then(|mut meta| meta.remove(CALLED_TOOLS));
    called.and_then(|called| serde_json::from_value(called).ok()).unwrap_or_default()
}

/// The first page of a reply that could not be shortened, where it is too long and the whole of it could be kept.
fn first_page(call: &Call<Params>, origin: &Origin, arguments: &str, seen: &ReplyParts) -> Option<Reply> {
    if !too_long(call, seen) {
        return None;
    }
    let artifact = store_artifact(call, origin, arguments, seen, None).ok()?;
    Some(short_form::first_page(call, &artifact, seen))
}

fn too_long(call: &Call<Params>, seen: &ReplyParts) -> bool {
    seen.text.chars().count() > call.params.return_limit_chars.at_most(u32::MAX) as usize
}

fn store_artifact(
    call: &Call<Params>,
    origin: &Origin,
    arguments: &str,
    seen: &ReplyParts,
    summary: Option<&Summary>,
) -> Result<Artifact, Fault> {
    artifacts::put(&Draft {
        text: seen.stored_text().to_owned(),
        mime_type: seen.mime_type().into(),
        tool: Some(origin.name.clone()),
        source: Some(origin.source.clone()),
        summary: summary.map(|summary| summary.to_stored(&query(arguments))),
        tags: vec![origin.source.clone(), origin.name.clone(), call.preset.clone()],
        ttl_ms: Some(call.params.ttl_ms()),
    })
}

/// A reply of these blocks, with what of the former one is no text.
fn reply(mut content: Vec<Content>, seen: &ReplyParts) -> Reply {
    content.extend(seen.rest.iter().cloned());
    Reply { content, structured: None, is_error: false, meta: None }
}

/// Bytes of the query at most: beyond, it is a document and no question.
const MAX_QUERY_BYTES: usize = 2_000;

/// The strings in a call's arguments, which say what it was about.
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
