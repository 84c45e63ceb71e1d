//! Arguments and reply of a call for the ledger, bounded and without anything that looks like a secret.

use serde_json::Value;

use super::failure_text::{REDACTION_MARK, collect_secrets, redact_credentials};
use crate::{
    Outcome, Source,
    http::{Redactor, secret::is_secret_name},
    ports::ledger::CallBodies,
};

/// Maximum bytes of the arguments, and of the reply. A longer text is not stored, because a secret could be cut.
pub(crate) const MAX_BODY_BYTES: usize = 64 << 10;

/// Maximum secrets among the arguments, each of which is searched for everywhere.
const MAX_SECRETS: usize = 64;

/// Returns the texts of a call: the arguments as JSON, and the reply. `arguments` is `None` if they are too long.
pub(crate) fn call_bodies(
    source: &dyn Source,
    arguments: Option<&Value>,
    bytes_in: usize,
    outcome: &Outcome,
) -> CallBodies {
    let mut secrets = Vec::new();
    if let Some(arguments) = arguments {
        collect_secrets(arguments, false, &mut secrets, &mut { MAX_BODY_BYTES });
    }
    if secrets.len() > MAX_SECRETS {
        let text = format!("[not stored: {} secrets among the arguments]", secrets.len());
        return CallBodies { arguments: text.clone(), reply: text };
    }
    let redactor = Redactor::new(&secrets);
    let redact = |text: &str| redact_credentials(&redactor.redact_text(source.redact(text.to_owned())));
    let arguments = arguments
        .map_or_else(|| too_long(bytes_in), |arguments| redacted(arguments.clone(), &redact).to_string());
    CallBodies { arguments, reply: reply_text(outcome, &redact) }
}

fn reply_text(outcome: &Outcome, redact: &impl Fn(&str) -> String) -> String {
    let reply = match outcome {
        Err(fault) => return redacted_text(&fault.message, redact),
        Ok(reply) => reply,
    };
    let data = reply.structured.as_ref().filter(|_| reply.content.is_empty()).map(Value::to_string);
    let texts = reply.content.iter().filter_map(|part| part.as_text()).chain(data.as_deref());
    let bytes: usize = texts.map(str::len).sum();
    if bytes > MAX_BODY_BYTES {
        return too_long(bytes);
    }
    let parts = reply.content.iter().map(|part| match part.as_text() {
        Some(text) => redacted_text(text, redact),
        None => format!("[{} bytes that are not text]", part.bytes()),
    });
    let parts = parts.chain(data.as_deref().map(|data| redacted_text(data, redact)));
    parts.collect::<Vec<_>>().join("\n")
}

fn too_long(bytes: usize) -> String {
    format!("[{bytes} bytes, too long to be stored]")
}

/// Redacts a text. JSON within it is redacted by the names of its members.
fn redacted_text(text: &str, redact: &impl Fn(&str) -> String) -> String {
    match parsed(text) {
        Some(data) => redacted(data, redact).to_string(),
        None => redact(text),
    }
}

/// Returns the object or list that a text is. `None` for a long one, which takes many times its size in memory.
pub(super) fn parsed(text: &str) -> Option<Value> {
    let is_json = text.len() <= MAX_BODY_BYTES && text.trim_start().starts_with(['{', '[']);
    is_json.then(|| serde_json::from_str(text).ok()).flatten()
}

/// Redacts values with names that sound like credentials, and secrets within texts.
fn redacted(value: Value, redact: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => redacted_text(&text, redact).into(),
        Value::Array(items) => items.into_iter().map(|item| redacted(item, redact)).collect(),
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, member)| match is_secret_name(&name) {
                true if !member.is_null() => (name, REDACTION_MARK.into()),
                _ => (redact(&name), redacted(member, redact)),
            });
            members.collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{ContentPart, Fault, Reply, testing::Fixture};

    fn stored(arguments: Option<&Value>, content: Vec<ContentPart>) -> (String, String) {
        let source = Fixture::server("s", Vec::new());
        let reply = Reply { content, structured: None, meta: None, is_error: false };
        let CallBodies { arguments, reply } = call_bodies(&*source, arguments, 70_000, &Ok(reply));
        (arguments, reply)
    }

    #[test]
    fn secrets_are_neither_in_the_arguments_nor_in_the_reply() {
        let arguments = json!({"q": "a  b", "auth": {"pin": 1234}, "password": "hunter2hunter2"});
        let data = r#"{"rows":[{"api_key":"k1","name":"x"}],"note":"was hunter2hunter2"}"#;
        let lines = "Line\n  Authorization: Bearer abc\nghp_0123456789abcdefghij";
        let content = vec![ContentPart::Text(data.into()), ContentPart::Text(lines.into())];
        let (arguments, reply) = stored(Some(&arguments), content);
        assert_eq!(arguments, r#"{"q":"a  b","auth":"[redacted]","password":"[redacted]"}"#);
        let expected = "{\"rows\":[{\"api_key\":\"[redacted]\",\"name\":\"x\"}],\"note\":\"was [redacted]\"}\n\
            Line\n  Authorization: Bearer [redacted]\n[redacted]";
        assert_eq!(reply, expected);
    }

    #[test]
    fn secrets_in_json_within_texts_are_not_stored() {
        let body = json!({"body": r#"{"api_key": "hunter2hunter2"}"#});
        for arguments in [json!(r#"{"password": "hunter2hunter2"}"#), body] {
            let content = vec![ContentPart::Text("it was hunter2hunter2".into())];
            let (arguments, reply) = stored(Some(&arguments), content);
            assert!(!arguments.contains("hunter2") && arguments.contains("[redacted]"), "{arguments}");
            assert_eq!(reply, "it was [redacted]");
        }
        let many: Vec<String> = (0..100).map(|number| format!("secret-number-{number}")).collect();
        let (arguments, reply) = stored(Some(&json!({"password": many})), Vec::new());
        assert_eq!(arguments, "[not stored: 100 secrets among the arguments]");
        assert_eq!(reply, arguments);
    }

    #[test]
    fn long_texts_are_counted_and_not_stored() {
        let halves = vec![ContentPart::Text("y".repeat(MAX_BODY_BYTES / 2 + 1)); 2];
        let (arguments, reply) = stored(None, halves);
        assert_eq!(arguments, "[70000 bytes, too long to be stored]");
        assert_eq!(reply, "[65538 bytes, too long to be stored]");
        let source = Fixture::server("s", Vec::new());
        let failed = Err(Fault::unavailable("no password=letmein"));
        assert_eq!(call_bodies(&*source, Some(&json!({})), 2, &failed).reply, "no password=[redacted]");
    }
}
