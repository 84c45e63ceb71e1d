//! Pictures of what there is: columns of boxes, and lines between them. What a preset reaches and how pages are linked are
//! both told in these nouns, and drawn by the same code as one HTML file or as Graphviz' DOT.

use std::collections::HashMap;

mod dot;
mod html;
mod layout;
mod reach;
mod svg;
#[cfg(test)]
mod tests;
mod wiki;

pub(crate) use dot::dot;
pub(crate) use html::html;
pub(crate) use reach::reach;
pub(crate) use wiki::wiki;

/// What a box or a line says besides its words; each has a colour of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Tone {
    /// Nothing.
    Plain,
    /// Only looks.
    Reads,
    /// Changes what is kept here.
    Changes,
    /// Runs programs, or reaches what is outside of this machine's stores.
    Reaches,
    /// Is missing, or does not work.
    Wrong,
}

impl Tone {
    const ALL: [Self; 5] = [Self::Plain, Self::Reads, Self::Changes, Self::Reaches, Self::Wrong];

    /// Its name in style sheets.
    fn class(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Reads => "reads",
            Self::Changes => "changes",
            Self::Reaches => "reaches",
            Self::Wrong => "wrong",
        }
    }
}

/// A box.
#[derive(Debug, Clone)]
pub(crate) struct DiagramNode {
    /// Its words; whoever draws them sees to it that they do no harm.
    pub(crate) name: String,
    /// What is said of it where there is room, a line each.
    pub(crate) detail: String,
    pub(crate) tone: Tone,
}

/// A line between two boxes, by their places in [`Map::nodes`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiagramEdge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) tone: Tone,
    /// Drawn with gaps: through something else, or to what is not there.
    pub(crate) broken: bool,
    pub(crate) detail: String,
}

/// Boxes of one kind, one below the other.
#[derive(Debug, Clone)]
pub(crate) struct NodeGroup {
    pub(crate) title: String,
    pub(crate) nodes: Vec<usize>,
}

/// A picture.
#[derive(Debug, Clone, Default)]
pub(crate) struct Diagram {
    pub(crate) title: String,
    /// What it shows, in a sentence or two.
    pub(crate) about: String,
    /// Groups, from left to right.
    pub(crate) columns: Vec<Vec<NodeGroup>>,
    pub(crate) nodes: Vec<DiagramNode>,
    pub(crate) lines: Vec<DiagramEdge>,
    /// What each tone means here; those that are not named do not occur.
    pub(crate) legend: Vec<(Tone, &'static str)>,
    /// What has to be said and is in no box.
    pub(crate) notes: Vec<String>,
    /// What the boxes have no room for.
    pub(crate) tables: Vec<DiagramTable>,
    /// Whether pointing at a box shows all that comes before and behind it, not its neighbours alone.
    pub(crate) through: bool,
    /// Where each box and each line is, by what it is found by.
    places: HashMap<(usize, String, String), usize>,
    between: HashMap<(usize, usize), usize>,
}

/// Rows below a picture.
#[derive(Debug, Clone)]
pub(crate) struct DiagramTable {
    pub(crate) title: String,
    pub(crate) header: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Diagram {
    /// The box of this name in this group, which are made where they are not there yet.
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

    /// A line; of two between the same boxes the stronger one stays, with the words of both.
    fn line(&mut self, from: usize, to: usize, tone: Tone, broken: bool, detail: impl Into<String>) {
        let detail = detail.into();
        let known = self.between.get(&(from, to)).and_then(|place| self.lines.get_mut(*place));
        let Some(known) = known else {
            self.between.insert((from, to), self.lines.len());
            self.lines.push(DiagramEdge { from, to, tone, broken, detail });
            return;
        };
        known.tone = known.tone.max(tone);
        known.broken &= broken;
        if !known.detail.split('\n').any(|one| one == detail) {
            known.detail.push('\n');
            known.detail.push_str(&detail);
        }
    }
}
