//! Nested calls, which a source makes while it runs a call. They pass the same pipeline, within the enclosing call's
//! limits.
//!
//! Limits such as `limits.calls` count per call of a gate. Four levels of 64 calls would be seventeen million, so the
//! total per client call is limited too.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU32, Ordering},
};

use gatehouse_telemetry::{SpanKind, Trace, is_tracing};
use serde_json::Value;

use crate::{
    Call, CallContext, CallDeadline, Effect, Fault, Outcome, SourceId, ToolEntry, ToolId, ToolSpec,
    approval::ApprovalStore,
    call::{CallNotes, ProgressSink},
    forwarding::runs_code,
    ports::ledger::SampleEnding,
};

/// Maximum nesting depth; a client's call has depth 0.
pub const MAX_DEPTH: usize = 4;

/// Maximum nested calls of one client call, over all levels.
pub const MAX_NESTED_CALLS: u32 = 1_000;

#[derive(Debug, Default)]
pub(crate) struct CallTree {
    calls: AtomicU32,
    pub(crate) approvals: ApprovalStore,
    pub(crate) declined_tools: Mutex<Vec<ToolId>>,
    /// Serializes requests for approval.
    pub(crate) approval_lock: tokio::sync::Mutex<()>,
    /// Serializes questions of servers to the user.
    pub(crate) question_lock: tokio::sync::Mutex<()>,
    pub(crate) declined_servers: Mutex<Vec<SourceId>>,
}

impl CallContext {
    /// Calls another tool for the same client, with at most this tool's effect, ending a little before `deadline`.
    pub async fn call_nested(&self, deadline: &CallDeadline, name: &str, arguments: Value) -> Outcome {
        let entry = self.catalog.find_for_models(name).cloned();
        self.run_nested(deadline, name, entry, arguments, None, false).await
    }

    /// Like [`Self::call_nested`], for a server's tool that the client does not see. Its progress is reported as this
    /// call's. With `isolated` it uses its own connection.
    pub async fn call_server_tool(
        &self,
        deadline: &CallDeadline,
        entry: Arc<ToolEntry>,
        arguments: Value,
        isolated: bool,
    ) -> Outcome {
        let name = entry.name.to_string();
        self.run_nested(deadline, &name, Ok(entry), arguments, self.progress.clone(), isolated).await
    }

    async fn run_nested(
        &self,
        deadline: &CallDeadline,
        name: &str,
        entry: Result<Arc<ToolEntry>, Fault>,
        arguments: Value,
        progress: Option<Arc<dyn ProgressSink>>,
        isolated: bool,
    ) -> Outcome {
        let caller = self.entry()?;
        let tool = &caller.spec.name;
        if self.caller.ended.is_cancelled() {
            let reason = format!(
                "'{tool}' cannot call '{name}': the key or token of the caller was revoked, has expired, or was not used \
                 long enough to be checked again"
            );
            return Err(Fault::denied(reason).hint("Connect with a valid one, and call the tool again."));
        }
        if self.enclosing_sources.len() >= MAX_DEPTH {
            return Err(Fault::exhausted(format!(
                "'{tool}' cannot call '{name}': calls nest at most {MAX_DEPTH} deep"
            )));
        }
        if self.call_tree.calls.fetch_add(1, Ordering::Relaxed) >= MAX_NESTED_CALLS {
            return Err(Fault::exhausted(format!(
                "'{tool}' cannot call '{name}': a call can cause at most {MAX_NESTED_CALLS} others in total"
            ))
            .hint("Split the work into several calls."));
        }
        let from_script = self.from_script || runs_code(caller);
        if from_script && entry.as_ref().is_ok_and(|entry| runs_code(entry)) {
            return Err(Fault::denied(format!(
                "'{name}' cannot be called from a script: scripts cannot start scripts"
            ))
            .hint("Combine them into one script."));
        }
        let envelope = self.envelope.get().or(self.outer_envelope.as_ref());
        // The request's limit also holds for tools that became stronger after they were looked up.
        let own_effect =
            envelope.map_or(caller.spec.effect, |envelope| envelope.effect.min(caller.spec.effect));
        let above = self.effect_limit.as_ref();
        let effect = above.map_or(own_effect, |above| above.effect.min(own_effect));
        let adds_only = caller.spec.additive || above.is_some_and(|above| above.adds_only);
        let enclosing = self.enclosing_sources.iter().chain([&caller.id.source]);
        let nested = Self {
            caller: Arc::clone(&self.caller),
            origin: self.origin.clone(),
            notes: CallNotes::within(&self.notes),
            cancel: self.cancel.clone(),
            progress,
            isolated,
            from_script,
            meta: self.meta.clone(),
            trace: self.nested_trace(entry.as_ref().ok()),
            enclosing_sources: enclosing.cloned().collect(),
            enclosing_turns: self.turns().collect(),
            call_tree: Arc::clone(&self.call_tree),
            client: Arc::clone(&self.client),
            outer_envelope: envelope.cloned(),
            working_directory: self.working_directory.clone(),
            time: Arc::clone(&self.time),
            paused: self.time.paused(),
            uncounted: self.time.uncounted(),
            outer_deadline: Some(deadline.for_nested()),
            effect_limit: Some(EffectLimit { tool: Arc::clone(tool), effect, adds_only }),
            ..Self::from_entry(&self.pipeline, Arc::clone(&self.catalog), name, entry)
        };
        // Ends the span of a call that is dropped. Another end has no effect.
        let _end = EndOnDrop(nested.trace.clone());
        let mut call = Call::new(nested, arguments);
        let outcome = call.run_in_place().await;
        self.record_nested(&call, &outcome);
        call.context.trace.end(SampleEnding::from_outcome(&outcome).error_type());
        outcome
    }

