//! Diagrams in Graphviz' DOT language (<https://graphviz.org/doc/info/lang.html>).

use std::fmt::{self, Write as _};

use super::{Diagram, DiagramEdge, DiagramNode, layout::plain, svg::colors};

/// Renders each diagram as one graph.
pub(crate) fn dot(maps: &[Diagram]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = maps.iter().try_for_each(|map| graph(&mut text, map));
    text
}

fn graph(text: &mut String, map: &Diagram) -> fmt::Result {
    writeln!(text, "digraph {} {{", quoted(&map.title))?;
    writeln!(text, "  rankdir=LR; node [shape=box, style=\"rounded,filled\", fontname=monospace];")?;
    for (place, group) in map.columns.iter().flatten().enumerate() {
        writeln!(text, "  subgraph cluster_{place} {{ label={};", quoted(&group.title))?;
        for node in &group.nodes {
            let DiagramNode { name, detail, tone } = &map.nodes[*node];
            let (edge, inside) = colors(*tone, false);
            let (name, detail) = (quoted(name), quoted(detail));
            writeln!(
                text,
                "    n{node} [label={name}, tooltip={detail}, color=\"{edge}\", fillcolor=\"{inside}\"];"
            )?;
        }
        writeln!(text, "  }}")?;
    }
    for DiagramEdge { from, to, tone, dashed, detail } in &map.lines {
        let style = if *dashed { ", style=dashed" } else { "" };
        let (edge, _) = colors(*tone, false);
        writeln!(text, "  n{from} -> n{to} [color=\"{edge}\", tooltip={}{style}];", quoted(detail))?;
    }
    writeln!(text, "}}")
}

/// Quotes a text as a DOT string. Escapes everything that could end it or that Graphviz would interpret.
fn quoted(text: &str) -> String {
    let lines: Vec<String> =
        text.split('\n').map(|line| plain(line).replace('\\', "\\\\").replace('"', "\\\"")).collect();
    format!("\"{}\"", lines.join("\\n"))
}
