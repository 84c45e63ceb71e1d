//! Converts arguments that a model wrote as text: `"5"` for an integer, `"[\"a\"]"` for a list.
//!
//! A text is converted only if nothing can be lost: the schema refuses the text and accepts the value, and writing the
//! value gives the text again, apart from blanks and escapes. This runs before everything that decides about a call or
//! records it, so that rules, approvals, the audit and the tool all see the same arguments.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Number, Value};

use super::{MAX_INLINE_PARSE_BYTES, Next, Stage};
use crate::{
    Call, Outcome, Schema, check_threads, json,
    schema::{StepBudget, ValidationError},
};

pub struct ConvertStage;

#[async_trait]
impl Stage for ConvertStage {
    fn applies(&self, call: &Call) -> bool {
        let Ok(entry) = call.context.entry() else { return false };
        let members = call.arguments.as_object().into_iter().flatten();
        let mut texts = members.filter_map(|(name, value)| Some((name, value.as_str()?)));
        let schema = &entry.input_schema;
        // Reading a schema can take long, so an unread one counts as refusing.
        texts.any(|(name, text)| may_be_json(text) && (!schema.is_read() || schema.may_refuse_text(name)))
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let context = Arc::clone(&call.context);
        let entry = context.entry()?;
        let texts = call.arguments.as_object().into_iter().flat_map(|members| members.values());
        let is_short = texts.filter_map(Value::as_str).map(str::len).sum::<usize>() <= MAX_INLINE_PARSE_BYTES;
        let arguments = std::mem::take(&mut call.arguments);
        let caller = (context.principal(), &entry.id.source);
        // If the check is stopped, validation reports it for the arguments as they are.
        (call.arguments, _) =
            check_threads::check(caller, &entry.input_schema, arguments, is_short, convert_texts).await?;
        next.run(call).await
    }
}

/// Whether a text begins like a JSON value that is no string.
fn may_be_json(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || "-{[tfn".contains(c))
}

fn convert_texts(
    schema: &Schema,
    arguments: &mut Value,
    steps: &mut StepBudget<'_>,
) -> Result<(), ValidationError> {
    for (name, value) in arguments.as_object_mut().into_iter().flatten() {
        let text = value.as_str().filter(|text| may_be_json(text) && schema.may_refuse_text(name));
        if let Some(parsed) = text.and_then(parse_without_loss)
            && schema.prefers(name, &parsed, value, steps)?
        {
            *value = parsed;
        }
    }
    Ok(())
}

/// Parses a text as JSON. `None` unless writing the value gives the text again, apart from blanks and escapes: `007`, or an
/// object with a key twice would lose something. Texts with numbers such as `1e3` and `1.50` mean the text.
fn parse_without_loss(text: &str) -> Option<Value> {
    let value = json::parse(text).ok()?;
    let is_container = matches!(value, Value::Array(_) | Value::Object(_));
    let written = value.to_string();
    let is_same = if is_container { normalized(text)? == written } else { text == written };
    (is_same && has_plain_numbers(&value)).then_some(value)
}

/// Whether all numbers are written as most programs write them.
fn has_plain_numbers(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            let text = number.as_str();
            let is_integer = text.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
            is_integer && text != "-0"
                || number.as_f64().and_then(Number::from_f64).is_some_and(|float| float.as_str() == text)
        }
        Value::Array(items) => items.iter().all(has_plain_numbers),
        Value::Object(members) => members.values().all(has_plain_numbers),
        _ => true,
    }
}

