//! Calls that a source makes while it runs one: the same line again, within what the call around them may do.

use std::sync::Arc;

use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    call::{Call, Principal},
    catalog::Catalog,
    effect::Effect,
    outcome::{Fault, Outcome},
    pipeline::Pipeline,
    tool::{SourceId, ToolSpec},
};

/// How deep calls nest: a client's call is at depth 0.
pub const MAX_DEPTH: usize = 4;

/// What a running call hands on to those that its source makes.
pub struct Nesting {
    catalog: Arc<Catalog>,
    line: Arc<Pipeline>,
    principal: Principal,
    deadline: Instant,
    cancel: CancellationToken,
    /// The sources of the calls around, outermost first.
    within: Vec<SourceId>,
    /// The tool that calls.
    caller: Arc<str>,
    ceiling: Effect,
}

impl Nesting {
    /// Of a call that `source` runs as `tool`. None where the call takes no line, as in a test.
    pub fn of(call: &Call, source: &SourceId, tool: &ToolSpec) -> Option<Self> {
        let within = call.within.iter().chain([source]).cloned().collect();
        Some(Self {
            catalog: Arc::clone(&call.catalog),
            line: Arc::clone(call.line.as_ref()?),
            principal: call.principal.clone(),
            deadline: call.deadline,
            cancel: call.cancel.clone(),
            within,
            caller: Arc::clone(&tool.name),
            ceiling: call.ceiling.as_ref().map_or(tool.effect, |above| above.effect.min(tool.effect)),
        })
    }

    /// What may be called: what the client may call.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Calls a tool for the client, within what is left of the deadline and with no stronger effect than
    /// the calling tool declares. Faults where calls nest too deep.
    pub async fn call(&self, name: &str, arguments: Value) -> Outcome {
        if self.within.len() > MAX_DEPTH {
            return Err(Fault::exhausted(format!(
                "'{}' cannot call '{name}': calls nest at most {MAX_DEPTH} deep.",
                self.caller
            )));
        }
        let mut call = Call::new(Arc::clone(&self.catalog), name, arguments);
        call.principal = self.principal.clone();
        call.deadline = self.deadline;
        call.cancel = self.cancel.clone();
        call.within.clone_from(&self.within);
        call.ceiling = Some(Ceiling { tool: Arc::clone(&self.caller), effect: self.ceiling });
        self.line.call(&mut call).await
    }
}

/// The strongest effect that a nested call may have, and the tool that promised it.
pub struct Ceiling {
    tool: Arc<str>,
    effect: Effect,
}

impl Ceiling {
    /// Passes a tool that does no more than was promised.
    pub(crate) fn admits(&self, tool: &ToolSpec) -> Result<(), Fault> {
        if tool.effect <= self.effect {
            return Ok(());
        }
        let (caller, promised, needed) = (&self.tool, self.effect.as_str(), tool.effect.as_str());
        Err(Fault::denied(format!(
            "'{caller}' is declared {promised} and cannot call '{}', which is {needed}.",
            tool.name
        ))
        .hint("Call that tool yourself, or have the gate declare what it does."))
    }
}