    /// Begins the span of a call of another tool.
    fn nested_trace(&self, entry: Option<&Arc<ToolEntry>>) -> Trace {
        if !is_tracing() {
            return Trace::default();
        }
        // Tools choose other names.
        let Some(entry) = entry else { return self.trace.child(SpanKind::Internal, "tools/call") };
        let trace = self.trace.child(SpanKind::Internal, format!("tools/call {}", entry.name));
        trace.set("gen_ai.operation.name", "execute_tool");
        trace.set("gen_ai.tool.name", entry.name.to_string());
        trace
    }
}

struct EndOnDrop(Trace);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end("cancelled");
    }
}

/// Strongest effect of a nested call, and the tool that promised it.
pub(crate) struct EffectLimit {
    pub(crate) tool: Arc<str>,
    effect: Effect,
    adds_only: bool,
}

impl EffectLimit {
    pub(crate) fn admits(&self, tool: &ToolSpec) -> Result<(), Fault> {
        let (caller, called) = (&self.tool, &tool.name);
        let reason = if tool.effect > self.effect {
            let (promised, needed) = (self.effect.as_str(), tool.effect.as_str());
            format!("'{caller}' is declared {promised} and cannot call '{called}', which is {needed}")
        } else if self.adds_only && tool.is_destructive() {
            format!(
                "'{caller}' is declared to only add data and cannot call '{called}', which may change or remove data"
            )
        } else {
            return Ok(());
        };
        let hint = "Call that tool directly, or declare its effect for the calling tool.";
        Err(Fault::denied(reason).hint(hint))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Fixture, context, object, tool};

    #[tokio::test]
    async fn scripts_cannot_start_scripts_through_other_tools() {
        let mut script = crate::testing::forwarding_tool("run_code");
        script.meta = Some(Arc::new(object(json!({"gatehouse/forwards": "code"}))));
        let tools = vec![script, crate::testing::request_tool("request"), tool("look", None)];
        let source = Fixture::gate("x", tools);
        let through = |names: &[&str]| {
            names.iter().rev().fold(json!({}), |with, name| json!({"nested": name, "with": with}))
        };
        for (names, allowed) in [
            (&["request", "run_code", "look"][..], true),
            (&["run_code", "request", "look"], true),
            (&["run_code", "run_code"], false),
            (&["run_code", "request", "run_code"], false),
            (&["request", "run_code", "request", "run_code"], false),
        ] {
            let outer = context(Vec::new(), &source, names[0]).await;
            let outcome = outer.call_nested(&outer.deadline(), names[1], through(&names[2..])).await;
            let denied = outcome.err().map(|fault| fault.message);
            let expected = (!allowed).then(|| {
                "'run_code' cannot be called from a script: scripts cannot start scripts".to_owned()
            });
            assert_eq!(denied, expected, "{names:?}");
        }
    }

    #[tokio::test]
    async fn nested_calls_are_counted_over_all_levels() {
        let source = Fixture::gate("x", vec![tool("look", None)]);
        let outer = context(Vec::new(), &source, "look").await;
        let deadline = outer.deadline();
        // Each of these nests four levels deep.
        for _ in 0..MAX_NESTED_CALLS / 4 {
            let inner = json!({"nested": "look", "arguments": {}});
            let deepest = outer.call_nested(&deadline, "look", inner).await.expect_err("too deep");
            assert!(deepest.message.contains("4 deep"), "{deepest}");
        }
        let fault = outer.call_nested(&deadline, "look", json!({})).await.expect_err("too many");
        assert!(fault.message.contains("at most 1000 others in total"), "{fault}");
        let another = context(Vec::new(), &source, "look").await;
        assert!(another.call_nested(&deadline, "look", json!({})).await.is_ok());
    }
}
