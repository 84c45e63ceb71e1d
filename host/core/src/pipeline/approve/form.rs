//! The form by which a client asks its user.

use serde_json::{Value, json};

use crate::{CallContext, Fault, ToolEntry, question::ClientQuestion};

/// How a client answered.
pub(super) enum FormAnswer {
    /// Completed with this value of `allow`.
    Completed(bool),
    Declined,
    /// Closed without an answer.
    Closed,
    /// Accepted without the required value, which only programs do.
    Unread,
}

impl FormAnswer {
    /// Returns whether the user allows the call. `None` if the user did not answer.
    pub(super) const fn of_user(&self) -> Option<bool> {
        match self {
            Self::Completed(allowed) => Some(*allowed),
            Self::Declined => Some(false),
            Self::Closed | Self::Unread => None,
        }
    }
}

/// Asks the user through the client.
pub(super) async fn ask(
    context: &CallContext,
    entry: &ToolEntry,
    question: &str,
) -> Result<FormAnswer, Fault> {
    let (tool, preset) = (&entry.name, &context.catalog.preset);
    let profile = context.client.profile();
    if !profile.features.forms {
        let reason = if profile.protocol.is_empty() {
            "the caller is not an MCP client"
        } else {
            "the client does not support forms"
        };
        return Err(Fault::denied(format!("'{tool}' requires user approval, but {reason}")).hint(format!(
            "Call it from a client with the capability elicitation.form, or change [presets.{preset}.approve] in \
            presets.toml."
        )));
    }
    let question = ClientQuestion::approval(question)?;
    let answers = context.ask_client(&[question]).await?;
    let member = |name: &str| answers.first().and_then(|answer| answer.get(name));
    Ok(match member("action").and_then(Value::as_str) {
        Some("accept") => {
            let allowed = member("content").and_then(|form| form.get("allow")?.as_bool());
            allowed.map_or(FormAnswer::Unread, FormAnswer::Completed)
        }
        Some("decline") => FormAnswer::Declined,
        _ => FormAnswer::Closed,
    })
}

pub(crate) fn form() -> Value {
    json!({
        "type": "object",
        "properties": {"allow": {"type": "boolean", "title": "Allow it", "default": false}},
        "required": ["allow"]
    })
}
