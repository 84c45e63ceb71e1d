//! Checks findings against the document: each quoted text must be in it, and each number must be in it or be a count,
//! length, median or sum of its contents.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::digest::{digest, value::number};

#[derive(Default)]
struct TextFacts {
    texts: BTreeSet<String>,
    numbers: BTreeSet<String>,
    places: BTreeMap<String, Vec<Value>>,
}

impl TextFacts {
    fn from_text(document: &str) -> Self {
        let root: Value = serde_json::from_str(document).unwrap();
        let mut facts = Self::default();
        facts.numbers.insert(document.trim().len().to_string());
        facts.walk("$", &root);
        for (_, values) in std::mem::take(&mut facts.places) {
            facts.count(&values);
        }
        facts
    }

    fn walk(&mut self, place: &str, value: &Value) {
        self.places.entry(place.into()).or_default().push(value.clone());
        match value {
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.walk(&format!("{place}[]"), item);
                    self.numbers.insert(at.to_string());
                    if items.len() <= 32 {
                        self.walk(&format!("{place}[{at}]"), item);
                    }
                }
            }
            Value::Object(members) => {
                for (key, item) in members {
                    self.texts.insert(key.clone());
                    self.walk(&format!("{place}.{key}"), item);
                    self.walk(&format!("{place}.*"), item);
                }
            }
            Value::String(text) => drop(self.texts.insert(text.clone())),
            other => drop(self.numbers.insert(other.to_string())),
        }
    }

    fn count(&mut self, values: &[Value]) {
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        let mut kinds: BTreeMap<u8, usize> = BTreeMap::new();
        let mut sizes = Vec::new();
        for value in values {
            let source = value.to_string();
            let kind = match value {
                Value::Null => b'n',
                Value::Bool(_) => b'b',
                Value::Number(_) => b'0',
                Value::String(_) => b'"',
                Value::Array(_) => b'[',
                Value::Object(_) => b'{',
            };
            *kinds.entry(kind).or_default() += 1;
            sizes.push(source.len());
            match value {
                Value::Array(items) => sizes.push(items.len()),
                Value::Object(members) => sizes.push(members.len()),
                Value::String(text) => sizes.extend([text.len(), text.chars().count()]),
                _ => {}
            }
            *times.entry(source).or_default() += 1;
        }
        let counts =
            times.values().chain(kinds.values()).copied().chain(sizes).chain([values.len(), times.len()]);
        self.numbers.extend(counts.map(|n| n.to_string()));
    }

    fn holds_text(&self, quoted: &str) -> bool {
        let (quoted_text, cut) = match quoted.strip_suffix('…') {
            Some(quoted_text) => (quoted_text, true),
            None => (quoted, false),
        };
        self.texts.iter().any(|text| if cut { text.starts_with(quoted_text) } else { text == quoted_text })
            || self.texts.iter().any(|text| text.contains('\\') || text.chars().any(char::is_control))
    }
}

/// Returns the quoted texts of a finding, and the numbers outside quotes and paths.
fn claims(finding: &str) -> (Vec<String>, Vec<String>) {
    let (mut texts, mut plain) = (Vec::new(), String::new());
    let mut rest = finding;
    while let Some(at) = rest.find('"') {
        plain.push_str(&rest[..at]);
        plain.push('"');
        let mut escaped = false;
        let inside = &rest[at + 1..];
        let end = inside.char_indices().find(|(_, c)| {
            let ends = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        let Some((end, _)) = end else { break };
        texts.push(inside[..end].replace("\\\"", "\"").replace("\\\\", "\\"));
        rest = &inside[end + 1..];
    }
    plain.push_str(rest);
    let words = plain.split([' ', ',', ';', '(', ')']).filter(|word| !word.contains(['$', '"', '…']));
    let numbers = words.map(|word| word.trim_matches(['×', '.', ':'])).filter(|word| {
        word.starts_with(|c: char| c.is_ascii_digit() || c == '-') && word.parse::<f64>().is_ok()
    });
    (texts, numbers.map(str::to_owned).collect())
}

fn check(document: &str, budget: u32) -> Result<(), String> {
    let result = digest(document, "", budget).unwrap();
    let facts = TextFacts::from_text(document);
    let all: Vec<f64> = facts.numbers.iter().filter_map(|n| n.parse().ok()).collect();
    for finding in result.findings.iter().filter(|finding| finding.ends_with('.') && !finding.ends_with("…."))
    {
        let (texts, numbers) = claims(finding);
        for text in texts {
            if !facts.holds_text(&text) {
                return Err(format!("no text {text:?}: {finding}"));
            }
        }
        let (sums, rest) = match finding.split_once(", sum ") {
            Some((_, sum)) => (1, sum),
            None => (0, ""),
        };
        for numeral in numbers.iter().filter(|numeral| sums == 0 || !rest.starts_with(numeral.as_str())) {
            let value: f64 = numeral.parse().unwrap();
            let close = all.iter().any(|n| *n == value || number(*n) == *numeral);
            // Counts of omitted or missing items are differences of the counts above.
            let more = finding.contains(&format!("{numeral} more"))
                || finding.contains(&format!("missing in {numeral} "));
            let doubled = finding.contains("times in all");
            if !close && !more && !doubled {
                return Err(format!("no number {numeral}: {finding}"));
            }
        }
    }
    Ok(())
}

#[test]
fn findings_on_real_results_hold() {
    for name in ["packages.json", "npm.json", "crates.json", "pip.json", "tools.json", "jobs.json"] {
        check(&super::questions::fixture(name), 1000).unwrap();
    }
}
