//! Diagrams of the access of presets and of the links between wiki pages: columns of boxes with lines between them,
//! rendered as HTML or Graphviz DOT.

mod access;
mod html;
mod layout;
#[cfg(test)]
mod tests;
mod wiki;

use indexmap::{IndexMap, map::Entry};

pub(crate) use access::access;
pub(crate) use html::{dot, html};
pub(crate) use wiki::wiki;

/// Meaning of a box or line, shown as its color.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Tone {
    Plain,
    ReadOnly,
    /// Changes data that this host stores.
    Mutating,
    /// Runs programs, or accesses something outside this host's stores.
    External,
    /// Missing or broken.
    Broken,
}

impl Tone {
    const ALL: [Self; 5] = [Self::Plain, Self::ReadOnly, Self::Mutating, Self::External, Self::Broken];

    fn class(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::ReadOnly => "reads",
            Self::Mutating => "changes",
            Self::External => "reaches",
            Self::Broken => "wrong",
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct DiagramNode {
    /// Unescaped text; the renderers escape it.
    pub(crate) name: String,
    /// Tooltip text, one fact per line.
    pub(crate) detail: String,
    pub(crate) tone: Tone,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiagramEdge {
    pub(crate) tone: Tone,
    /// True for a dashed line: indirect, or to something that does not exist.
    pub(crate) dashed: bool,
    pub(crate) detail: String,
}

#[derive(Debug, Clone)]
pub(crate) struct NodeGroup {
    pub(crate) title: String,
    pub(crate) nodes: Vec<usize>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Diagram {
    pub(crate) title: String,
    pub(crate) about: String,
    /// Groups, from left to right.
    pub(crate) columns: Vec<Vec<NodeGroup>>,
    /// Boxes by column, group and name.
    pub(crate) nodes: IndexMap<(usize, String, String), DiagramNode>,
    /// Lines by the indexes of the two boxes.
    pub(crate) lines: IndexMap<(usize, usize), DiagramEdge>,
    /// Meaning of each tone in this diagram. Other tones do not occur.
    pub(crate) legend: Vec<(Tone, &'static str)>,
    /// Remarks about the diagram as a whole.
    pub(crate) notes: Vec<String>,
    pub(crate) tables: Vec<DiagramTable>,
    /// True if hovering over a box highlights everything upstream and downstream.
    pub(crate) highlights_paths: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct DiagramTable {
    pub(crate) title: String,
    pub(crate) header: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Diagram {
    /// Returns the index of a group. Creates the group if necessary.
    fn group(&mut self, column: usize, title: &str) -> usize {
        self.columns.resize_with(self.columns.len().max(column + 1), Vec::new);
        let groups = &mut self.columns[column];
        groups.iter().position(|group| group.title == title).unwrap_or_else(|| {
            groups.push(NodeGroup { title: title.to_owned(), nodes: Vec::new() });
            groups.len() - 1
        })
    }

    /// Returns the index of a box. Creates the box and its group if necessary.
    fn node(&mut self, column: usize, group: &str, name: &str) -> usize {
        let key = (column, group.to_owned(), name.to_owned());
        if let Some(known) = self.nodes.get_index_of(&key) {
            return known;
        }
        let place = self.group(column, group);
        self.columns[column][place].nodes.push(self.nodes.len());
        let node = DiagramNode { name: name.to_owned(), detail: String::new(), tone: Tone::Plain };
        self.nodes.insert_full(key, node).0
    }

    fn mark_broken(&mut self, node: usize, reason: &str) {
        self.nodes[node].tone = Tone::Broken;
        self.nodes[node].detail = reason.to_owned();
    }

    /// Adds a line, or merges it with the existing one: the stronger tone, and the details of both.
    fn line(&mut self, from: usize, to: usize, tone: Tone, dashed: bool, detail: impl Into<String>) {
        let detail = detail.into();
        match self.lines.entry((from, to)) {
            Entry::Vacant(entry) => _ = entry.insert(DiagramEdge { tone, dashed, detail }),
            Entry::Occupied(mut entry) => {
                let edge = entry.get_mut();
                edge.tone = edge.tone.max(tone);
                edge.dashed &= dashed;
                if !edge.detail.split('\n').any(|line| line == detail) {
                    edge.detail.push('\n');
                    edge.detail.push_str(&detail);
                }
            }
        }
    }
}
