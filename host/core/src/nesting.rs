//! Calls that a source makes while it runs one: the same pipeline again, within what the call around them may do.
//!
//! What a source may set for itself, `limits.calls` among it, holds for one call of its own: a gate that is called has
//! all of its limits, whatever the one that calls it has used up. Four levels of 64 calls each would be seventeen
//! million, each with questions to models of its own, so what one client's call causes in all is counted too.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU32, Ordering},
};

use serde_json::Value;

use crate::{
    approval::ApprovalStore,
    call::{Call, CallContext, ProgressSink},
    call_time::CallDeadline,
    catalog::ToolEntry,
    effect::Effect,
    forwarding::runs_code,
    outcome::{Fault, Outcome},
    tool::{SourceId, ToolId, ToolSpec},
};

/// How deep calls nest: a client's call is at depth 0.
pub const MAX_DEPTH: usize = 4;

/// The most calls that one client's call may cause, over all levels: as many as one source may be allowed to make.
pub const MAX_NESTED_CALLS: u32 = 1_000;

/// What one client's call causes, over all levels.
#[derive(Debug, Default)]
pub(crate) struct CallTree {
    /// Nested calls so far.
    calls: AtomicU32,
    /// What was approved for it.
    pub(crate) approvals: ApprovalStore,
    /// Tools that were declined: nobody is asked about them again.
    pub(crate) declined_tools: Mutex<Vec<ToolId>>,
    /// Whoever asks for an approval waits for its turn.
    pub(crate) approval_lock: tokio::sync::Mutex<()>,
    /// Held by the server that asks the user something.
    pub(crate) question_lock: tokio::sync::Mutex<()>,
    /// Servers whose questions were declined, which may ask nothing more.
    pub(crate) declined_servers: Mutex<Vec<SourceId>>,
}

impl CallContext {
    /// Has the tool of this call call another one for the same client, with no stronger effect than its own and
    /// a little before `deadline`, which is that of the attempt that runs. Faults where calls nest too deep.
    pub async fn call_nested(&self, deadline: &CallDeadline, name: &str, arguments: Value) -> Outcome {
        let entry = self.catalog.find(name).cloned();
        self.run_nested(deadline, name, entry, arguments, NestedCallOptions::default()).await
    }

    /// The same for a tool of a server that the client is not shown; its progress is told to the client as that of this call.
    /// `apart`: over a connection of its own.
    pub async fn call_server_tool(
        &self,
        deadline: &CallDeadline,
        entry: Arc<ToolEntry>,
        arguments: Value,
        apart: bool,
    ) -> Outcome {
        let name = entry.name.to_string();
        self.run_nested(
            deadline,
            &name,
            Ok(entry),
            arguments,
            NestedCallOptions { progress: self.progress.clone(), isolated: apart },
        )
        .await
    }

    async fn run_nested(
        &self,
        deadline: &CallDeadline,
        name: &str,
        entry: Result<Arc<ToolEntry>, Fault>,
        arguments: Value,
        way: NestedCallOptions,
    ) -> Outcome {
        let caller = self.entry()?;
        let tool = &caller.spec.name;
        if self.enclosing_sources.len() >= MAX_DEPTH {
            return Err(Fault::exhausted(format!(
                "'{tool}' cannot call '{name}': calls nest at most {MAX_DEPTH} deep."
            )));
        }
        if self.call_tree.calls.fetch_add(1, Ordering::Relaxed) >= MAX_NESTED_CALLS {
            return Err(Fault::exhausted(format!(
                "'{tool}' cannot call '{name}': a call causes at most {MAX_NESTED_CALLS} others in all."
            ))
            .hint("Ask for less at once."));
        }
        let for_code = self.for_code || runs_code(caller);
        if for_code && entry.as_ref().is_ok_and(|entry| runs_code(entry)) {
            return Err(Fault::denied(format!(
                "'{name}' cannot be called for a script: a script starts no script."
            ))
            .hint("Put both into one script."));
        }
        let claim = self.claim.get().or(self.outer_claim.as_ref());
        // What a request allows holds for all that is called for it, also where a tool has become stronger since it was looked up.
        let own = claim.map_or(caller.spec.effect, |claim| claim.effect.min(caller.spec.effect));
        let above = self.effect_limit.as_ref();
        let effect = above.map_or(own, |above| above.effect.min(own));
        let adds_only = caller.spec.additive || above.is_some_and(|above| above.adds_only);
        let mut nested = Self::from_entry(&self.pipeline, Arc::clone(&self.catalog), name, entry);
        nested.principal = self.principal.clone();
        nested.cancel = self.cancel.clone();
        nested.progress = way.progress;
        nested.isolated = way.isolated;
        nested.for_code = for_code;
        nested.meta = self.meta.clone();
        nested.enclosing_sources =
            self.enclosing_sources.iter().chain([&caller.id.source]).cloned().collect();
        nested.call_tree = Arc::clone(&self.call_tree);
        nested.client = Arc::clone(&self.client);
        nested.outer_claim = claim.cloned();
        nested.working_directory.clone_from(&self.working_directory);
        nested.share_time(&self.time);
        nested.outer_deadline = Some(deadline.for_nested());
        nested.effect_limit = Some(EffectLimit { tool: Arc::clone(tool), effect, adds_only });
        let mut call = Call::new(nested, arguments);
        let outcome = call.run_mut().await;
        self.record_nested(&call, &outcome);
        outcome
    }
}

