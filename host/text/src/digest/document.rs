//! A JSON document as a flat list of nodes that point into its text.
//!
//! `serde_json::Value` would copy every string and lose details that a digest has to show: the digits of large numbers,
//! duplicate keys, and the spelling of a row. There is no recursion, so only memory limits the depth, in proportion to
//! the text.

use std::{borrow::Cow, ops::Range};

use super::{
    row_sampler::RowSampler,
    scan::{self, NotJson},
    value::quoted,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum NodeKind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl NodeKind {
    pub(crate) const ALL: [Self; 6] =
        [Self::Null, Self::Bool, Self::Number, Self::String, Self::Array, Self::Object];

    pub(crate) fn with_article(self) -> &'static str {
        match self {
            Self::Array => "an array",
            Self::Object => "an object",
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "boolean",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

pub(crate) type NodeIndex = u32;

#[derive(Debug, Clone, Copy)]
pub(crate) struct DocumentNode {
    pub(crate) kind: NodeKind,
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// The node after this one and its descendants.
    pub(crate) next: NodeIndex,
    pub(crate) len: u32,
    /// The containing node, and the position in it. The root contains itself.
    pub(crate) parent: NodeIndex,
    pub(crate) index: u32,
}

#[derive(Debug)]
pub(crate) struct ParsedDocument<'a> {
    pub(super) text: &'a str,
    /// A container's children follow it, each followed by its own. A key precedes its value.
    pub(super) nodes: Vec<DocumentNode>,
    /// A sentence about how the document was read.
    pub(crate) note: Option<String>,
    /// True if only some of its rows were read.
    pub(super) sampled: bool,
}

/// Elements of a container in the document, and those that were read.
pub(super) struct RowCounts {
    pub(super) all: usize,
    pub(super) read: usize,
}

impl std::fmt::Display for RowCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.read < self.all {
            true => write!(f, "{} rows, of which {} were read", self.all, self.read),
            false => write!(f, "{} rows", self.all),
        }
    }
}

impl<'a> ParsedDocument<'a> {
    /// Reads a JSON document of less than 4 GiB.
    pub(crate) fn read(text: &'a str) -> Result<Self, NotJson> {
        Ok(Self { text, nodes: scan::nodes(text)?, note: None, sampled: false })
    }

    /// Creates a document of nodes. A sampler may have left out rows.
    pub(super) fn from_nodes(
        text: &'a str,
        nodes: Vec<DocumentNode>,
        note: Option<String>,
        sampler: Option<RowSampler>,
    ) -> Self {
        let left_out = sampler.and_then(|sampler| sampler.note_text());
        let sampled = left_out.is_some();
        let notes: Vec<String> = note.into_iter().chain(left_out).collect();
        Self { text, nodes, note: (!notes.is_empty()).then(|| notes.join(". ")), sampled }
    }

