//! Decodes the compact form by the rules in its first line.

#![allow(clippy::unwrap_used)]

use crate::digest::document::{NodeIndex, NodeKind, ParsedDocument};

/// A JSON value with numbers as text and sorted keys, duplicates included.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DecodedValue {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    List(Vec<DecodedValue>),
    Object(Vec<(String, DecodedValue)>),
}

fn object(mut members: Vec<(String, DecodedValue)>) -> DecodedValue {
    members.sort_by(|a, b| a.0.cmp(&b.0));
    DecodedValue::Object(members)
}

fn from_node(document: &ParsedDocument<'_>, id: NodeIndex) -> DecodedValue {
    match document.kind(id) {
        NodeKind::Null => DecodedValue::Null,
        NodeKind::Bool => DecodedValue::Bool(document.source(id) == "true"),
        NodeKind::Number => DecodedValue::Number(document.source(id).into()),
        NodeKind::String => DecodedValue::String(document.string(id).into_owned()),
        NodeKind::Array => {
            DecodedValue::List(document.children(id).map(|child| from_node(document, child)).collect())
        }
        NodeKind::Object => {
            let member = |(key, value): (Option<NodeIndex>, NodeIndex)| {
                (document.string(key.unwrap()).into_owned(), from_node(document, value))
            };
            object(document.members(id).map(member).collect())
        }
    }
}

pub(super) fn json(text: &str) -> DecodedValue {
    from_node(&ParsedDocument::read(text).unwrap_or_else(|e| panic!("{e:?} in {text}")), ParsedDocument::ROOT)
}

fn take_json<'a>(text: &mut &'a str) -> &'a str {
    let (mut depth, mut inside, mut escaped) = (0, false, false);
    for (at, c) in text.char_indices() {
        if inside {
            (inside, escaped) = (escaped || c != '"', !escaped && c == '\\');
        } else {
            match c {
                '"' => inside = true,
                '[' | '{' => depth += 1,
                ']' | '}' => depth -= 1,
                _ => {}
            }
        }
        if depth == 0 && !inside {
            let (json, rest) = text.split_at(at + c.len_utf8());
            *text = rest;
            return json;
        }
    }
    panic!("no JSON: {text}")
}

/// Takes a cell up to one of the characters in `ends`.
fn take_cell(text: &mut &str, ends: &[char]) -> Option<DecodedValue> {
    if text.starts_with(['"', '[', '{']) {
        return Some(json(take_json(text)));
    }
    let (cell, rest) = text.split_at(text.find(ends).unwrap_or(text.len()));
    *text = rest;
    let number = |cell: &str| matches!(ParsedDocument::read(cell), Ok(d) if d.kind(ParsedDocument::ROOT) == NodeKind::Number);
    match cell {
        "" => None,
        "true" | "false" | "null" => Some(json(cell)),
        cell if number(cell) => Some(DecodedValue::Number(cell.trim().into())),
        cell => Some(DecodedValue::String(cell.into())),
    }
}

fn take(text: &mut &str, mark: &str) -> bool {
    let rest = text.strip_prefix(mark);
    *text = rest.unwrap_or(text);
    rest.is_some()
}

fn take_key(text: &mut &str) -> String {
    match take_cell(text, &['.', '=', '^', '[', ',', ']', '|']).unwrap() {
        DecodedValue::String(key) => key,
        other => panic!("{other:?} is not a key"),
    }
}

struct ColumnHeader {
    path: Vec<String>,
    same: Option<DecodedValue>,
    prefix: Option<String>,
    keys: Vec<String>,
}

fn heads(mut line: &str) -> Vec<ColumnHeader> {
    let mut heads = Vec::new();
    loop {
        let mut head =
            ColumnHeader { path: vec![take_key(&mut line)], same: None, prefix: None, keys: Vec::new() };
        while take(&mut line, ".") {
            head.path.push(take_key(&mut line));
        }
        if take(&mut line, "^=") {
            let Some(DecodedValue::String(prefix)) = take_cell(&mut line, &['|']) else { panic!("{line}") };
            head.prefix = Some(prefix);
        } else if take(&mut line, "=") {
            head.same = take_cell(&mut line, &['|']);
        } else if take(&mut line, "[") {
            head.keys.push(take_key(&mut line));
            while take(&mut line, ",") {
                head.keys.push(take_key(&mut line));
            }
            assert!(take(&mut line, "]"));
        }
        heads.push(head);
        if !take(&mut line, "|") {
            assert_eq!(line, "");
            return heads;
        }
    }
}

