//! Scans JSON text into nodes, by the grammar of RFC 8259 and nothing more lenient.

use super::document::{Id, Kind, Node};

/// Where a text stops being JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotJson {
    /// Bytes before it.
    pub(super) at: usize,
    /// What would have to stand there.
    pub(super) wanted: &'static str,
}

/// The nodes of a text, in its order.
pub(super) fn nodes(text: &str) -> Result<Vec<Node>, NotJson> {
    let mut scan = Scan { bytes: text.as_bytes(), at: 0, nodes: Vec::with_capacity(text.len() / 12) };
    // Containers that are open; the innermost is last.
    let mut open: Vec<Id> = Vec::new();
    loop {
        scan.blank();
        let opened = scan.value(open.last().copied())?;
        open.extend(opened);
        if opened.is_some() && !scan.closes(&mut open) {
            scan.key(&open)?;
            continue;
        }
        // A value has ended: what follows belongs to the container it is in.
        loop {
            scan.blank();
            let Some(&inner) = open.last() else {
                return if scan.at == text.len() { Ok(scan.nodes) } else { scan.wants("the end") };
            };
            scan.nodes[inner as usize].len += 1;
            if scan.take(b',') {
                scan.key(&open)?;
                break;
            }
            // `closes` is for an empty container, which counts no element.
            if !scan.closes(&mut open) {
                return scan.wants("a comma or the end of the list");
            }
        }
    }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    nodes: Vec<Node>,
}

impl Scan<'_> {
    fn wants<T>(&self, wanted: &'static str) -> Result<T, NotJson> {
        Err(NotJson { at: self.at, wanted })
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn push(&mut self, kind: Kind, start: usize, parent: Option<Id>) -> Id {
        let id = self.nodes.len() as Id;
        let parent = parent.unwrap_or(id);
        // A container counts an element when it has ended, so its count is the place of this one.
        let index = self.nodes.get(parent as usize).map_or(0, |parent| parent.len);
        self.nodes.push(Node {
            kind,
            start: start as u32,
            end: self.at as u32,
            next: id + 1,
            len: 0,
            parent,
            index,
        });
        id
    }

    /// A scalar, or the beginning of a container, which is then given back.
    fn value(&mut self, parent: Option<Id>) -> Result<Option<Id>, NotJson> {
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{' | b'[') => {
                let kind = if self.take(b'{') { Kind::Object } else { Kind::Array };
                self.at = start + 1;
                return Ok(Some(self.push(kind, start, parent)));
            }
            Some(b'"') => {
                self.string()?;
                Kind::String
            }
            Some(b'-' | b'0'..=b'9') => {
                self.number()?;
                Kind::Number
            }
            Some(b't') => self.word("true", Kind::Bool)?,
            Some(b'f') => self.word("false", Kind::Bool)?,
            Some(b'n') => self.word("null", Kind::Null)?,
            _ => return self.wants("a value"),
        };
        self.push(kind, start, parent);
        Ok(None)
    }

    /// Closes the innermost container, if that is what stands here.
    fn closes(&mut self, open: &mut Vec<Id>) -> bool {
        self.blank();
        let Some(&inner) = open.last() else { return false };
        let close = if self.nodes[inner as usize].kind == Kind::Object { b'}' } else { b']' };
        if !self.take(close) {
            return false;
        }
        open.pop();
        let next = self.nodes.len() as Id;
        let node = &mut self.nodes[inner as usize];
        (node.end, node.next) = (self.at as u32, next);
        true
    }

    /// Inside an object a key and its colon stand before a value.
    fn key(&mut self, open: &[Id]) -> Result<(), NotJson> {
        if open.last().is_none_or(|inner| self.nodes[*inner as usize].kind != Kind::Object) {
            return Ok(());
        }
        self.blank();
        let start = self.at;
        if self.peek() != Some(b'"') {
            return self.wants("a key in quotes");
        }
        self.string()?;
        self.push(Kind::String, start, open.last().copied());
        self.blank();
        if self.take(b':') { Ok(()) } else { self.wants("a colon") }
    }

    fn word(&mut self, word: &'static str, kind: Kind) -> Result<Kind, NotJson> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return self.wants("a value");
        }
        self.at += word.len();
        Ok(kind)
    }

    fn string(&mut self) -> Result<(), NotJson> {
        self.at += 1;
        loop {
            let plain = |b: &u8| *b != b'"' && *b != b'\\' && *b >= 0x20;
            self.at += self.bytes[self.at..].iter().take_while(|b| plain(b)).count();
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    let hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
                    match self.bytes.get(self.at + 1) {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
                        Some(b'u') if self.bytes.get(self.at + 2..self.at + 6).is_some_and(hex) => {
                            self.at += 6;
                        }
                        _ => return self.wants("an escape that JSON knows"),
                    }
                }
                Some(_) => return self.wants("no bare control character in a string"),
                None => return self.wants("a quote that ends the string"),
            }
        }
    }

    fn number(&mut self) -> Result<(), NotJson> {
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), NotJson> {
        let digits = self.bytes[self.at..].iter().take_while(|b| b.is_ascii_digit()).count();
        self.at += digits;
        if digits == 0 { self.wants("a digit") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn any_depth_is_read_and_an_unclosed_one_refused() {
        let deep = "[".repeat(1 << 20);
        assert_eq!(nodes(&deep).unwrap_err().at, 1 << 20);
        assert_eq!(nodes(&(deep + &"]".repeat(1 << 20))).unwrap().len(), 1 << 20);
    }

    #[test]
    fn what_is_no_json_is_refused_at_its_place() {
        let cases =
            [("", 0), ("{'a': 1}", 1), ("[1,]", 3), ("01", 1), ("{\"a\" 1}", 5), ("[1 2]", 3), ("-", 1)];
        for (text, at) in cases {
            assert_eq!(nodes(text).unwrap_err().at, at, "{text}");
        }
        for text in
            ["nul", "1.", "1e", ".5", "+1", "\"\t\"", "\"\\x\"", "\"\\u12g4\"", "{\"a\":1,}", "[1}", "1 2"]
        {
            assert!(nodes(text).is_err(), "{text}");
        }
    }

    fn count(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
            Value::Object(map) => 1 + map.values().map(|v| 1 + count(v)).sum::<usize>(),
            _ => 1,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        // Keys differ, for serde_json keeps only the last of equal ones.
        #[test]
        fn it_reads_what_serde_json_reads(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "{", "}", "[", "]", ",", ":", " ", "\n", "1", "-0", "0", "1.5e3", "e", ".", "true", "null", "\"a\"",
                    "\"b\":", "\"\\n\":", "\"\\u00e9\"", "{}", "[]", "[1,2]", "{\"c\":[]}", "\"", "\\", "é",
                ]),
                0..9,
            ),
        ) {
            let text = parts.concat();
            match (nodes(&text), serde_json::from_str::<Value>(&text)) {
                (Ok(nodes), Ok(value)) => {
                    let keys = parts.iter().filter(|p| p.ends_with(':')).count();
                    prop_assert!(keys > 1 || nodes.len() == count(&value), "{}", text);
                }
                // It has no float for these, and a digest needs none.
                (Ok(_), Err(e)) if e.to_string().starts_with("number out of range") => {}
                (ours, theirs) => prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{}", text),
            }
        }
    }
}