/// Returns a JSON text without blanks between its parts and with the escapes that this crate writes.
fn normalized(text: &str) -> Option<String> {
    let (mut normalized, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('"') {
        normalized.extend(rest[..at].chars().filter(|c| !c.is_ascii_whitespace()));
        let mut strings = serde_json::Deserializer::from_str(&rest[at..]).into_iter::<String>();
        let string = strings.next()?.ok()?;
        normalized.push_str(&serde_json::to_string(&string).ok()?);
        rest = &rest[at + strings.byte_offset()..];
    }
    normalized.extend(rest.chars().filter(|c| !c.is_ascii_whitespace()));
    Some(normalized)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        ContentPart,
        pipeline::ValidateStage,
        testing::{Fixture, context, tool},
    };

    #[test]
    fn texts_become_values_only_without_loss() {
        for text in [
            "5",
            "-5",
            "0",
            "1.5",
            "true",
            "false",
            "null",
            "[]",
            "{}",
            "9223372036854775807",
            "123456789012345678901234567890",
            "[1, 2 ]",
            "{\"k\": [true, null]}",
            " [1]".trim_start(),
            "[\"a\\u00e9\\n\"]",
            "{\"a\":{\"b\":\"\"}}",
        ] {
            let value = parse_without_loss(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(value, serde_json::from_str::<Value>(text).expect("JSON"), "{text}");
        }
        for text in [
            "007",
            "1e3",
            "5 ",
            " 5",
            "+5",
            "0x10",
            "1.50",
            "-0",
            "tru",
            "True",
            "[1e3]",
            "[1.0e0]",
            "{\"a\":1,\"a\":2}",
            "[01]",
            "[1] x",
            "{'a': 1}",
            "",
            "-",
            "[NaN]",
            "[\"\\ud800\"]",
        ] {
            assert_eq!(parse_without_loss(text), None, "{text}");
        }
    }

    /// Arguments that reach the source, and those that the stages before it saw.
    #[tokio::test]
    async fn later_stages_and_the_source_see_the_converted_arguments() {
        let mut spec = tool("work", None);
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        spec.input_schema = Arc::new(schema.as_object().cloned().expect("an object"));
        let source = Fixture::server("s", vec![spec]);
        let stages: Vec<Arc<dyn Stage>> = vec![Arc::new(ConvertStage), Arc::new(ValidateStage)];
        let context = context(stages, &source, "s__work").await;
        let reply = Call::new(context, json!({"n": "5"})).run().await.expect("a reply");
        assert_eq!(reply.content, [ContentPart::Text("work {\"n\":5}".into())]);
    }

    #[test]
    fn only_members_that_refuse_text_are_converted() {
        let source = json!({"type": "object", "properties": {
            "n": {"type": "integer"}, "maximum": {"type": "integer", "maximum": 3}, "text": {"type": "string"},
            "either": {"type": ["integer", "string"]}, "any": {}, "optional": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "list": {"type": "array", "items": {"type": "string"}}, "object": {"$ref": "#/$defs/o"},
            "date": {"type": "string", "pattern": "^x"}, "choice": {"enum": [1, "2"]}},
            "$defs": {"o": {"type": "object", "required": ["k"]}}});
        let schema = Schema::new(Arc::new(source.as_object().cloned().expect("an object")));
        for (given, expected) in [
            (json!({"n": "5"}), json!({"n": 5})),
            (json!({"n": "5.5"}), json!({"n": "5.5"})),
            (json!({"maximum": "4"}), json!({"maximum": "4"})),
            (
                json!({"text": "5", "either": "5", "any": "5"}),
                json!({"text": "5", "either": "5", "any": "5"}),
            ),
            (json!({"optional": "5"}), json!({"optional": 5})),
            (json!({"optional": "null"}), json!({"optional": null})),
            (json!({"list": "[\"a\", \"b\"]"}), json!({"list": ["a", "b"]})),
            (json!({"list": "[1]"}), json!({"list": "[1]"})),
            (json!({"object": "{\"k\": 1}"}), json!({"object": {"k": 1}})),
            (json!({"object": "{}"}), json!({"object": "{}"})),
            (json!({"date": "5", "unknown": "5"}), json!({"date": "5", "unknown": "5"})),
            (json!({"choice": "1"}), json!({"choice": 1})),
            (json!({"choice": "2"}), json!({"choice": "2"})),
            (json!("5"), json!("5")),
        ] {
            let mut arguments = given.clone();
            assert_eq!(convert_texts(&schema, &mut arguments, &mut StepBudget::new_short()), Ok(()));
            assert_eq!(arguments, expected, "{given}");
        }
    }
}
