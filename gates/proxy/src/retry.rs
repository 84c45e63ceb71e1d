//! `auto_retry_fallback`: after a failure, calls the best suggested tool with the same arguments.
//!
//! Suggestions are callable in the caller's preset and have no stronger effect than the failed tool. A call that may
//! have had an effect is not repeated: if that is unknown, only a read-only tool is replaced.

use gatehouse_sdk::{Effect, Fault, FaultKind, Reply, servers};
use serde::Serialize;

use crate::{alternatives::ToolSuggestion, call::Args, failure, reply_format, search::with_server};

const MAX_ERROR_CHARS: usize = 300;

#[derive(Debug, Serialize)]
pub(crate) struct FailedFallback {
    server: String,
    tool: String,
    error: String,
    error_code: &'static str,
}

impl FailedFallback {
    pub(crate) fn matches(&self, tool: &ToolSuggestion) -> bool {
        tool.matches(&self.server, &self.tool)
    }
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
pub(crate) fn retry(arguments: &str, others: &[ToolSuggestion]) -> RetryOutcome {
    for other in others {
        let reply = match servers::call(&other.server, &other.tool, arguments) {
            // Its schema rejected them, so it was not called.
            Err(fault) if fault.kind == FaultKind::InvalidArguments => continue,
            reply => reply,
        };
        let (error, error_code) = match reply {
            Ok(reply) if !reply.is_error => {
                return RetryOutcome::Reply(with_server(&other.server, &other.tool), reply);
            }
            Ok(reply) => (reply.text(), failure::EXECUTION_ERROR),
            Err(fault) => {
                let code = failure::code(&other.server, &other.tool, fault.kind);
                (fault.message, code)
            }
        };
        let (server, tool) = (other.server.clone(), other.tool.clone());
        let error = reply_format::line(&error, failure::MAX_ERROR_CHARS);
        return RetryOutcome::Failed(FailedFallback { server, tool, error, error_code });
    }
    RetryOutcome::Nothing
}

pub(crate) fn note(args: &Args, error: &str, other: &str) -> String {
    let (failed, error) = (with_server(&args.server, &args.tool), reply_format::line(error, MAX_ERROR_CHARS));
    format!("{failed} failed: {error}\nThis is the reply of {other} to the same arguments.")
}
