//! The same results in the shapes that servers give them: the answers must remain, whatever is around the data.

use anyhow::Result;
use gatehouse_core::reply_view::ReplyView;
use serde_json::{Value, json};

use super::{Gold, Measured, measure, row, ways::Policy};

/// Text blocks and structured content of a reply.
struct Shape {
    name: &'static str,
    blocks: Vec<String>,
    structured: Option<Value>,
}

impl Shape {
    fn of_text(name: &'static str, text: String) -> Self {
        Self { name, blocks: vec![text], structured: None }
    }

    /// Returns all shapes that a server would give to a text. JSON has more than other texts.
    fn all(text: &str) -> Vec<Self> {
        let wrapped = Some(json!({ "result": text }));
        let plain = |name| Self::of_text(name, text.to_owned());
        let data =
            serde_json::from_str::<Value>(text).ok().filter(|data| data.is_object() || data.is_array());
        let Some(data) = data else {
            return vec![
                plain("text as it is"),
                Self { structured: wrapped, ..plain("text of the Python SDK") },
            ];
        };
        let mut all = vec![
            plain("JSON as it is"),
            Self::of_text("JSON after a sentence", format!("The call found these:\n{text}")),
            Self::of_text("JSON in a fence", format!("Done.\n\n```json\n{text}\n```\n")),
            Self::of_text("JSON in a string", json!({"ok": true, "output": text}).to_string()),
            Self { structured: wrapped, ..plain("JSON text of the Python SDK") },
        ];
        let structured = if data.is_array() { json!({ "result": data }) } else { data.clone() };
        all.push(Self {
            structured: Some(structured),
            ..Self::of_text("data next to a sentence", "Done.".into())
        });
        if let Value::Array(rows) = &data {
            let blocks = rows.iter().map(Value::to_string).collect();
            all.push(Self {
                name: "rows of the Python SDK",
                blocks,
                structured: Some(json!({ "result": data })),
            });
        }
        all
    }

    /// Returns what the gate shortens, and the text next to it that stays.
    fn digested(&self) -> (String, String) {
        let blocks: Vec<&str> = self.blocks.iter().map(String::as_str).collect();
        let structured = self.structured.as_ref().map(Value::to_string);
        let view = ReplyView::new(&blocks, structured.as_deref());
        match view.data {
            Some(data) => (data.json.into_owned(), data.beside),
            None => (view.text.into_owned(), String::new()),
        }
    }
}

/// Returns a row for each shape, over the results that a server could give in it.
pub(super) fn measured(golds: &[Gold], policy: Policy) -> Result<Vec<Value>> {
    let mut shapes: Vec<(&'static str, Vec<Measured>)> = Vec::new();
    for gold in golds {
        for shape in Shape::all(&gold.text) {
            let (text, beside) = shape.digested();
            let mut in_shape = gold.clone();
            in_shape.text = text;
            let mut measured = measure(&in_shape, policy)?;
            measured.raw += super::tokens(&beside);
            measured.short += super::tokens(&beside);
            match shapes.iter_mut().find(|(name, _)| *name == shape.name) {
                Some((_, all)) => all.push(measured),
                None => shapes.push((shape.name, vec![measured])),
            }
        }
    }
    Ok(shapes.iter().map(|(name, measured)| row(name, false, &measured.iter().collect::<Vec<_>>())).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::results::{gold, ways};

    #[test]
    fn no_shape_costs_an_answer() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/results");
        let golds = gold::read(&folder).expect("results");
        let rows = measured(&golds, ways::POLICIES[0]).expect("rows");
        assert!(rows.len() >= 8, "{rows:?}");
        let plain = |kind: &str| rows.iter().find(|row| row["kind"] == kind).expect("a row").clone();
        let (json, text) = (plain("JSON as it is"), plain("text as it is"));
        for row in rows.iter().filter(|row| row["results"].as_u64() > Some(0)) {
            let name = row["kind"].as_str().expect("a name");
            let baseline = if name.starts_with("text") { &text } else { &json };
            // Rows are a part of the results, and have their own questions.
            if row["results"] == baseline["results"] {
                assert_eq!(row["answered"], baseline["answered"], "{name}");
                assert_eq!(row["reached"], baseline["reached"], "{name}");
            }
        }
    }
}
