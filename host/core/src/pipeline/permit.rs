//! Checks the arguments of calls that access rules limit.
//!
//! The catalog already hides tools that no rule allows. This stage follows *validate*, so it sees the arguments that the
//! tool gets: artifacts are inserted, and the preset's fixed arguments replace those of the client. If a rule limits an
//! argument that is missing, the default of the tool's schema is sent with the call, so that what was checked is what
//! the tool gets.

use std::sync::Arc;

use async_trait::async_trait;

use super::{CALL_LOG_TARGET, Next, Stage};
use crate::{Call, Fault, LogLimit, Outcome};

static DENIED_LOG_LIMIT: LogLimit = LogLimit::new();

pub struct PermitStage;

#[async_trait]
impl Stage for PermitStage {
    fn applies(&self, call: &Call) -> bool {
        call.context.catalog.access().is_some()
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let context = Arc::clone(&call.context);
        let Some(access) = context.catalog.access() else { return next.run(call).await };
        let entry = context.entry()?;
        let (decision, filled) = access.decide_call(entry, &call.arguments);
        if let Some(filled) = filled {
            call.arguments = filled;
        }
        if decision.is_allowed() {
            return next.run(call).await;
        }
        let reason = decision.for_operators();
        context.notes.set_rule(&reason);
        if let Some(left_out) = DENIED_LOG_LIMIT.admit_line() {
            let (tool, preset) = (entry.name.as_str(), &context.catalog.preset);
            tracing::warn!(
                target: CALL_LOG_TARGET, %tool, %preset, left_out, "access denied: {reason}"
            );
        }
        Err(Fault::denied(format!("access to '{}' with these arguments is not allowed", entry.name)))
    }
}

#[cfg(test)]
mod tests;