fn put(members: &mut Vec<(String, DecodedValue)>, path: &[String], value: DecodedValue) {
    let [key, rest @ ..] = path else { panic!("no path") };
    if rest.is_empty() {
        return members.push((key.clone(), value));
    }
    if !members.iter().any(|(name, _)| name == key) {
        members.push((key.clone(), DecodedValue::Object(Vec::new())));
    }
    let (_, inner) = members.iter_mut().find(|(name, _)| name == key).unwrap();
    let DecodedValue::Object(inner) = inner else { panic!("{key} is not an object") };
    put(inner, rest, value);
}

fn sorted(value: DecodedValue) -> DecodedValue {
    match value {
        DecodedValue::Object(members) => {
            object(members.into_iter().map(|(key, value)| (key, sorted(value))).collect())
        }
        DecodedValue::List(items) => DecodedValue::List(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

fn expand(head: &ColumnHeader, value: DecodedValue) -> DecodedValue {
    match (value, &head.prefix) {
        (DecodedValue::String(rest), Some(prefix)) => DecodedValue::String(format!("{prefix}{rest}")),
        (DecodedValue::List(lists), _) if !head.keys.is_empty() => {
            let object_of = |list: DecodedValue| match list {
                DecodedValue::List(values) => object(head.keys.iter().cloned().zip(values).collect()),
                other => panic!("{other:?}"),
            };
            DecodedValue::List(lists.into_iter().map(object_of).collect())
        }
        (value, _) => value,
    }
}

fn table(keyed: bool, lines: &[&str]) -> DecodedValue {
    let heads = heads(lines[0]);
    let mut rows: Vec<(String, DecodedValue)> = Vec::new();
    for line in &lines[1..] {
        let mut line = *line;
        let mut members = Vec::new();
        let mut first = true;
        let mut cell = |line: &mut &str| {
            // Missing cells at the end have no separators.
            assert!(first || line.is_empty() || take(line, "|"), "{line}");
            first = false;
            take_cell(line, &['|'])
        };
        let own = if keyed { cell(&mut line) } else { None };
        for head in &heads {
            let value = match &head.same {
                Some(value) => Some(value.clone()),
                None => cell(&mut line).map(|value| expand(head, value)),
            };
            if let Some(value) = value {
                put(&mut members, &head.path, value);
            }
        }
        assert_eq!(line, "");
        let key = match own {
            Some(DecodedValue::String(key)) => key,
            _ => String::new(),
        };
        rows.push((key, DecodedValue::Object(members)));
    }
    sorted(if keyed {
        DecodedValue::Object(rows)
    } else {
        DecodedValue::List(rows.into_iter().map(|(_, row)| row).collect())
    })
}

fn skeleton(text: &mut &str, tables: &[DecodedValue]) -> DecodedValue {
    let elements = |text: &mut &str, close: &str, one: &mut dyn FnMut(&mut &str)| {
        while !take(text, close) {
            one(text);
            take(text, ",");
        }
    };
    if take(text, "#") {
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number: usize = text[..digits].parse().unwrap();
        *text = &text[digits..];
        return tables[number - 1].clone();
    }
    if take(text, "[") {
        let mut items = Vec::new();
        elements(text, "]", &mut |text| items.push(skeleton(text, tables)));
        return DecodedValue::List(items);
    }
    if take(text, "{") {
        let mut members = Vec::new();
        elements(text, "}", &mut |text| {
            let DecodedValue::String(key) = json(take_json(text)) else { panic!("{text}") };
            assert!(take(text, ":"));
            members.push((key, skeleton(text, tables)));
        });
        return object(members);
    }
    take_cell(text, &[',', ']', '}']).unwrap()
}

pub(super) fn decode(form: &str) -> DecodedValue {
    if !form.contains("compacted without loss") {
        return json(form);
    }
    let mut lines = form.split('\n').skip(1);
    let mut body = lines.next().unwrap();
    let mut blocks: Vec<(bool, Vec<&str>)> = Vec::new();
    for line in lines {
        let head = line.strip_prefix('#').map(|line| line.trim_start_matches(|c: char| c.is_ascii_digit()));
        match head.and_then(|head| {
            Some((head.starts_with("{}"), head.trim_start_matches("{}").strip_prefix(": ")?))
        }) {
            Some((keyed, head)) => blocks.push((keyed, vec![head])),
            None => blocks.last_mut().unwrap().1.push(line),
        }
    }
    let tables: Vec<DecodedValue> = blocks.iter().map(|(keyed, lines)| table(*keyed, lines)).collect();
    skeleton(&mut body, &tables)
}
