//! Calls that a source makes while it runs one: the same pipeline again, within what the call around them may do.

use std::sync::Arc;

use serde_json::Value;
use tokio::time::Instant;

use crate::{
    call::{Call, CallContext},
    effect::Effect,
    outcome::{Fault, Outcome},
    tool::ToolSpec,
};

/// How deep calls nest: a client's call is at depth 0.
pub const MAX_DEPTH: usize = 4;

impl CallContext {
    /// Has the tool of this call call another one for the same client, with no stronger effect than its own and
    /// before `deadline`, which is that of the attempt that runs. Faults where calls nest too deep.
    pub async fn nested(&self, deadline: Instant, name: &str, arguments: Value) -> Outcome {
        let caller = self.entry()?;
        let tool = &caller.spec.name;
        if self.within.len() >= MAX_DEPTH {
            return Err(Fault::exhausted(format!(
                "'{tool}' cannot call '{name}': calls nest at most {MAX_DEPTH} deep."
            )));
        }
        let own = caller.spec.effect;
        let effect = self.ceiling.as_ref().map_or(own, |above| above.effect.min(own));
        let mut nested = Self::new(&self.pipeline, Arc::clone(&self.catalog), name);
        nested.principal = self.principal.clone();
        nested.cancel = self.cancel.clone();
        nested.within = self.within.iter().chain([&caller.id.source]).cloned().collect();
        nested.outer_deadline = Some(deadline);
        nested.ceiling = Some(Ceiling { tool: Arc::clone(tool), effect });
        Call::new(nested, arguments).run().await
    }
}

/// The strongest effect that a nested call may have, and the tool that promised it.
pub(crate) struct Ceiling {
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
