//! Tools that forward calls. A reply is filtered according to the tool that produced it, not the one that forwarded it.

use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};

use crate::{
    Call, CallContext, Catalog, ContentPart, Fault, Outcome, Reply, SourceId, ToolEntry,
    filters::AttachedFilter, lock, tool_policy::PRECHECK_KEYWORD, workflow::takes_requests,
};

/// `_meta` key by which a gate declares that a tool only calls others.
const FORWARDS_KEY: &str = "gatehouse/forwards";

/// Its value for a tool that runs the caller's code; others use `true`.
const FORWARDS_CODE: &str = "code";

/// `_meta` key for filters: names of the tools that produced a reply, if there are several.
pub const CALLED_TOOLS: &str = "gatehouse/called";

/// Calls that a tool forwarded, directly or through other forwarding tools.
#[derive(Default)]
pub(crate) struct ForwardedCalls {
    calls: Mutex<Vec<ForwardedCall>>,
    /// Last reply that the tool relays.
    reply: Mutex<Option<Reply>>,
}

struct ForwardedCall {
    entry: Arc<ToolEntry>,
    /// `None` if there are several calls.
    arguments: Option<Arc<Value>>,
}

pub(crate) struct ReplyOrigin {
    pub(crate) entry: Arc<ToolEntry>,
    pub(crate) arguments: Arc<Value>,
    /// Exposed and own names of the tools, if several produced the reply.
    pub(crate) called: Vec<String>,
}

impl ForwardedCalls {
    /// Records a call of `caller`, except lookups and prechecks, whose replies are not part of the caller's.
    pub(crate) fn record(&self, caller: &ToolEntry, nested: &Call) {
        let Ok(entry) = nested.context.entry() else { return };
        if !forwards(caller) {
            return;
        }
        if forwards(entry) {
            let mut inner = std::mem::take(&mut *lock(&nested.context.forwarded.calls));
            let mut calls = lock(&self.calls);
            calls.append(&mut inner);
            clear_arguments(&mut calls);
            return;
        }
        if has_forwarding_tools(&nested.context.catalog, &entry.id.source) {
            return;
        }
        let mut calls = lock(&self.calls);
        // Only a request makes prechecks, immediately before the call.
        let check = entry.declared.input_schema.get(PRECHECK_KEYWORD).and_then(Value::as_str);
        let is_check = |call: &mut ForwardedCall| {
            call.entry.id.source == entry.id.source && Some(&*call.entry.id.name) == check
        };
        if takes_requests(caller) {
            calls.pop_if(is_check);
        }
        let arguments = Some(sent_arguments(nested));
        // A retry of the same call.
        if calls.iter().any(|call| call.entry.id == entry.id && call.arguments == arguments) {
            return;
        }
        calls.push(ForwardedCall { entry: Arc::clone(entry), arguments });
        clear_arguments(&mut calls);
    }
}

impl ReplyOrigin {
    /// Returns the one tool that `call` forwarded to, or else `entry`, the tool of `call`.
    pub(crate) fn from_call(call: &Call, entry: &Arc<ToolEntry>) -> Self {
        let calls = lock(&call.context.forwarded.calls);
        if let [ForwardedCall { entry, arguments: Some(arguments) }] = &calls[..] {
            return Self { entry: Arc::clone(entry), arguments: Arc::clone(arguments), called: Vec::new() };
        }
        let names = calls.iter().flat_map(|call| [call.entry.name.as_str(), &*call.entry.id.name]);
        let mut called: Vec<String> = names.map(str::to_owned).collect();
        called.sort_unstable();
        called.dedup();
        Self { entry: Arc::clone(entry), arguments: sent_arguments(call), called }
    }

    /// Returns whether a filter of `called`, the tool that the client called, applies to the reply.
    ///
    /// Servers have no entries of their own in the catalog, so the filters of the forwarding tool apply to theirs.
    pub(crate) fn is_filtered_by(&self, called: &ToolEntry, filter: &Arc<AttachedFilter>) -> bool {
        let is_own = self.entry.id == called.id || matches!(self.entry.id.source, SourceId::Server(_));
        is_own || self.entry.filters.iter().any(|entry_filter| Arc::ptr_eq(entry_filter, filter))
    }

    pub(crate) fn meta(&self) -> Option<Arc<Map<String, Value>>> {
        let meta = || Map::from_iter([(CALLED_TOOLS.to_owned(), json!(self.called))]);
        (!self.called.is_empty()).then(|| Arc::new(meta()))
    }
}

/// Returns true if the tool only calls other tools, whose calls are checked themselves.
pub fn forwards(entry: &ToolEntry) -> bool {
    // Only gates may declare this: a server could use it to bypass the checks.
    matches!(entry.id.source, SourceId::Gate(_))
        && forwards_value(entry).is_some_and(|value| *value == true || *value == FORWARDS_CODE)
}

/// Returns true if the tool runs its caller's code.
pub(crate) fn runs_code(entry: &ToolEntry) -> bool {
    forwards(entry) && forwards_value(entry).is_some_and(|value| *value == FORWARDS_CODE)
}

