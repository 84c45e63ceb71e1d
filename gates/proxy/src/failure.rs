//! Error reports for failed calls: a code, the next step, and other tools if they could help. A denied call has no
//! suggestions, which could circumvent the denial.
//!
//! `auto_retry_fallback` calls the best suggested tool with the same arguments. Suggestions are callable in the caller's
//! preset and have no stronger effect than the failed tool. A call that may have had an effect is not repeated: if that
//! is unknown, only a read-only tool is replaced.

use gatehouse_sdk::{
    Content, Effect, Fault, FaultKind, Reply,
    servers::{self, Circuit},
    to_json,
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    alternatives::ToolSuggestion,
    call::Args,
    reply_format,
    search::{self, with_server},
    servers::LIST,
    tools,
};

pub(crate) const EXECUTION_ERROR: &str = "EXECUTION_ERROR";

/// Maximum characters of a tool's error in the report. A longer one also follows in full.
const MAX_ERROR_CHARS: usize = 2_000;

#[derive(Debug, Serialize)]
pub(crate) struct CallErrorReport {
    success: bool,
    pub(crate) error: String,
    error_code: &'static str,
    server: String,
    tool: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fallback: Option<FailedFallback>,
    pub(crate) fallback_suggestions: Vec<ToolSuggestion>,
}

impl CallErrorReport {
    pub(crate) fn new(args: &Args, error: &str, error_code: &'static str) -> Self {
        Self {
            success: false,
            error: reply_format::line(error, MAX_ERROR_CHARS),
            error_code,
            server: args.server.clone(),
            tool: args.tool.clone(),
            hint: None,
            schema: None,
            fallback: None,
            fallback_suggestions: Vec::new(),
        }
    }

    pub(crate) fn from_fault(
        args: &Args,
        fault: Fault,
        suggest: impl FnOnce(&str) -> Vec<ToolSuggestion>,
    ) -> Self {
        let error_code = code(&args.server, &args.tool, fault.kind);
        let mut failure = Self { hint: fault.hint, ..Self::new(args, &fault.message, error_code) };
        match error_code {
            "INVALID_ARGUMENTS" => {
                let tool = servers::tool(&args.server, &args.tool);
                failure.schema = tool.and_then(|tool| tools::parse_schema(&tool.input_schema)).ok();
                if failure.schema.is_some() {
                    failure.hint = failure.hint.filter(|hint| !hint.starts_with("Expected: "));
                }
            }
            "SERVER_NOT_FOUND" => failure.or_hint(LIST, |list| format!("{list} lists the servers.")),
            "TOOL_NOT_FOUND" => {
                failure.or_hint(tools::NAME, |list| format!("{list} lists the server's tools."));
                failure.or_hint(search::NAME, |search| format!("{search} finds tools by what they do."));
            }
            "DENIED" => {}
            _ => failure.fallback_suggestions = suggest(error_code),
        }
        failure
    }

    fn or_hint(&mut self, tool: &str, sentence: impl FnOnce(&str) -> String) {
        if self.hint.is_none() {
            self.hint = reply_format::hint(tool, sentence);
        }
    }

    /// Adds the error of another tool that was called, and removes that tool from the suggestions.
    pub(crate) fn with_fallback(mut self, fallback: FailedFallback) -> Self {
        self.fallback_suggestions.retain(|tool| !tool.matches(&fallback.server, &fallback.tool));
        Self { fallback: Some(fallback), ..self }
    }

    /// Returns whether the report contains an error in full.
    pub(crate) fn contains_error(&self, text: &str) -> bool {
        self.error == text.trim()
    }

    pub(crate) fn reply(self, other_blocks: Vec<Content>) -> Result<Reply, Fault> {
        let mut reply = Reply::markdown(to_json(&self)?);
        reply.content.extend(other_blocks);
        reply.is_error = true;
        Ok(reply)
    }
}

/// Maps a kind of failure to a code. `NotFound` can mean the server, the tool, or something that the tool looked up.
fn code(server: &str, tool: &str, kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::InvalidArguments => "INVALID_ARGUMENTS",
        FaultKind::Denied => "DENIED",
        FaultKind::TimedOut => "TIMEOUT",
        // A gate with unlisted tools is called like a server but is not in the list of servers, so check the tool
        // first.
        FaultKind::NotFound => match servers::tool(server, tool) {
            Err(fault) if fault.kind == FaultKind::NotFound => match servers::servers() {
                Ok(entries) if entries.iter().all(|entry| entry.name != server) => "SERVER_NOT_FOUND",
                _ => "TOOL_NOT_FOUND",
            },
            _ => EXECUTION_ERROR,
        },
        FaultKind::Unavailable => {
            let entries = servers::servers().unwrap_or_default();
            let is_open = |entry: &servers::Server| entry.name == server && entry.circuit == Circuit::Open;
            if entries.iter().any(is_open) { "CIRCUIT_OPEN" } else { "CONNECTION_ERROR" }
        }
        FaultKind::Exhausted | FaultKind::Internal => EXECUTION_ERROR,
    }
}

/// Maximum characters of an error in the note about a retry.
const MAX_NOTED_CHARS: usize = 300;

#[derive(Debug, Serialize)]
pub(crate) struct FailedFallback {
    server: String,
    tool: String,
    error: String,
    error_code: &'static str,
}

pub(crate) enum RetryOutcome {
    Nothing,
    /// The tool, as `server: tool`, and its reply.
    Reply(String, Reply),
    Failed(FailedFallback),
}

/// Returns whether the call certainly did not reach the tool.
pub(crate) fn never_reached_tool(fault: &Fault) -> bool {
    fault.retryable && fault.kind == FaultKind::Unavailable
}

pub(crate) fn is_read_only(args: &Args) -> bool {
    servers::tool(&args.server, &args.tool).is_ok_and(|tool| tool.effect == Effect::ReadOnly)
}

/// Calls the first of these tools that accepts the arguments.
pub(crate) fn retry(arguments: &str, suggestions: &[ToolSuggestion]) -> RetryOutcome {
    for other in suggestions {
        let reply = match servers::call(&other.server, &other.tool, arguments) {
            // Its schema rejected them, so it was not called.
            Err(fault) if fault.kind == FaultKind::InvalidArguments => continue,
            reply => reply,
        };
        let (error, error_code) = match reply {
            Ok(reply) if !reply.is_error => {
                return RetryOutcome::Reply(with_server(&other.server, &other.tool), reply);
            }
            Ok(reply) => (reply.text(), EXECUTION_ERROR),
            Err(fault) => (fault.message, code(&other.server, &other.tool, fault.kind)),
        };
        let (server, tool) = (other.server.clone(), other.tool.clone());
        let error = reply_format::line(&error, MAX_ERROR_CHARS);
        return RetryOutcome::Failed(FailedFallback { server, tool, error, error_code });
    }
    RetryOutcome::Nothing
}

pub(crate) fn retry_note(args: &Args, error: &str, other: &str) -> String {
    let (failed, error) = (with_server(&args.server, &args.tool), reply_format::line(error, MAX_NOTED_CHARS));
    format!("{failed} failed: {error}\nThis is the reply of {other} to the same arguments.")
}
