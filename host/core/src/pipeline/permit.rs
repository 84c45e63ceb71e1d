//! Checks the arguments of calls that access rules limit.
//!
//! The catalog already hides tools that no rule allows. This stage follows *validate*, so it sees the arguments that the
//! tool gets: artifacts are inserted, and the preset's fixed arguments replace those of the client. If a rule limits an
//! argument that is missing, the default of the tool's schema is sent with the call, so that what was checked is what
//! the tool gets.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use super::{CALL_LOG_TARGET, Next, Stage};
use crate::{Call, CallContext, Fault, LogLimit, Outcome, access::PresetAccess, names};

static DENIED_LOG_LIMIT: LogLimit = LogLimit::new();

pub struct PermitStage;

#[async_trait]
impl Stage for PermitStage {
    fn applies(&self, call: &Call) -> bool {
        call.context.catalog.access().is_some()
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let context = Arc::clone(&call.context);
        if let Some(access) = context.catalog.access() {
            permit(&context, access, &mut call.arguments)?;
        }
        next.run(call).await
    }
}

fn permit(context: &CallContext, access: &PresetAccess, arguments: &mut Value) -> Result<(), Fault> {
    let entry = context.entry()?;
    let (decision, filled) = access.decide_call(entry, arguments);
    if let Some(filled) = filled {
        *arguments = filled;
    }
    if decision.is_allowed() {
        return Ok(());
    }
    let why = decision.for_operators();
    context.notes.set_rule(&why);
    if let Some(left_out) = DENIED_LOG_LIMIT.admit_line() {
        let (tool, preset) = (entry.name.as_str(), &context.catalog.preset);
        let principal = names::quoted(context.principal().as_str(), 128);
        tracing::warn!(
            target: CALL_LOG_TARGET, call = %context.id, %principal, %tool, %preset, left_out, "access denied: {why}"
        );
    }
    Err(Fault::denied(format!("access to '{}' with these arguments is not allowed", entry.name)))
}

#[cfg(test)]
mod tests;
