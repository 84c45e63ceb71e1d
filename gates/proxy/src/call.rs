//! `call_tool`: calls a tool of a server. Results pass through unchanged, unless `select` returns a part; errors include
//! the next step.

use gatehouse_sdk::{
    Call, Content, Effect, Fault, FaultKind, Intent, Reply, Tool,
    artifacts::{self, Draft},
    replies::ReplyView,
    servers::{self, ToolSearch},
    to_json,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    Params,
    alternatives::{self, ToolSuggestion},
    failure::{self, CallErrorReport, RetryOutcome},
    params::always_load,
    reply_format,
};

pub(crate) const NAME: &str = "call_tool";

const MAX_INTENT_CANDIDATES: u32 = 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    pub(crate) server: String,
    pub(crate) tool: String,
    pub(crate) arguments: Option<Map<String, Value>>,
    pub(crate) include_fallbacks: Option<bool>,
    /// Purpose; orders the suggestions.
    pub(crate) intent: Option<String>,
    /// jq, applied to the result.
    pub(crate) select: Option<String>,
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Args>(NAME)
        .description(|_| "Call a server's tool. If the arguments are wrong, the error has its schema.")
        .schema(|_, schema| {
            // It costs tokens and is implied by the type.
            if let Some(Value::Object(arguments)) = schema.pointer_mut("/properties/arguments") {
                arguments.remove("additionalProperties");
            }
        })
        .meta(always_load)
        .intent(Intent::Execute)
        .effect(Effect::ExternalExec)
        .open_world()
        .forwards()
        .run(run)
}

fn run(call: &Call<Params>, args: Args) -> Result<Reply, Fault> {
    // Check the filter first: after the call, it is too late to reject it.
    if let Some(program) = &args.select {
        gatehouse_jq::check(program)?;
    }
    let arguments = to_json(&args.arguments.clone().unwrap_or_default())?;
    match servers::call(&args.server, &args.tool, &arguments) {
        Err(fault) => {
            let never_reached_tool = failure::never_reached_tool(&fault);
            let failure = CallErrorReport::from_fault(&args, fault, |error| suggestions(call, &args, error));
            with_fallback(call, (&args, &arguments), failure, never_reached_tool, Vec::new())
        }
        Ok(reply) if reply.is_error => tool_error_reply(call, (&args, &arguments), reply),
        Ok(reply) if is_empty(&reply) => Ok(empty_reply(call, &args, reply)),
        Ok(reply) => Ok(select(&args, reply)),
    }
}

/// Builds the reply to a failed call: another tool's reply if the preset allows a retry, else the failure.
fn with_fallback(
    call: &Call<Params>,
    (args, arguments): (&Args, &str),
    failure: CallErrorReport,
    never_reached_tool: bool,
    other_blocks: Vec<Content>,
) -> Result<Reply, Fault> {
    if !call.params.auto_retry_fallback || !(never_reached_tool || failure::is_read_only(args)) {
        return failure.reply(other_blocks);
    }
    match failure::retry(arguments, &failure.fallback_suggestions) {
        RetryOutcome::Nothing => failure.reply(other_blocks),
        RetryOutcome::Reply(other, reply) => {
            Ok(select(args, reply).with(Content::Text(failure::retry_note(args, &failure.error, &other))))
        }
        RetryOutcome::Failed(fallback) => failure.with_fallback(fallback).reply(other_blocks),
    }
}

fn tool_error_reply(
    call: &Call<Params>,
    (args, arguments): (&Args, &str),
    reply: Reply,
) -> Result<Reply, Fault> {
    let text = reply.text();
    let mut failure = CallErrorReport::new(args, &text, failure::EXECUTION_ERROR);
    failure.fallback_suggestions = suggestions(call, args, failure::EXECUTION_ERROR);
    let reported = failure.contains_error(&text);
    let other_blocks =
        reply.content.into_iter().filter(|block| !(reported && matches!(block, Content::Text(_))));
    with_fallback(call, (args, arguments), failure, false, other_blocks.collect())
}

