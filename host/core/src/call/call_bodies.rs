//! Arguments and reply of a call for the ledger, bounded and without anything that looks like a secret.

use serde_json::Value;

use super::failure_text::{REDACTION_MARK, collect_secrets, redact_credentials};
use crate::{
    Outcome, Source,
    http::{Redactor, secret::is_secret_name},
    json,
    ports::ledger::CallBodies,
};

/// Maximum bytes of the arguments, and of the reply. A longer text is not stored, because a secret could be cut.
const MAX_STORED_BYTES: usize = 64 << 10;

/// Returns the texts of a call: the arguments as JSON, and the reply as the client gets it.
pub(crate) fn call_bodies(source: &dyn Source, arguments: &Value, outcome: &Outcome) -> CallBodies {
    let is_short = json::encoded_len(arguments) <= MAX_STORED_BYTES;
    let mut secrets = Vec::new();
    if is_short {
        collect_secrets(arguments, false, &mut secrets, &mut { MAX_STORED_BYTES });
    }
    let redactor = Redactor::new(&secrets);
    let redact = |text: &str| redact_credentials(&redactor.redact_text(source.redact(text.to_owned())));
    let reply = match outcome {
        Err(fault) => stored_text(&fault.message, &redact),
        Ok(reply) => {
            let parts = reply.content.iter().map(|part| match part.as_text() {
                Some(text) => stored_text(text, &redact),
                None => format!("[{} bytes that are not text]", part.bytes()),
            });
            let parts: Vec<String> = parts.collect();
            match (&reply.structured, parts.is_empty()) {
                (Some(data), true) => stored_text(&data.to_string(), &redact),
                _ => parts.join("\n"),
            }
        }
    };
    let arguments = if is_short {
        redacted(arguments.clone(), &redact).to_string()
    } else {
        too_long(json::encoded_len(arguments))
    };
    let reply = if reply.len() > MAX_STORED_BYTES { too_long(reply.len()) } else { reply };
    CallBodies { arguments, reply }
}

fn too_long(bytes: usize) -> String {
    format!("[{bytes} bytes, too long to be stored]")
}

fn stored_text(text: &str, redact: &impl Fn(&str) -> String) -> String {
    if text.len() > MAX_STORED_BYTES {
        return too_long(text.len());
    }
    match serde_json::from_str::<Value>(text) {
        Ok(data @ (Value::Object(_) | Value::Array(_))) => redacted(data, redact).to_string(),
        _ => redact(text),
    }
}

/// Redacts values with names that sound like credentials, and secrets within texts.
fn redacted(value: Value, redact: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => redact(&text).into(),
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

    fn stored(arguments: &Value, content: Vec<ContentPart>) -> (String, String) {
        let source = Fixture::server("s", Vec::new());
        let reply = Reply { content, structured: None, meta: None, is_error: false };
        let CallBodies { arguments, reply } = call_bodies(&*source, arguments, &Ok(reply));
        (arguments, reply)
    }

    #[test]
    fn secrets_are_neither_in_the_arguments_nor_in_the_reply() {
        let arguments = json!({"q": "a  b", "auth": {"pin": 1234}, "password": "hunter2hunter2"});
        let data = r#"{"rows":[{"api_key":"k1","name":"x"}],"note":"was hunter2hunter2"}"#;
        let lines = "Line\n  Authorization: Bearer abc\nghp_0123456789abcdefghij";
        let content = vec![ContentPart::Text(data.into()), ContentPart::Text(lines.into())];
        let (arguments, reply) = stored(&arguments, content);
        assert_eq!(arguments, r#"{"q":"a  b","auth":"[redacted]","password":"[redacted]"}"#);
        let expected = "{\"rows\":[{\"api_key\":\"[redacted]\",\"name\":\"x\"}],\"note\":\"was [redacted]\"}\n\
            Line\n  Authorization: Bearer [redacted]\n[redacted]";
        assert_eq!(reply, expected);
    }

    #[test]
    fn long_texts_are_counted_and_not_stored() {
        let long = "x".repeat(MAX_STORED_BYTES);
        let content = vec![ContentPart::Text(format!("{long}x")), ContentPart::Text("end".into())];
        let (arguments, reply) = stored(&json!({"text": long}), content);
        assert_eq!(arguments, "[65547 bytes, too long to be stored]");
        assert_eq!(reply, "[65537 bytes, too long to be stored]\nend");
        let halves = vec![ContentPart::Text("y".repeat(MAX_STORED_BYTES)); 2];
        assert_eq!(stored(&json!({}), halves).1, "[131073 bytes, too long to be stored]");
        let source = Fixture::server("s", Vec::new());
        let failed = call_bodies(&*source, &json!({}), &Err(Fault::unavailable("no password=letmein")));
        assert_eq!(failed.reply, "no password=[redacted]");
    }
}
