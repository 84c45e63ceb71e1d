//! Records calls in the audit.
//!
//! A call that may change something gets its reply only once its entry is on disk. If the audit cannot be written, such
//! calls do not run. Refused calls are recorded, of a flood some and their number; other read-only calls if the
//! configuration asks for it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use gatehouse_telemetry::{CallLabels, call_labels};
use tokio::time::timeout;

use super::{Next, Stage};
use crate::{
    Call, CallContext, Effect, Fault, FaultKind, LogLimit, Outcome, Principal,
    hash::json_digest,
    json, lock, names,
    ports::{
        audit::{AuditEntry, AuditKind, AuditLog},
        ledger::SampleEnding,
    },
    quota_meter::estimated_tokens,
};

/// Maximum wait for an audit that failed before.
const MAX_CHECK_TIME: Duration = Duration::from_secs(10);

/// Maximum wait for a pseudonym, which only the log needs.
const MAX_PSEUDONYM_TIME: Duration = Duration::from_millis(50);

/// Principals whose refusals are counted apart. Above it, all counts start again.
const MAX_COUNTED_PRINCIPALS: usize = 4_096;

/// Maximum characters of stored names from a request.
const MAX_NAME_CHARS: usize = 128;

pub struct AuditStage {
    /// `None` if calls are not recorded.
    log: Option<Arc<dyn AuditLog>>,
    /// True to record read-only calls that were not refused.
    reads: bool,
    /// For refused calls, of which a caller can make thousands per second.
    refusals: Mutex<HashMap<Principal, LogLimit>>,
}

impl AuditStage {
    pub fn new(log: Option<Arc<dyn AuditLog>>, reads: bool) -> Self {
        Self { log, reads, refusals: Mutex::default() }
    }

    /// Returns the number of refused calls of a principal that were left out since the last entry, or `None` if this one
    /// is left out too.
    fn admit_refusal(&self, principal: &Principal) -> Option<u64> {
        let mut refusals = lock(&self.refusals);
        if refusals.len() >= MAX_COUNTED_PRINCIPALS && !refusals.contains_key(principal) {
            refusals.clear();
        }
        refusals.entry(principal.clone()).or_default().admit_line()
    }
}

#[async_trait]
impl Stage for AuditStage {
    fn applies(&self, _: &Call) -> bool {
        self.log.is_some()
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let Some(log) = &self.log else { return next.run(call).await };
        let context = Arc::clone(&call.context);
        label_lines(&**log, context.principal()).await;
        let effect = context.entry().map_or(Effect::ReadOnly, |entry| entry.spec.effect);
        let changes = effect > Effect::ReadOnly;
        if changes {
            let checked = timeout(MAX_CHECK_TIME, log.check())
                .await
                .unwrap_or_else(|_| Err(Fault::unavailable("the audit does not answer")));
            checked.map_err(|fault| not_run(&context, &fault))?;
        }
        let mut pending = PendingEntry {
            log: &**log,
            context: &context,
            is_recorded: changes || self.reads,
            arguments: (changes || self.reads)
                .then(|| (json::encoded_len(&call.arguments), json_digest(&call.arguments))),
        };
        let outcome = next.run(call).await;
        let effect = context.effect_within_envelope(effect);
        let is_refused = is_refused(&context, &outcome);
        if !(effect > Effect::ReadOnly || self.reads || is_refused) {
            pending.is_recorded = false;
            return outcome;
        }
        let mut entry = pending.take(&outcome);
        if is_refused {
            if let Some(left_out) = self.admit_refusal(context.principal()) {
                let details = format!("({left_out} refusals before this one were left out)");
                entry.details = (left_out > 0).then_some(details);
                log.record_refusal(entry);
            }
            return outcome;
        }
        if effect == Effect::ReadOnly {
            log.record(entry);
            return outcome;
        }
        match log.commit(entry).await {
            Ok(()) => outcome,
            Err(fault) => Err(not_recorded(&context, &fault)),
        }
    }
}

/// Adds the pseudonym of the principal to the lines of this call, if it is known in time.
async fn label_lines(log: &dyn AuditLog, principal: &Principal) {
    let is_unknown = |labels: &Arc<CallLabels>| labels.principal.get().is_none();
    let Some(labels) = call_labels().filter(is_unknown).filter(|_| *principal != Principal::Local) else {
        return;
    };
    if let Ok(Some(pseudonym)) = timeout(MAX_PSEUDONYM_TIME, log.pseudonym(principal)).await {
        let _ = labels.principal.set(pseudonym);
    }
}

/// Whether a rule, a quota or a user refused the call, so that its tool did not run.
fn is_refused(context: &CallContext, outcome: &Outcome) -> bool {
    let Err(fault) = outcome else { return false };
    let noted = context.notes.rule().is_some() && fault.kind == FaultKind::Exhausted;
    noted || matches!(fault.kind, FaultKind::Denied | FaultKind::UnknownTool) && !context.reached_source()
}

fn not_run(context: &CallContext, fault: &Fault) -> Fault {
    let message = format!("'{}' did not run: its call cannot be recorded: {}", context.name, fault.message);
    let hint = fault.hint.as_deref().unwrap_or("Ask the host's operator to run `gatehouse doctor`.");
    Fault::unavailable(message).hint(hint)
}

fn not_recorded(context: &CallContext, fault: &Fault) -> Fault {
    let message = format!("'{}' ran, but its call cannot be recorded: {}", context.name, fault.message);
    let hint = "Do not repeat the call before you have checked what it did.";
    Fault { retryable: false, ..Fault::unavailable(message).hint(hint) }
}

/// The entry of a running call. Recorded as cancelled if it is dropped before the call ends.
struct PendingEntry<'a> {
    log: &'a dyn AuditLog,
    context: &'a CallContext,
    is_recorded: bool,
    /// Bytes and digest of the arguments as sent.
    arguments: Option<(usize, [u8; 32])>,
}

impl PendingEntry<'_> {
    /// Returns the entry of the ended call, which is then not recorded as cancelled.
    fn take(&mut self, outcome: &Outcome) -> AuditEntry {
        self.is_recorded = false;
        let bytes = match outcome {
            Ok(reply) => reply.text_bytes(),
            Err(fault) => fault.message.len(),
        };
        self.entry(SampleEnding::from_outcome(outcome).as_str(), bytes)
    }

    fn entry(&self, outcome: &'static str, bytes_out: usize) -> AuditEntry {
        let context = self.context;
        let origin = context.origin.as_deref();
        let (bytes_in, arguments) = self.arguments.unzip();
        let took = context.started.elapsed().saturating_sub(context.waited());
        AuditEntry {
            kind: AuditKind::Call,
            principal: context.principal().clone(),
            credential: Arc::clone(&context.caller.credential),
            client: context.client_name(),
            address: origin.and_then(|origin| origin.address),
            preset: Some(Arc::clone(&context.catalog.preset)),
            tool: Some(names::quoted(&context.name, MAX_NAME_CHARS)),
            rule: context.notes.rule(),
            approval: context.notes.approval(),
            outcome,
            took_us: took.as_micros() as u64,
            tokens_in: estimated_tokens(bytes_in.unwrap_or(0)),
            tokens_out: estimated_tokens(bytes_out),
            arguments,
            details: None,
        }
    }
}

impl Drop for PendingEntry<'_> {
    fn drop(&mut self) {
        if self.is_recorded {
            self.log.record(self.entry("cancelled", 0));
        }
    }
}

#[cfg(test)]
mod tests;