/// How a nested call goes.
#[derive(Default)]
struct NestedCallOptions {
    progress: Option<Arc<dyn ProgressSink>>,
    isolated: bool,
}

/// The strongest effect that a nested call may have, and the tool that promised it.
pub(crate) struct EffectLimit {
    pub(crate) tool: Arc<str>,
    effect: Effect,
    /// Whether it promised to change and remove nothing that is there.
    adds_only: bool,
}

impl EffectLimit {
    /// Passes a tool that does no more than was promised.
    pub(crate) fn admits(&self, tool: &ToolSpec) -> Result<(), Fault> {
        if tool.effect <= self.effect {
            if !self.adds_only || !tool.is_destructive() {
                return Ok(());
            }
            return Err(Fault::denied(format!(
                "'{}' is declared to add only and cannot call '{}', which may change or remove what is there.",
                self.tool, tool.name
            ))
            .hint("Call that tool yourself, or have the gate declare what it does."));
        }
        let (caller, promised, needed) = (&self.tool, self.effect.as_str(), tool.effect.as_str());
        Err(Fault::denied(format!(
            "'{caller}' is declared {promised} and cannot call '{}', which is {needed}.",
            tool.name
        ))
        .hint("Call that tool yourself, or have the gate declare what it does."))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Fixture, context, tool};

    #[tokio::test]
    async fn code_starts_no_code_through_whichever_tools() {
        let mut script = crate::testing::forwarding_tool("run_code");
        script.meta =
            Some(Arc::new(json!({"gatehouse/forwards": "code"}).as_object().cloned().expect("an object")));
        let tools = vec![script, crate::testing::request_tool("request"), tool("look", None)];
        let source = Fixture::new(SourceId::Gate("x".into()), tools);
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
            let expected = (!allowed)
                .then(|| "'run_code' cannot be called for a script: a script starts no script.".to_owned());
            assert_eq!(denied, expected, "{names:?}");
        }
    }

    #[tokio::test]
    async fn what_one_call_causes_is_counted_over_all_levels() {
        let source = Fixture::new(SourceId::Gate("x".into()), vec![tool("look", None)]);
        let outer = context(Vec::new(), &source, "look").await;
        let deadline = outer.deadline();
        // Each calls itself down to the bottom.
        for _ in 0..MAX_NESTED_CALLS / 4 {
            let inner = json!({"nested": "look", "arguments": {}});
            let deepest = outer.call_nested(&deadline, "look", inner).await.expect_err("too deep");
            assert!(deepest.message.contains("4 deep"), "{deepest}");
        }
        let fault = outer.call_nested(&deadline, "look", json!({})).await.expect_err("too many");
        assert!(fault.message.contains("at most 1000 others in all"), "{fault}");
        let another = context(Vec::new(), &source, "look").await;
        assert!(another.call_nested(&deadline, "look", json!({})).await.is_ok());
    }
}
