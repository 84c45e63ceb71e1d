//! Scans JSON text into nodes, strictly by the grammar of RFC 8259.
//! Longer than 300 lines because the rows of a large document are left out in the same pass.

use super::{
    document::{DocumentNode, NodeIndex, NodeKind, ParsedDocument},
    row_sampler::{self, MAX_NODES, RowSampler},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotJson {
    pub(super) at: usize,
    pub(super) expected: &'static str,
}

const MAX_TEXT_BYTES: usize = u32::MAX as usize;

/// Reads a document of at most [`MAX_NODES`].
pub(super) fn nodes(text: &str) -> Result<Vec<DocumentNode>, NotJson> {
    let mut scan = JsonScanner::new(text)?;
    scan.document(None).map_err(|(not, _)| not)?;
    Ok(scan.nodes)
}

type ScanError = (NotJson, Vec<NodeIndex>);

/// Scans a document, only some rows if it has more than [`MAX_NODES`]. Also returns the first error.
fn scan_rows<'a>(
    text: &'a str,
    query: &str,
    scan: impl Fn(&mut JsonScanner<'a>) -> Result<(), ScanError>,
) -> Result<(JsonScanner<'a>, Option<ScanError>), NotJson> {
    let mut scanner = JsonScanner::new(text)?;
    let mut error = scan(&mut scanner).err();
    if scanner.nodes.len() >= MAX_NODES {
        let nodes = scanner.nodes.len().saturating_mul(text.len() / scanner.at.max(1) + 1);
        drop(scanner);
        scanner = JsonScanner::new(text)?;
        scanner.sampler = Some(RowSampler::new(nodes, query));
        error = scan(&mut scanner).err();
    }
    Ok((scanner, error))
}

/// Reads a JSON document, only some of the rows if it is very large: the first, an even sample, unusual ones and those
/// with words of the query.
pub(super) fn rows<'a>(text: &'a str, query: &str) -> Result<ParsedDocument<'a>, NotJson> {
    let (scan, error) = scan_rows(text, query, |scan| scan.document(None))?;
    match error {
        None => Ok(ParsedDocument::from_nodes(text, scan.nodes, None, scan.sampler)),
        Some((not, _)) => Err(not),
    }
}

/// Reads a truncated text, whose open containers end there. `None` if the text stops being JSON before its last tenth.
pub(super) fn truncated<'a>(text: &'a str, query: &str) -> Option<ParsedDocument<'a>> {
    let (mut scan, error) = scan_rows(text, query, |scan| scan.document(None)).ok()?;
    let (not, open) = error?;
    if not.at * 10 < text.len() * 9 || open.is_empty() {
        return None;
    }
    // Drop a number at the very end, which may be incomplete, and a key without a value.
    let inner = *open.last()? as usize;
    let partial =
        scan.nodes.last().is_some_and(|n| n.kind == NodeKind::Number && n.end as usize == text.len());
    if partial {
        scan.nodes.pop();
        scan.nodes[inner].len -= 1;
    }
    if scan.key_without_value || (partial && scan.nodes[inner].kind == NodeKind::Object) {
        scan.nodes.pop();
    }
    let next = scan.nodes.len() as NodeIndex;
    let last = open.len() - 1;
    for (n, inner) in open.into_iter().enumerate() {
        let node = &mut scan.nodes[inner as usize];
        // A container is counted when it ends, which the inner ones have not.
        node.len += u32::from(n < last);
        (node.end, node.next) = (not.at as u32, next);
    }
    let note = format!("The document is truncated: expected {} after {} bytes", not.expected, not.at);
    Some(ParsedDocument::from_nodes(text, scan.nodes, Some(note), scan.sampler))
}