    #[cfg(test)]
    pub(super) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) const ROOT: NodeIndex = 0;

    pub(crate) fn kind(&self, id: NodeIndex) -> NodeKind {
        self.nodes[id as usize].kind
    }

    pub(crate) fn len(&self, id: NodeIndex) -> usize {
        self.nodes[id as usize].len as usize
    }

    pub(crate) fn size(&self, id: NodeIndex) -> usize {
        let node = self.nodes[id as usize];
        (node.end - node.start) as usize
    }

    pub(crate) fn source(&self, id: NodeIndex) -> &'a str {
        let node = self.nodes[id as usize];
        &self.text[node.start as usize..node.end as usize]
    }

    /// Returns the node's text, from its key on if it has one.
    pub(crate) fn keyed_source(&self, id: NodeIndex) -> &'a str {
        let start = match self.has_key(id) {
            true => self.nodes[id as usize - 1].start,
            false => self.nodes[id as usize].start,
        };
        &self.text[start as usize..self.nodes[id as usize].end as usize]
    }

    /// Returns whether the node is the value of a key. The key is then the previous node.
    fn has_key(&self, id: NodeIndex) -> bool {
        id != Self::ROOT && self.kind(self.nodes[id as usize].parent) == NodeKind::Object
    }

    /// Returns a string without its quotes, with escapes as written. For comparisons.
    pub(crate) fn raw(&self, id: NodeIndex) -> &'a str {
        let source = self.source(id);
        source.strip_prefix('"').and_then(|s| s.strip_suffix('"')).unwrap_or(source)
    }

    /// Decodes a string. If it has an unpaired surrogate, its escapes stay as written.
    pub(crate) fn string(&self, id: NodeIndex) -> Cow<'a, str> {
        let raw = self.raw(id);
        match raw.contains('\\') {
            false => Cow::Borrowed(raw),
            true => serde_json::from_str(self.source(id)).map_or(Cow::Borrowed(raw), Cow::Owned),
        }
    }

    pub(crate) fn after(&self, id: NodeIndex) -> NodeIndex {
        self.nodes[id as usize].next
    }

    pub(crate) fn key(&self, id: NodeIndex) -> Option<NodeIndex> {
        self.has_key(id).then(|| id - 1)
    }

    pub(crate) fn children(&self, id: NodeIndex) -> impl Iterator<Item = NodeIndex> {
        self.members(id).map(|(_, value)| value)
    }

    pub(crate) fn members(&self, id: NodeIndex) -> impl Iterator<Item = (Option<NodeIndex>, NodeIndex)> {
        let node = self.nodes[id as usize];
        let keyed = node.kind == NodeKind::Object;
        let mut at = id + 1;
        std::iter::from_fn(move || {
            if at >= node.next {
                return None;
            }
            let (key, value) = if keyed { (Some(at), at + 1) } else { (None, at) };
            at = self.nodes[value as usize].next;
            Some((key, value))
        })
    }

    /// Returns the path of a node: `$.items[3].name`.
    pub(crate) fn path(&self, id: NodeIndex) -> String {
        let mut steps: Vec<String> = Vec::new();
        let mut at = id;
        while at != Self::ROOT && steps.len() < MAX_STEPS {
            let node = self.nodes[at as usize];
            steps.push(match self.has_key(at) {
                true => step(&self.string(at - 1)),
                false => format!("[{}]", node.index),
            });
            at = node.parent;
        }
        let beginning = if at == Self::ROOT { "$" } else { "$…" };
        let steps = steps.iter().rev().map(String::as_str);
        std::iter::once(beginning).chain(steps).collect()
    }
}

/// Builds the nodes of a document in order. A container is closed after its last descendant.
#[derive(Default)]
pub(super) struct NodeBuilder {
    pub(super) nodes: Vec<DocumentNode>,
}

impl NodeBuilder {
    pub(super) fn push(
        &mut self,
        kind: NodeKind,
        at: Range<usize>,
        parent: NodeIndex,
        index: usize,
    ) -> NodeIndex {
        let id = self.nodes.len() as NodeIndex;
        let (start, end, index) = (at.start as u32, at.end as u32, index as u32);
        self.nodes.push(DocumentNode { kind, start, end, next: id + 1, len: 0, parent, index });
        id
    }

    pub(super) fn close(&mut self, id: NodeIndex, len: usize) {
        let next = self.nodes.len() as NodeIndex;
        let node = &mut self.nodes[id as usize];
        (node.next, node.len) = (next, len as u32);
    }
}

/// Maximum steps of a path. A longer path loses its start.
const MAX_STEPS: usize = 24;

pub(crate) fn step(key: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-' || c == '$';
    if !key.is_empty() && key.len() <= 60 && key.chars().all(plain) {
        format!(".{key}")
    } else {
        format!("[{}]", quoted(key, 60))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_keep_their_spelling_and_their_place() {
        let text = r#" {"a": [1.50, 123456789012345678901234567890], "b c": {"d": "\u00e9\n"}, "a": null} "#;
        let document = ParsedDocument::read(text).unwrap();
        let members: Vec<_> = document.members(ParsedDocument::ROOT).collect();
        assert_eq!(document.len(ParsedDocument::ROOT), 3);
        let numbers: Vec<_> = document.children(members[0].1).collect();
        assert_eq!(document.source(numbers[1]), "123456789012345678901234567890");
        assert_eq!(document.path(numbers[1]), "$.a[1]");
        assert_eq!(document.keyed_source(numbers[1]), document.source(numbers[1]));
        let inner = document.children(members[1].1).next().unwrap();
        assert_eq!((document.string(inner).as_ref(), document.raw(inner)), ("é\n", "\\u00e9\\n"));
        assert_eq!(document.keyed_source(inner), "\"d\": \"\\u00e9\\n\"");
        assert_eq!(document.path(inner), "$[\"b c\"].d");
        let deep = format!("{}{}", "[".repeat(50), "]".repeat(50));
        let document_of_lists = ParsedDocument::read(&deep).unwrap();
        assert_eq!(document_of_lists.path(49), format!("$…{}", "[0]".repeat(24)));
        assert_eq!((document.kind(members[2].1), document.nodes.len()), (NodeKind::Null, 11));
    }
}
