//! Asks the user to approve a call if the preset requires it.
//!
//! The client asks by a form, and a person at the host can answer instead; the first answer counts. The deadline is
//! paused until then. Nothing runs if the user declines or cannot be asked. This stage follows *validate*, so the user
//! sees the arguments that the tool gets.

mod form;
mod queue;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_telemetry::metrics;
use serde_json::Value;
use tokio::time::Instant;

use self::form::{FormAnswer, ask};
use super::{Next, Stage};
use crate::{
    Call, CallContext, Fault, Outcome, ToolEntry,
    approval::{ApprovalKey, ApprovalScope, ApprovalStore},
    hash::sha256_hex,
    hidden_chars, lock,
    outcome::FaultKind,
    ports::client::MessageLevel,
};

pub(crate) use form::form;
pub use queue::{AnswerEffect, ApprovalQueue, ApprovalRequest};

/// Maximum characters of arguments in the question: one screen. Longer arguments are cut in the middle.
const MAX_SHOWN_ARGUMENTS: usize = 2_400;
const SHOWN_TAIL: usize = 400;

/// Minimum time to read a question. Clients without a user, such as `codex exec`, decline or cancel forms in less.
const MIN_READING_TIME: Duration = Duration::from_secs(1);

#[derive(Default)]
pub struct ApproveStage {
    /// Approvals that outlive a session.
    approved: ApprovalStore,
    queue: Arc<ApprovalQueue>,
}

/// An answer, and the word for the ledger and the audit.
struct ApprovalAnswer {
    allowed: bool,
    word: &'static str,
}

#[async_trait]
impl Stage for ApproveStage {
    fn applies(&self, call: &Call) -> bool {
        call.context.entry().is_ok_and(|entry| entry.approval.is_some())
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let context = Arc::clone(&call.context);
        let entry = context.entry()?;
        if let Some(scope) = entry.approval {
            let arguments = entry.with_fixed_arguments(&call.arguments);
            self.ensure_approved(&context, entry, scope, &arguments).await?;
        }
        next.run(call).await
    }
}

impl ApproveStage {
    pub fn new(queue: Arc<ApprovalQueue>) -> Self {
        Self { queue, ..Self::default() }
    }

    /// Returns if the call is approved, and asks the user if it is not.
    async fn ensure_approved(
        &self,
        context: &CallContext,
        entry: &ToolEntry,
        scope: ApprovalScope,
        arguments: &Value,
    ) -> Result<(), Fault> {
        let preset = &context.catalog.preset;
        let approval = ApprovalKey::new(context.principal(), preset, entry, scope, arguments);
        let is_approved = || {
            context.call_tree.approvals.is_approved(&approval)
                || context.client.approvals().is_some_and(|session| session.is_approved(&approval))
                || self.approved.is_approved(&approval)
        };
        if is_approved() {
            context.notes.set_approval("remembered");
            return Ok(());
        }
        // One question at a time: the answer may also apply to the next call.
        let _turn = context.call_tree.approval_lock.lock().await;
        if is_approved() {
            context.notes.set_approval("remembered");
            return Ok(());
        }
        let declined = || lock(&context.call_tree.declined_tools);
        if declined().contains(&entry.id) {
            context.notes.set_approval("declined");
            return Err(declined_fault(entry));
        }
        let asked = Instant::now();
        let answer = if self.queue.take_given(&approval) {
            Ok(ApprovalAnswer::by_operator(true))
        } else {
            let question = message(context, entry, scope, &approval, arguments);
            if self.queue.is_open() {
                ask_everyone(context, entry, &approval, &question, &self.queue).await
            } else {
                let answer = ask(context, entry, &question).await;
                answer.and_then(|answer| {
                    answer.of_user().map(ApprovalAnswer::by_client).ok_or_else(|| unanswered_fault(entry))
                })
            }
        };
        context.trace.add_wait("approval", asked.elapsed());
        context.notes.set_approval(answer.as_ref().map_or("unanswered", |answer| answer.word));
        let outcome = match &answer {
            Ok(answer) if answer.allowed => "given",
            Ok(_) => "declined",
            Err(_) => "unanswered",
        };
        if let Some(metrics) = metrics() {
            metrics.approvals.series([outcome]).inc();
        }
        if !answer?.allowed {
            declined().push(entry.id.clone());
            return Err(declined_fault(entry));
        }
        match scope {
            ApprovalScope::Call => {}
            ApprovalScope::Session => {
                if let Some(session) = context.client.approvals() {
                    session.add(approval.clone(), None);
                }
            }
            ApprovalScope::For(time) => self.approved.add(approval.clone(), Some(time)),
        }
        context.call_tree.approvals.add(approval, None);
        Ok(())
    }
}