/// Reads one JSON value per line, as the elements of an array. Invalid lines become strings without quotes.
pub(super) fn lines<'a>(text: &'a str, query: &str) -> Option<ParsedDocument<'a>> {
    let broken = std::cell::Cell::new(0);
    let (scan, error) = scan_rows(text, query, |scan| {
        broken.set(0);
        scan.lines(text, &broken)
    })
    .ok()?;
    let broken = match broken.get() {
        0 => String::new(),
        broken => format!("; {broken} lines are not JSON"),
    };
    let note = format!("Each line is one value, starting with `$[0]`{broken}");
    error.is_none().then(|| ParsedDocument::from_nodes(text, scan.nodes, Some(note), scan.sampler))
}

struct JsonScanner<'a> {
    bytes: &'a [u8],
    at: usize,
    nodes: Vec<DocumentNode>,
    /// True after a key whose value has not been read.
    key_without_value: bool,
    sampler: Option<RowSampler>,
    /// For each open container, the first node of its current element.
    elements: Vec<usize>,
    /// Hash of the last key.
    column: u64,
}

impl<'a> JsonScanner<'a> {
    fn new(text: &'a str) -> Result<Self, NotJson> {
        if text.len() > MAX_TEXT_BYTES {
            return Err(NotJson { at: MAX_TEXT_BYTES, expected: "the end" });
        }
        Ok(Self {
            bytes: text.as_bytes(),
            at: 0,
            nodes: Vec::with_capacity((text.len() / 12).min(MAX_NODES)),
            key_without_value: false,
            sampler: None,
            elements: Vec::new(),
            column: 0,
        })
    }

