//! Measures the requests to servers, for operators.

use std::sync::Arc;

use gatehouse_core::CallContext;
use gatehouse_telemetry::{SpanKind, Trace, is_tracing, metrics};
use serde_json::Value;
use tokio::time::Instant;

use super::{Channel, Peer, Request, message::Answer};
use crate::{
    downstream::connection::CallFailure,
    serve::{code_name, span_name},
};

/// A request that is being answered. Its end is recorded when it is dropped.
pub(super) struct MeasuredRequest<'a> {
    /// The span of the request.
    pub(super) trace: Trace,
    peer: &'a Peer,
    call: Option<&'a Arc<CallContext>>,
    method: &'static str,
    /// Empty for other requests than calls.
    tool: String,
    start: Instant,
    /// `None` until the answer is there.
    error: Option<&'static str>,
}

impl<'a> MeasuredRequest<'a> {
    /// Begins to measure a request. `None` if metrics and traces are off.
    pub(super) fn start(peer: &'a Peer, request: &Request<'a>) -> Option<Self> {
        if metrics().is_none() && !is_tracing() {
            return None;
        }
        let method = request.method;
        let tool = request.params.get("name").filter(|_| method == "tools/call").and_then(Value::as_str);
        let tool = tool.unwrap_or_default().to_owned();
        let caller = request.call.map(|call| &call.trace);
        let trace = caller.unwrap_or(&Trace::default()).child(SpanKind::Client, span_name(method, &tool));
        trace.set("mcp.method.name", method);
        trace.set("gen_ai.tool.name", tool.clone());
        trace.set("network.transport", transport(&peer.channel));
        trace.set("gatehouse.server", peer.server.name().to_owned());
        Some(Self { trace, peer, call: request.call, method, tool, start: Instant::now(), error: None })
    }

    pub(super) fn end(mut self, answer: &Answer) {
        self.error = Some(match answer {
            Ok(result) if self.method == "tools/call" && result.value["isError"] == true => "tool_error",
            Ok(_) => "",
            Err(CallFailure::Refused { code, .. }) => code_name(*code),
            Err(CallFailure::Transport(_)) => "transport",
            Err(CallFailure::NotSent(_)) => "unreachable",
            Err(CallFailure::Status { .. }) => "http_status",
            Err(CallFailure::Unanswered(_)) => "unanswered",
            Err(CallFailure::Login(_)) => "login_required",
            Err(CallFailure::SessionEnded { .. }) => "session_ended",
            Err(CallFailure::Unreadable(_)) => "unreadable",
        });
    }
}

impl Drop for MeasuredRequest<'_> {
    fn drop(&mut self) {
        let is_cancelled = self.call.is_some_and(|call| call.cancel.is_cancelled());
        let error = self.error.unwrap_or(if is_cancelled { "cancelled" } else { "timeout" });
        self.trace.end(error);
        let Some(metrics) = metrics() else { return };
        let Peer { channel, server, .. } = self.peer;
        let values = [self.method, &self.tool, error, transport(channel), server.name()];
        metrics.client_operations.series(values).observe(self.start.elapsed().as_secs_f64());
    }
}

/// Records the end of a connection.
pub(super) fn record_session(peer: &Peer) {
    if let Some(metrics) = metrics() {
        let series = metrics.client_sessions.series([transport(&peer.channel), peer.server.name()]);
        series.observe(peer.opened.elapsed().as_secs_f64());
    }
}

/// Returns the transport in the words of the conventions.
const fn transport(channel: &Channel) -> &'static str {
    if matches!(channel, Channel::Pipes(_)) { "pipe" } else { "tcp" }
}