/// Returns true if the tool relays the reply of the one tool that it calls.
pub(crate) fn relays_reply(entry: &ToolEntry) -> bool {
    forwards(entry) && !runs_code(entry) && !takes_requests(entry)
}

fn forwards_value(entry: &ToolEntry) -> Option<&Value> {
    entry.declared.meta.as_ref()?.get(FORWARDS_KEY)
}

/// Returns true if a source has forwarding tools; its other tools then only look things up.
fn has_forwarding_tools(catalog: &Catalog, source: &SourceId) -> bool {
    matches!(source, SourceId::Gate(_))
        && catalog.entries().iter().any(|entry| entry.id.source == *source && forwards(entry))
}

fn clear_arguments(calls: &mut [ForwardedCall]) {
    if calls.len() > 1 {
        calls.iter_mut().for_each(|call| call.arguments = None);
    }
}

fn sent_arguments(call: &Call) -> Arc<Value> {
    call.sent.clone().unwrap_or_else(|| Arc::new(call.arguments.clone()))
}

impl CallContext {
    pub(crate) fn record_nested(&self, nested: &Call, outcome: &Outcome) {
        let Ok(caller) = self.entry() else { return };
        self.forwarded.record(caller, nested);
        if let Ok(reply) = outcome
            && relays_reply(caller)
            && nested.context.entry().is_ok_and(|entry| entry.id.source != caller.id.source)
        {
            *lock(&self.forwarded.reply) = Some(reply.clone());
        }
    }

    /// Returns the relayed reply if the forwarding tool failed after getting one, or else the fault.
    pub(crate) fn relayed_reply_or(&self, fault: Fault) -> Outcome {
        let Some(mut reply) = lock(&self.forwarded.reply).take() else { return Err(fault) };
        let note = format!(
            "The tool ran, and this is its whole reply: '{}' failed to process it: {}",
            self.name, fault.message
        );
        reply.content.push(ContentPart::Text(note));
        Ok(reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Pipeline,
        testing::{Fixture, catalog, forwarding_tool, request_tool, tool},
    };

    /// Calls `run_code` of a gate with a lookup, next to a gate whose `edit` has the precheck `look`.
    async fn origin_of(arguments: Value) -> (String, Value, Vec<String>) {
        origin_through("run_code", arguments).await
    }

    async fn origin_through(forwarding: &str, arguments: Value) -> (String, Value, Vec<String>) {
        let mut edit = tool("edit", None);
        Arc::make_mut(&mut edit.input_schema).insert("x-precheck".into(), "look".into());
        let script = Fixture::gate(
            "script",
            vec![forwarding_tool("run_code"), request_tool("request"), tool("tool_types", None)],
        );
        let other = Fixture::gate("x", vec![edit, tool("look", None), tool("read_file", None)]);
        let catalog = catalog(&[&script, &other]).await;
        let pipeline = Arc::new(Pipeline::new(Vec::new()));
        let mut call = Call::new(CallContext::new(&pipeline, catalog, forwarding), arguments);
        call.run_in_place().await.expect("a reply");
        let entry = Arc::clone(call.context.entry().expect("a tool"));
        let origin = ReplyOrigin::from_call(&call, &entry);
        (origin.entry.name.to_string(), Value::clone(&origin.arguments), origin.called)
    }

    #[tokio::test]
    async fn a_reply_comes_from_the_one_tool_that_was_called() {
        let path = json!({"path": "a"});
        let read = |first: Value| json!({"first": first, "nested": "read_file", "with": path});
        let one = ("read_file".to_owned(), path.clone(), Vec::new());
        assert_eq!(origin_of(read(json!([]))).await, one);
        assert_eq!(origin_of(read(json!(["tool_types", "tool_types"]))).await, one, "lookups do not count");
        let deep = json!({"nested": "run_code", "with": {"nested": "read_file", "with": path}});
        assert_eq!(origin_of(deep).await, one, "through several forwarding tools");
        let twice = json!({"first": ["look"], "nested": "look", "with": {}});
        assert_eq!(origin_of(twice).await, ("look".into(), json!({}), Vec::new()), "a second attempt");
        let checked = json!({"first": ["look"], "nested": "edit", "with": path});
        let edit = ("edit".to_owned(), path.clone(), Vec::new());
        assert_eq!(origin_through("request", checked.clone()).await, edit, "a precheck");
        assert_eq!(origin_of(checked).await.2, ["edit", "look"], "a script reads for itself");
    }

    #[tokio::test]
    async fn several_calls_keep_the_forwarding_tool_as_origin() {
        let several = json!({"first": ["read_file"], "nested": "look", "with": {}});
        let called = vec!["look".to_owned(), "read_file".to_owned()];
        assert_eq!(origin_of(several.clone()).await, ("run_code".into(), several, called));
        assert_eq!(origin_of(json!({})).await, ("run_code".into(), json!({}), Vec::new()), "no call at all");
    }
}