    /// Reads one value per line as the elements of an array, and counts the invalid lines.
    fn lines(&mut self, text: &'a str, broken: &std::cell::Cell<usize>) -> Result<(), ScanError> {
        let root = self.push(NodeKind::Array, 0, None);
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let end = start + line.trim_ascii_end().len();
            let before = self.nodes.len();
            self.at = start;
            self.bytes = &text.as_bytes()[..end];
            self.blank();
            let begins = self.at;
            start += line.len();
            if begins >= end {
                continue;
            }
            if let Err(error) = self.document(Some(root)) {
                if self.nodes.len() >= MAX_NODES {
                    return Err(error);
                }
                self.nodes.truncate(before);
                self.at = end;
                self.push(NodeKind::String, begins, Some(root));
                broken.set(broken.get() + 1);
            }
            self.end_element(root, before);
        }
        let next = self.nodes.len() as NodeIndex;
        let node = &mut self.nodes[root as usize];
        (node.end, node.next) = (text.len() as u32, next);
        Ok(())
    }

    /// Counts an element that has ended, and drops its nodes if its row is not sampled.
    fn end_element(&mut self, container: NodeIndex, first: usize) {
        let index = self.nodes[container as usize].len;
        self.nodes[container as usize].len += 1;
        if let (Some(sampler), Some(node)) = (&mut self.sampler, self.nodes.get(first))
            && !sampler.keeps(index as usize, first, self.bytes, node.start as usize..self.at)
        {
            self.nodes.truncate(first);
        }
    }

    /// Reads one value and the whitespace around it, up to the end of the bytes. The error has the open containers,
    /// innermost last.
    fn document(&mut self, parent: Option<NodeIndex>) -> Result<(), ScanError> {
        let mut open: Vec<NodeIndex> = Vec::new();
        self.elements.clear();
        self.values_until_end(parent, &mut open).map_err(|not| (not, open))
    }

    fn values_until_end(
        &mut self,
        parent: Option<NodeIndex>,
        open: &mut Vec<NodeIndex>,
    ) -> Result<(), NotJson> {
        loop {
            if self.nodes.len() >= MAX_NODES {
                return self.expected("fewer values");
            }
            self.blank();
            let opened = self.value(open.last().copied().or(parent))?;
            open.extend(opened);
            self.elements.extend(opened.map(|_| self.nodes.len()));
            if opened.is_some() && !self.try_close(open) {
                self.key(open)?;
                continue;
            }
            loop {
                self.blank();
                let Some(&inner) = open.last() else {
                    return if self.at == self.bytes.len() { Ok(()) } else { self.expected("the end") };
                };
                let first = self.elements.last().copied().unwrap_or_default();
                self.end_element(inner, first);
                if self.take(b',') {
                    self.elements.pop();
                    self.elements.push(self.nodes.len());
                    self.key(open)?;
                    break;
                }
                if !self.try_close(open) {
                    return self.expected("a comma or a closing bracket");
                }
            }
        }
    }

    fn expected<T>(&self, token: &'static str) -> Result<T, NotJson> {
        Err(NotJson { at: self.at, expected: token })
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn push(&mut self, kind: NodeKind, start: usize, parent: Option<NodeIndex>) -> NodeIndex {
        let id = self.nodes.len() as NodeIndex;
        let parent = parent.unwrap_or(id);
        // A container counts an element when it has ended, so its count is this element's index.
        self.key_without_value = false;
        let index = self.nodes.get(parent as usize).map_or(0, |parent| parent.len);
        self.nodes.push(DocumentNode {
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

    /// Reads a scalar, or the start of a container, and returns the container.
    fn value(&mut self, parent: Option<NodeIndex>) -> Result<Option<NodeIndex>, NotJson> {
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{' | b'[') => {
                let kind = if self.take(b'{') { NodeKind::Object } else { NodeKind::Array };
                self.at = start + 1;
                return Ok(Some(self.push(kind, start, parent)));
            }
            Some(b'"') => {
                self.string()?;
                NodeKind::String
            }
            Some(b'-' | b'0'..=b'9') => {
                self.number()?;
                NodeKind::Number
            }
            Some(b't') => self.word("true", NodeKind::Bool)?,
            Some(b'f') => self.word("false", NodeKind::Bool)?,
            Some(b'n') => self.word("null", NodeKind::Null)?,
            _ => return self.expected("a value"),
        };
        let id = self.push(kind, start, parent);
        if self.sampler.is_some() {
            self.note(id);
        }
        Ok(None)
    }

    /// Shows the sampler a scalar, with its key, or its position in a list without keys.
    fn note(&mut self, id: NodeIndex) {
        let node = self.nodes[id as usize];
        let keyed = self.nodes[node.parent as usize].kind == NodeKind::Object;
        let column =
            if keyed { self.column } else { row_sampler::hash(1, &node.index.min(32).to_le_bytes()) };
        let text =
            std::str::from_utf8(&self.bytes[node.start as usize..node.end as usize]).unwrap_or_default();
        if let Some(sampler) = &mut self.sampler {
            sampler.note(column, text, id as usize);
        }
    }

    fn try_close(&mut self, open: &mut Vec<NodeIndex>) -> bool {
        self.blank();
        let Some(&inner) = open.last() else { return false };
        let close = if self.nodes[inner as usize].kind == NodeKind::Object { b'}' } else { b']' };
        if !self.take(close) {
            return false;
        }
        open.pop();
        self.elements.pop();
        let next = self.nodes.len() as NodeIndex;
        let node = &mut self.nodes[inner as usize];
        (node.end, node.next) = (self.at as u32, next);
        true
    }

    /// Reads a key and its colon if the innermost container is an object.
    fn key(&mut self, open: &[NodeIndex]) -> Result<(), NotJson> {
        if open.last().is_none_or(|inner| self.nodes[*inner as usize].kind != NodeKind::Object) {
            return Ok(());
        }
        self.blank();
        let start = self.at;
        if self.peek() != Some(b'"') {
            return self.expected("a key in quotes");
        }
        self.string()?;
        if self.sampler.is_some() {
            self.column = row_sampler::hash(0, &self.bytes[start..self.at]);
        }
        self.push(NodeKind::String, start, open.last().copied());
        self.key_without_value = true;
        self.blank();
        if self.take(b':') { Ok(()) } else { self.expected("a colon") }
    }

    fn word(&mut self, word: &'static str, kind: NodeKind) -> Result<NodeKind, NotJson> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return self.expected("a value");
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
                        _ => return self.expected("a valid JSON escape"),
                    }
                }
                Some(_) => return self.expected("an escaped control character"),
                None => return self.expected("a closing quote"),
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
        if digits == 0 { self.expected("a digit") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