impl ApprovalAnswer {
    const fn by_client(allowed: bool) -> Self {
        Self { allowed, word: if allowed { "given" } else { "declined" } }
    }

    const fn by_operator(allowed: bool) -> Self {
        Self { allowed, word: if allowed { "given by the operator" } else { "declined by the operator" } }
    }
}

/// Asks the user through the client, and a person at the host. The first answer counts.
async fn ask_everyone(
    context: &CallContext,
    entry: &ToolEntry,
    approval: &ApprovalKey,
    question: &str,
    queue: &Arc<ApprovalQueue>,
) -> Result<ApprovalAnswer, Fault> {
    let mut queued = queue.add(context, entry, approval, question)?;
    let notice = format!("'{}' waits for an approval: `gatehouse approve` asks for it", entry.name);
    context.notify_client(MessageLevel::Notice, "gatehouse", notice.into());
    let asked = Instant::now();
    let form = async {
        if context.client.profile().features.forms {
            match ask(context, entry, question).await {
                Ok(FormAnswer::Unread) => {}
                Ok(FormAnswer::Declined | FormAnswer::Closed) if asked.elapsed() < MIN_READING_TIME => {}
                // A client that fails to ask is no person who declines.
                Err(fault) if !matches!(fault.kind, FaultKind::Unavailable | FaultKind::TimedOut) => {}
                answer => return answer,
            }
        }
        std::future::pending().await
    };
    let answer = context
        .wait_for_user(async {
            tokio::select! {
                biased;
                allowed = queued.answered() => Ok(Some(ApprovalAnswer::by_operator(allowed))),
                answer = form => Ok(answer?.of_user().map(|allowed| queued.answered_by_client(allowed))),
            }
        })
        .await
        .map_err(|_| unanswered_fault(entry))??;
    answer.ok_or_else(|| {
        queued.withdraw();
        unanswered_fault(entry)
    })
}

fn unanswered_fault(entry: &ToolEntry) -> Fault {
    Fault::denied(format!("the user was asked whether '{}' may run, and did not answer", entry.name))
        .hint("Retry when a user can approve the call.")
}

fn declined_fault(entry: &ToolEntry) -> Fault {
    Fault::denied(format!("the user was asked whether '{}' may run, and declined", entry.name))
        .hint("Ask the user what to do instead. Do not try another way.")
}

/// Returns the question. The arguments are one line of JSON.
fn message(
    context: &CallContext,
    entry: &ToolEntry,
    scope: ApprovalScope,
    approval: &ApprovalKey,
    arguments: &Value,
) -> String {
    let (tool, effect) = (&entry.name, entry.declared.effect.as_str());
    let origin = format!("{} of {}", entry.id.name, entry.id.source);
    let caller = match &context.effect_limit {
        Some(above) => format!(", called by '{}'", above.tool),
        None => String::new(),
    };
    let duration = match (scope, approval.arguments.is_some()) {
        (ApprovalScope::Call, _) => "for this call".to_owned(),
        (memory, alone) => {
            let time = match memory {
                ApprovalScope::For(time) => format!("for {} min", time.as_secs().div_ceil(60)),
                _ => "until the session ends".to_owned(),
            };
            format!("{time}, with {} arguments", if alone { "these" } else { "any" })
        }
    };
    format!(
        "May '{tool}' run ({origin}, {effect}{caller})? Approval applies {duration}.\nArguments: {}",
        display_arguments(&arguments.to_string())
    )
}

/// Shortens JSON for display, and escapes hidden characters as JSON does.
fn display_arguments(json: &str) -> String {
    let mut units = [0; 2];
    let mut text = String::new();
    for c in json.chars() {
        if hidden_chars::is_hidden(c) {
            text.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            text.push(c);
        }
    }
    let length = text.chars().count();
    if length <= MAX_SHOWN_ARGUMENTS {
        return text;
    }
    let left_out = length - MAX_SHOWN_ARGUMENTS;
    let beginning: String = text.chars().take(MAX_SHOWN_ARGUMENTS - SHOWN_TAIL).collect();
    let end: String = text.chars().skip(length - SHOWN_TAIL).collect();
    let digest = &sha256_hex(json)[..16];
    format!("{beginning} [… {left_out} characters are not shown; SHA-256 of all {digest}… …] {end}")
}

#[cfg(test)]
mod tests;
