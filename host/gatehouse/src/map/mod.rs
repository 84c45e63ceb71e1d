//! Diagrams of the access of presets and of the links between wiki pages: columns of boxes with lines between them,
//! rendered as HTML or Graphviz DOT.

use std::collections::HashMap;

mod access;
mod dot;
mod html;
mod layout;

mod svg;
#[cfg(test)]
mod tests;
mod wiki;

pub(crate) use access::access;
pub(crate) use dot::dot;
pub(crate) use html::html;
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

/// A line between two boxes, given by their indexes in [`Diagram::nodes`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiagramEdge {
    pub(crate) from: usize,
    pub(crate) to: usize,
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
    pub(crate) nodes: Vec<DiagramNode>,
    pub(crate) lines: Vec<DiagramEdge>,
    /// Meaning of each tone in this diagram. Other tones do not occur.
    pub(crate) legend: Vec<(Tone, &'static str)>,
    /// Remarks about the diagram as a whole.
    pub(crate) notes: Vec<String>,
    pub(crate) tables: Vec<DiagramTable>,
    /// True if hovering over a box highlights everything upstream and downstream.
    pub(crate) highlights_paths: bool,
    places: HashMap<(usize, String, String), usize>,
    between: HashMap<(usize, usize), usize>,
}

#[derive(Debug, Clone)]
pub(crate) struct DiagramTable {
    pub(crate) title: String,
    pub(crate) header: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Diagram {
    /// Returns the index of a box. Creates the box and its group if necessary.
    fn node(&mut self, column: usize, group: &str, name: &str) -> usize {
        let key = (column, group.to_owned(), name.to_owned());
        if let Some(known) = self.places.get(&key) {
            return *known;
        }
        while self.columns.len() <= column {
            self.columns.push(Vec::new());
        }
        let found = self.columns[column].iter().position(|one| one.title == group);
        let place = found.unwrap_or_else(|| {
            self.columns[column].push(NodeGroup { title: group.to_owned(), nodes: Vec::new() });
            self.columns[column].len() - 1
        });
        self.places.insert(key, self.nodes.len());
        self.columns[column][place].nodes.push(self.nodes.len());
        self.nodes.push(DiagramNode { name: name.to_owned(), detail: String::new(), tone: Tone::Plain });
        self.nodes.len() - 1
    }

    /// Adds a line, or merges it with the existing one: the stronger tone, and the details of both.
    fn line(&mut self, from: usize, to: usize, tone: Tone, dashed: bool, detail: impl Into<String>) {
        let detail = detail.into();
        let known = self.between.get(&(from, to)).and_then(|place| self.lines.get_mut(*place));
        let Some(known) = known else {
            self.between.insert((from, to), self.lines.len());
            self.lines.push(DiagramEdge { from, to, tone, dashed, detail });
            return;
        };
        known.tone = known.tone.max(tone);
        known.dashed &= dashed;
        if !known.detail.split('\n').any(|one| one == detail) {
            known.detail.push('\n');
            known.detail.push_str(&detail);
        }
    }
}
