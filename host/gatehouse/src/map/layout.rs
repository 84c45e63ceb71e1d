//! Deterministic layout of diagrams: columns, rows of one height, and few crossing lines.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::Diagram;

/// Maximum width of a label in cells. Longer ones are cut; the tooltip shows the full name.
pub(super) const MAX_CELLS: usize = 40;
/// Width of a cell in pixels for a 12-pixel monospace font: 0.602 em in the widest common font, rounded up.
const CELL: f64 = 7.3;
const ROW: f64 = 26.0;
/// Height of a box.
pub(super) const BOX: f64 = 20.0;
const HEADING: f64 = 30.0;
pub(super) const PAD: f64 = 9.0;
const MARGIN: f64 = 16.0;
const GAP: f64 = 110.0;
/// Number of ordering passes. More passes change little.
const SWEEPS: usize = 6;

#[derive(Debug, Clone, Default)]
pub(super) struct PlacedNode {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    /// Name, cut to [`MAX_CELLS`].
    pub(super) label: String,
    pub(super) column: usize,
}

impl PlacedNode {
    pub(super) fn middle(&self) -> f64 {
        self.y + BOX / 2.0
    }

    pub(super) fn right(&self) -> f64 {
        self.x + self.width
    }
}

pub(super) struct DiagramLayout {
    pub(super) width: f64,
    pub(super) height: f64,
    /// Boxes by their index in [`Diagram::nodes`].
    pub(super) boxes: Vec<PlacedNode>,
    /// Headings with the start of their baseline.
    pub(super) headings: Vec<(f64, f64, String)>,
}

pub(super) fn layout(map: &Diagram) -> DiagramLayout {
    let orders = ordered(map);
    let mut boxes = vec![PlacedNode::default(); map.nodes.len()];
    let mut headings = Vec::new();
    let (mut x, mut height) = (MARGIN, 0.0_f64);
    for (column, groups) in map.columns.iter().enumerate() {
        let mut y = MARGIN;
        let labels: Vec<(usize, String)> =
            orders[column].iter().flatten().map(|node| (*node, cut(&map.nodes[*node].name))).collect();
        let cells = labels.iter().map(|(_, label)| label.width()).max().unwrap_or_default();
        let titled = groups.iter().map(|group| cut(&group.title).width()).max().unwrap_or_default();
        let width = cells.max(titled).max(8) as f64 * CELL + 2.0 * PAD;
        let mut labels = labels.into_iter();
        for (group, nodes) in groups.iter().zip(&orders[column]) {
            headings.push((x, y + HEADING - 12.0, cut(&group.title)));
            y += HEADING;
            for (node, label) in labels.by_ref().take(nodes.len()) {
                boxes[node] = PlacedNode { x, y, width, label, column };
                y += ROW;
            }
            y += 6.0;
        }
        height = height.max(y);
        x += width + GAP;
    }
    // Lines within the last column bend to the right of it.
    let bends = map.lines.keys().any(|(from, to)| boxes[*from].column == boxes[*to].column);
    let width = x - GAP + MARGIN + if bends { GAP / 2.0 } else { 0.0 };
    DiagramLayout { width: width.max(200.0), height: height + MARGIN, boxes, headings }
}

/// Orders the nodes of each group by the mean position of their neighbors, in several passes.
fn ordered(map: &Diagram) -> Vec<Vec<Vec<usize>>> {
    let mut orders: Vec<Vec<Vec<usize>>> =
        map.columns.iter().map(|groups| groups.iter().map(|group| group.nodes.clone()).collect()).collect();
    let mut neighbours = vec![Vec::new(); map.nodes.len()];
    for &(from, to) in map.lines.keys() {
        neighbours[from].push(to);
        neighbours[to].push(from);
    }
    let mut heights = vec![0.0; map.nodes.len()];
    let measure = |orders: &[Vec<Vec<usize>>], heights: &mut Vec<f64>| {
        for column in orders {
            let nodes: Vec<usize> = column.iter().flatten().copied().collect();
            let rows = nodes.len().max(1) as f64;
            nodes.iter().enumerate().for_each(|(row, node)| heights[*node] = row as f64 / rows);
        }
    };
    measure(&orders, &mut heights);
    for _ in 0..SWEEPS {
        for group in orders.iter_mut().flatten() {
            let mean = |node: usize| {
                let node_neighbours = &neighbours[node];
                let sum: f64 = node_neighbours.iter().map(|other| heights[*other]).sum();
                // Nodes without lines go last.
                if node_neighbours.is_empty() { f64::MAX } else { sum / node_neighbours.len() as f64 }
            };
            let mut keyed: Vec<(f64, &str, usize)> =
                group.iter().map(|node| (mean(*node), map.nodes[*node].name.as_str(), *node)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(b.1)));
            *group = keyed.into_iter().map(|(_, _, node)| node).collect();
        }
        measure(&orders, &mut heights);
    }
    orders
}

/// Cuts a name to the width of a box, and removes control characters.
pub(super) fn cut(name: &str) -> String {
    let clean = plain(name);
    if clean.width() <= MAX_CELLS {
        return clean;
    }
    let mut short = String::new();
    for letter in clean.chars() {
        if short.width() + letter.width().unwrap_or_default() >= MAX_CELLS {
            break;
        }
        short.push(letter);
    }
    short.push('…');
    short
}

/// Removes direction marks and replaces control characters, so that a name cannot reorder the text around it.
pub(super) fn plain(text: &str) -> String {
    let turns =
        |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().filter(|c| !turns(*c)).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
