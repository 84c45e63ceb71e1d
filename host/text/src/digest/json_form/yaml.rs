//! YAML, as one value, or as an array of its documents.

use std::{collections::HashMap, ops::Range};

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::{JsonForm, TextSample, string, value};

const MIN_MEMBERS: usize = 6;

/// Maximum nesting of brackets. The parser's time grows with each open one.
const MAX_OPEN_BRACKETS: usize = 64;

const MAX_DEPTH: usize = 100;

/// Maximum commas in brackets. The parser holds what is in them at once.
const MAX_FLOW_COMMAS: usize = 50_000;

/// Reads a text as YAML. JSON is not, although it is a part of it, and prose with a colon in most lines.
pub(super) fn read(text: &str, sample: &TextSample<'_>) -> Option<JsonForm> {
    let is_json = text.trim_start().starts_with(['{', '[']);
    if is_json || !looks_like_yaml(sample) || is_costly(text) {
        return None;
    }
    let mut writer = YamlWriter { most: text.len().saturating_mul(4), ..YamlWriter::default() };
    for event in Parser::new_from_str(text) {
        writer.event(event.ok()?.0)?;
    }
    let YamlWriter { documents, json, .. } = writer;
    let (json, note) = match documents {
        0 => return None,
        1 => (json, "YAML".to_owned()),
        many => (format!("[{json}]"), format!("{many} documents of YAML, starting with `$[0]`")),
    };
    Some(JsonForm { kind: "YAML", json, note })
}

/// Returns whether nine of ten lines are members, elements, or deeper than the line before, and a quarter are members of
/// something. A list of sentences with colons has no such members.
fn looks_like_yaml(sample: &TextSample<'_>) -> bool {
    let (mut items, mut others, mut nested, mut last) = (0, 0, 0, 0);
    let (mut aligned, mut first) = (0, None);
    for line in &sample.lines {
        let content = line.trim_start_matches(' ').trim_end();
        let indent = line.len() - line.trim_start_matches(' ').len();
        if content.is_empty() || content.starts_with(['#', '%']) || line.starts_with("---") {
            continue;
        }
        let element = content == "-" || content.starts_with("- ");
        let member = content.split_once(':').is_some_and(|(key, rest)| {
            aligned += usize::from(rest.starts_with("  "));
            is_key(key) && (rest.is_empty() || rest.starts_with(' '))
        });
        first = first.or(content.chars().next());
        if element || member {
            items += 1;
            nested += usize::from(!element && indent > 0);
            last = indent;
        } else if indent <= last {
            others += 1;
        }
    }
    // `kubectl describe` aligns its values below capital letters.
    let is_description = aligned * 2 >= items && first.is_some_and(char::is_uppercase);
    !is_description && items >= MIN_MEMBERS && others * 10 <= items && nested * 4 >= items
}

fn is_key(key: &str) -> bool {
    let plain = |c: char| {
        c.is_alphanumeric()
            || matches!(c, '_' | '-' | '.' | '/' | '$' | '@' | '"' | '\'' | '<' | '*' | '{' | '}')
    };
    (1..=80).contains(&key.len()) && key.chars().all(plain)
}

/// Returns whether brackets have too much in them.
fn is_costly(text: &str) -> bool {
    let (mut open, mut commas) = (0_usize, 0);
    text.bytes().any(|byte| {
        match byte {
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            b',' => commas += usize::from(open > 0),
            _ => {}
        }
        open > MAX_OPEN_BRACKETS || commas > MAX_FLOW_COMMAS
    })
}

/// Writes the events of a parser as JSON.
#[derive(Default)]
struct YamlWriter {
    json: String,
    /// Maximum bytes, which repeated aliases exceed.
    most: usize,
    documents: usize,
    open: Vec<OpenContainer>,
    /// Anchors of finished values.
    anchors: HashMap<usize, Range<usize>>,
}

struct OpenContainer {
    is_mapping: bool,
    /// Keys and values written so far.
    items: usize,
    anchor: usize,
    start: usize,
}