fn empty_reply(call: &Call<Params>, args: &Args, reply: Reply) -> Reply {
    let suggestions = suggestions(call, args, "empty reply");
    let mut lines = vec!["The reply is empty.".to_owned()];
    if !suggestions.is_empty() {
        lines.push("Other tools that fit:".into());
        lines.extend(suggestions.iter().map(alternatives::line));
    }
    reply.with(Content::Text(lines.join("\n")))
}

/// Whether a reply has no text other than blanks, no data, and nothing else.
fn is_empty(reply: &Reply) -> bool {
    let is_text = |block: &Content| block.as_text().is_some_and(|text| text.trim().is_empty());
    reply.structured.is_none() && reply.content.iter().all(is_text)
}

/// Finds other tools, matches of the intent first. Ignores errors, because the failed call matters more.
fn suggestions(call: &Call<Params>, args: &Args, error: &str) -> Vec<ToolSuggestion> {
    let limit = call.params.suggestions();
    if !args.include_fallbacks.unwrap_or(true) || limit == 0 {
        return Vec::new();
    }
    let candidates = servers::alternatives(&args.server, &args.tool, Some(error), limit);
    let mut suggestions: Vec<ToolSuggestion> =
        candidates.unwrap_or_default().into_iter().map(alternatives::suggestion).collect();
    if let Some(intent) = args.intent.as_ref().filter(|_| suggestions.len() > 1) {
        let query =
            ToolSearch { query: intent.clone(), server: None, limit: MAX_INTENT_CANDIDATES, min_score: 0.0 };
        let matches = servers::search(&query).map(|results| results.hits).unwrap_or_default();
        suggestions.sort_by_key(|tool| {
            matches.iter().position(|hit| tool.matches(&hit.server, &hit.name)).unwrap_or(matches.len())
        });
    }
    suggestions
}

/// Applies the filter, if any, to a reply and adds a line that reports it. If the filter fails on this result, the full
/// result is returned.
fn select(args: &Args, reply: Reply) -> Reply {
    let Some(program) = &args.select else { return reply };
    let outputs = reply.view().and_then(|view| Ok((gatehouse_jq::run_on(&view, program)?, view)));
    let (outputs, view) = match outputs {
        Ok(outputs) => outputs,
        Err(fault) => {
            let note = format!("select failed; this is the full result: {}", fault.message);
            return reply.with(Content::Text(note));
        }
    };
    let count = outputs.values.len();
    let stored = store_artifact(args, &view, reply.structured.as_deref());
    let note = outputs.note.map(|note| format!(" {note}")).unwrap_or_default();
    let data = view.data.as_ref().map_or("", |data| &data.json);
    let characters = view.text.chars().count().max(data.chars().count());
    let values = if count == 1 { "value" } else { "values" };
    let summary = format!("select: {count} {values} of a result of {characters} characters.{note} {stored}");
    let mut content = vec![Content::Text(outputs.values.join("\n"))];
    content.extend(reply.content.into_iter().filter(|block| block.as_text().is_none()));
    content.push(Content::Text(summary));
    Reply { content, structured: None, is_error: false, meta: reply.meta }
}

/// Stores the full result as an artifact, if the preset grants artifacts. Returns a sentence about the outcome.
fn store_artifact(args: &Args, view: &ReplyView, structured: Option<&str>) -> String {
    let (tool, source) = (Some(args.tool.clone()), Some(args.server.clone()));
    match artifacts::put_reply(Draft { tool, source, ..Draft::new("", "") }, view, structured) {
        Ok(artifact) => {
            let hint = reply_format::hint("get_workspace_file", |file| format!("; {file} reads any part"));
            format!("The full result is stored as {}{}.", artifact.id, hint.unwrap_or_default())
        }
        // Not to grant artifacts is a choice.
        Err(fault) if fault.kind == FaultKind::Denied => "The rest is not stored.".into(),
        Err(fault) => format!("The rest is not stored: {}", fault.message),
    }
}
