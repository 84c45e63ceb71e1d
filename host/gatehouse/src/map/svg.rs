//! Diagrams as inline SVG, with CSS rules that highlight related boxes on hover, and in Graphviz' DOT language
//! (<https://graphviz.org/doc/info/lang.html>).

use std::collections::BTreeSet;

use super::{
    Diagram, DiagramEdge, DiagramNode, Tone,
    html::escaped,
    layout::{BOX, PAD, PlacedNode, layout, plain},
};

/// Renders a diagram. Returns the SVG, whose ids start with `prefix`, and the CSS rules.
pub(super) fn svg(map: &Diagram, prefix: &str) -> (String, String) {
    let placed = layout(map);
    let (width, height) = (placed.width, placed.height);
    let mut picture = format!(
        "<svg viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" \
         aria-label=\"{}\">\n",
        escaped(&map.title)
    );
    let mut rules = String::new();
    let (of_nodes, of_lines) = related_nodes(map);
    let classes =
        |set: &BTreeSet<usize>| set.iter().map(|one| format!(" {prefix}h{one}")).collect::<String>();
    for (((from, to), line), belongs) in map.lines.iter().zip(&of_lines) {
        let broken = if line.dashed { " broken" } else { "" };
        picture += &format!(
            "<path class=\"line {}{broken}{}\" d=\"{}\"><title>{}</title></path>\n",
            line.tone.class(),
            classes(belongs),
            path(&placed.boxes[*from], &placed.boxes[*to]),
            escaped(&format!("{} → {}\n{}", map.nodes[*from].name, map.nodes[*to].name, line.detail))
        );
    }
    for (x, y, words) in &placed.headings {
        picture += &format!("<text class=\"heading\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>\n", escaped(words));
    }
    for (place, (node, one)) in map.nodes.values().zip(&placed.boxes).enumerate() {
        let PlacedNode { x, y, width, label, .. } = one;
        let detail = if node.detail.is_empty() { String::new() } else { format!("\n{}", node.detail) };
        picture += &format!(
            "<g class=\"node {}{}\" id=\"{prefix}n{place}\"><title>{}</title>\
             <rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BOX:.0}\" rx=\"4\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text></g>\n",
            node.tone.class(),
            classes(&of_nodes[place]),
            escaped(&format!("{}{detail}", node.name)),
            x + PAD,
            y + 14.0,
            escaped(label)
        );
        rules += &format!(
            "svg:has(#{prefix}n{place}:hover) :is(.node,.line):not(.{prefix}h{place}){{opacity:.1}}\n"
        );
    }
    (picture + "</svg>\n", rules)
}

/// Returns the path from edge to edge of two boxes. Within a column, it bends to the right.
fn path(from: &PlacedNode, to: &PlacedNode) -> String {
    let (y1, y2) = (from.middle(), to.middle());
    if from.column == to.column {
        let (x, out) = (from.right(), 24.0 + (y2 - y1).abs().sqrt() * 2.0);
        let bend = x + out.min(70.0);
        return format!("M{x:.1} {y1:.1}C{bend:.1} {y1:.1} {bend:.1} {y2:.1} {x:.1} {y2:.1}");
    }
    let (x1, x2) = if from.column < to.column { (from.right(), to.x) } else { (from.x, to.right()) };
    let half = (x2 - x1) / 2.0;
    format!("M{x1:.1} {y1:.1}C{:.1} {y1:.1} {:.1} {y2:.1} {x2:.1} {y2:.1}", x1 + half, x2 - half)
}

/// Returns, for each box and each line, the boxes that highlight it.
fn related_nodes(map: &Diagram) -> (Vec<BTreeSet<usize>>, Vec<BTreeSet<usize>>) {
    let mut of_nodes = vec![BTreeSet::new(); map.nodes.len()];
    let mut of_lines = vec![BTreeSet::new(); map.lines.len()];
    // Lines by their start and end boxes.
    let mut leaving = vec![Vec::new(); map.nodes.len()];
    let mut reaching = vec![Vec::new(); map.nodes.len()];
    for (place, &(from, to)) in map.lines.keys().enumerate() {
        leaving[from].push((place, to));
        reaching[to].push((place, from));
    }
    for node in 0..map.nodes.len() {
        of_nodes[node].insert(node);
        for lines in [&leaving, &reaching] {
            let mut seen = BTreeSet::from([node]);
            let mut edge = vec![node];
            while let Some(at) = edge.pop() {
                for &(place, there) in &lines[at] {
                    of_lines[place].insert(node);
                    of_nodes[there].insert(node);
                    if map.highlights_paths && seen.insert(there) {
                        edge.push(there);
                    }
                }
            }
        }
    }
    (of_nodes, of_lines)
}

/// Returns the colors of a tone: of lines and borders, and of the inside.
pub(super) fn colors(tone: Tone, dark: bool) -> (&'static str, &'static str) {
    match (tone, dark) {
        (Tone::Plain, false) => ("#8a8f98", "#ffffff"),
        (Tone::ReadOnly, false) => ("#2f6fb5", "#eaf2fb"),
        (Tone::Mutating, false) => ("#a86700", "#fdf3e1"),
        (Tone::External, false) => ("#7a4fb0", "#f3edfa"),
        (Tone::Broken, false) => ("#c0322b", "#fdecea"),
        (Tone::Plain, true) => ("#8a8f98", "#1d2026"),
        (Tone::ReadOnly, true) => ("#6aa7e8", "#17263a"),
        (Tone::Mutating, true) => ("#e0a23c", "#33270f"),
        (Tone::External, true) => ("#b48be6", "#2a2038"),
        (Tone::Broken, true) => ("#f0736b", "#3a1a18"),
    }
}

/// Renders each diagram as one graph of Graphviz.
pub(crate) fn dot(maps: &[Diagram]) -> String {
    let mut text = String::new();
    for map in maps {
        text += &format!("digraph {} {{\n", quoted(&map.title));
        text += "  rankdir=LR; node [shape=box, style=\"rounded,filled\", fontname=monospace];\n";
        for (place, group) in map.columns.iter().flatten().enumerate() {
            text += &format!("  subgraph cluster_{place} {{ label={};\n", quoted(&group.title));
            for node in &group.nodes {
                let DiagramNode { name, detail, tone } = &map.nodes[*node];
                let (edge, inside) = colors(*tone, false);
                let (name, detail) = (quoted(name), quoted(detail));
                text += &format!(
                    "    n{node} [label={name}, tooltip={detail}, color=\"{edge}\", fillcolor=\"{inside}\"];\n"
                );
            }
            text += "  }\n";
        }
        for ((from, to), DiagramEdge { tone, dashed, detail }) in &map.lines {
            let style = if *dashed { ", style=dashed" } else { "" };
            let (edge, detail) = (colors(*tone, false).0, quoted(detail));
            text += &format!("  n{from} -> n{to} [color=\"{edge}\", tooltip={detail}{style}];\n");
        }
        text += "}\n";
    }
    text
}

/// Quotes a text as a DOT string. Escapes everything that could end it or that Graphviz would interpret.
fn quoted(text: &str) -> String {
    let lines: Vec<String> =
        text.split('\n').map(|line| plain(line).replace('\\', "\\\\").replace('"', "\\\"")).collect();
    format!("\"{}\"", lines.join("\\n"))
}