impl YamlWriter {
    /// Writes an event. `None` if JSON cannot have it.
    fn event(&mut self, event: Event<'_>) -> Option<()> {
        match event {
            Event::DocumentStart(_) => {
                if self.documents > 0 {
                    self.json.push(',');
                }
                self.documents += 1;
            }
            Event::Scalar(text, style, anchor, tag) => {
                let start = self.separate();
                let is_text = style != ScalarStyle::Plain || tag.is_some_and(|tag| tag.suffix == "str");
                let written = if is_text || self.is_key() { string(&text) } else { plain(&text) };
                self.json.push_str(&written);
                self.anchors.insert(anchor, start..self.json.len());
            }
            Event::Alias(anchor) => {
                self.separate();
                let of = self.anchors.get(&anchor)?.clone();
                let is_large = self.json.len() + of.len() > self.most;
                if is_large || self.is_key() && !self.json[of.clone()].starts_with('"') {
                    return None;
                }
                self.json.extend_from_within(of);
            }
            Event::SequenceStart(anchor, _) => self.container(false, anchor)?,
            Event::MappingStart(anchor, _) => self.container(true, anchor)?,
            Event::SequenceEnd | Event::MappingEnd => {
                let OpenContainer { is_mapping, anchor, start, .. } = self.open.pop()?;
                self.json.push(if is_mapping { '}' } else { ']' });
                self.anchors.insert(anchor, start..self.json.len());
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        Some(())
    }

    /// Writes what stands before the next key or value, and returns where that starts.
    fn separate(&mut self) -> usize {
        if let Some(open) = self.open.last_mut() {
            match (open.items, open.is_mapping && open.items % 2 == 1) {
                (0, _) => {}
                (_, true) => self.json.push(':'),
                (_, false) => self.json.push(','),
            }
            open.items += 1;
        }
        self.json.len()
    }

    /// Whether the last [`Self::separate`] was for a key.
    fn is_key(&self) -> bool {
        self.open.last().is_some_and(|open| open.is_mapping && open.items % 2 == 1)
    }

    fn container(&mut self, is_mapping: bool, anchor: usize) -> Option<()> {
        let start = self.separate();
        if self.is_key() || self.open.len() == MAX_DEPTH {
            return None;
        }
        self.json.push(if is_mapping { '{' } else { '[' });
        self.open.push(OpenContainer { is_mapping, items: 0, anchor, start });
        Some(())
    }
}

/// Writes a plain scalar by the core schema of YAML 1.2, with numbers as they are spelled.
fn plain(text: &str) -> String {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => "null".into(),
        "true" | "True" | "TRUE" => "true".into(),
        "false" | "False" | "FALSE" => "false".into(),
        text => value(text),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn json(text: &str) -> Option<String> {
        read(text, &TextSample::from_text(text)).map(|form| form.json)
    }

    #[test]
    fn documents_keep_their_values_and_spelling() {
        let text = "--- # first\nname: \"a: b\"\nversion: 1.10\nid: 12345678901234567890123\nold: 007\nspec:\n  on: true\n  \
                    none: ~\n  text: |\n    # no comment\n    x: 1\n  list: [1, two, {three: 3}]\n  base: &base\n    a: 1\n  \
                    same: *base\n  tagged: !!str 5\n---\nname: b\n";
        assert_eq!(
            json(text).unwrap(),
            "[{\"name\":\"a: b\",\"version\":1.10,\"id\":12345678901234567890123,\"old\":\"007\",\"spec\":{\"on\":true,\"none\":null,\
             \"text\":\"# no comment\\nx: 1\\n\",\"list\":[1,\"two\",{\"three\":3}],\"base\":{\"a\":1},\"same\":{\"a\":1},\
             \"tagged\":\"5\"}},{\"name\":\"b\"}]"
        );
    }

    #[test]
    fn lists_of_sentences_logs_and_code_are_no_yaml() {
        let changes = "# Changes\n\n## 2.0\n\n- fix: names\n- feat: places\n  - more: of it\n- docs: a page\n- ci: faster\n- fix: x\n";
        let code = "def f(a):\n    try:\n        g()\n    finally:\n        h()\n    if a:\n        return\n    else:\n        pass\n";
        let log = "INFO: start\nWARN: slow\nINFO: end\nERROR: no\nINFO: start\nINFO: end\nWARN: slow\n";
        let object = "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3,\n  \"d\": 4,\n  \"e\": 5,\n  \"f\": 6\n}\n";
        let described =
            "Name:     a\nKind:     b\nState:    c\n  Since:  d\n  Until:  e\nPort:     1\nHost:     h\n";
        for text in [changes, code, log, object, described] {
            assert_eq!(json(text), None, "{text}");
        }
    }

    #[test]
    fn hostile_yaml_is_refused_soon() {
        let lines = "a:\n  b: 1\n  c: 2\n  d: 3\n  e: 4\n  f: 5\n";
        let mut bomb = format!("{lines}x0: &x0 [aaaaaaaa]\n");
        for n in 1..40 {
            let last = n - 1;
            writeln!(bomb, "x{n}: &x{n} [*x{last}, *x{last}, *x{last}, *x{last}]").unwrap();
        }
        let mut deep = lines.to_owned();
        for n in 0..300 {
            writeln!(deep, "{}k:", " ".repeat(n)).unwrap();
        }
        let brackets = format!("{lines}x: {}", "[".repeat(60_000));
        let many = format!("{lines}x: [{}1]\n", "1,".repeat(60_000));
        let loop_of_itself = format!("{lines}x: &x [*x]\n");
        for text in [bomb, deep, brackets, many, loop_of_itself] {
            assert_eq!(json(&text), None);
        }
    }
}
