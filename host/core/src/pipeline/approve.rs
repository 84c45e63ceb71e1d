//! Asks the user to approve a call if the preset requires it.
//!
//! The deadline is paused until the answer. Nothing runs if the user declines or cannot be asked. This stage follows
//! *validate*, so the user sees the arguments that the tool gets.

use std::sync::Arc;

use async_trait::async_trait;
use gatehouse_telemetry::metrics;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Next, Stage};
use crate::{
    Call, CallContext, Fault, Outcome, ToolEntry,
    approval::{ApprovalKey, ApprovalScope, ApprovalStore},
    hash::sha256_hex,
    hidden_chars, lock,
    question::ClientQuestion,
};

/// Maximum characters of arguments in the question: one screen. Longer arguments are cut in the middle.
const MAX_SHOWN_ARGUMENTS: usize = 2_400;
const SHOWN_TAIL: usize = 400;

#[derive(Default)]
pub struct ApproveStage {
    /// Approvals that outlive a session.
    approved: ApprovalStore,
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
        let question = message(context, entry, scope, &approval, arguments);
        let asked = Instant::now();
        let answer = ask(context, entry, question).await;
        context.trace.add_wait("approval", asked.elapsed());
        let outcome = match &answer {
            Ok(true) => "given",
            Ok(false) => "declined",
            Err(_) => "unanswered",
        };
        context.notes.set_approval(outcome);
        if let Some(metrics) = metrics() {
            metrics.approvals.series([outcome]).inc();
        }
        if !answer? {
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

/// Asks the user. Returns true if the call is allowed.
async fn ask(context: &CallContext, entry: &ToolEntry, message: String) -> Result<bool, Fault> {
    let (tool, preset) = (&entry.name, &context.catalog.preset);
    let profile = context.client.profile();
    if !profile.features.forms {
        let reason = if profile.protocol.is_empty() {
            "the caller is not an MCP client"
        } else {
            "the client does not \
            support forms"
        };
        return Err(Fault::denied(format!("'{tool}' requires user approval, but {reason}")).hint(format!(
            "Call it from a client with the capability elicitation.form, or change [presets.{preset}.approve] in \
            presets.toml."
        )));
    }
    let question = ClientQuestion::approval(&message)?;
    let answers = context.ask_client(&[question]).await?;
    let member = |name: &str| answers.first().and_then(|answer| answer.get(name));
    match member("action").and_then(Value::as_str) {
        Some("accept") => Ok(member("content").is_some_and(|form| form["allow"] == true)),
        Some("decline") => Ok(false),
        _ => Err(Fault::denied(format!("the user was asked whether '{tool}' may run, and did not answer"))
            .hint("Retry when a user can approve the call.")),
    }
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

pub(crate) fn form() -> Value {
    json!({
        "type": "object",
        "properties": {"allow": {"type": "boolean", "title": "Allow it", "default": false}},
        "required": ["allow"]
    })
}

#[cfg(test)]
mod tests;
