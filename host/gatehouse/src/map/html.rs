//! Diagrams as a single HTML file without scripts or external resources, in light and dark: inline SVG, with CSS rules
//! that highlight related boxes on hover. Also diagrams in Graphviz' DOT language
//! (<https://graphviz.org/doc/info/lang.html>).

use std::collections::BTreeSet;

use super::{
    Diagram, DiagramEdge, DiagramNode, DiagramTable, Tone,
    layout::{BOX, PAD, PlacedNode, layout, plain},
};

/// Content security policy that blocks scripts and requests, in case a name contains markup.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

const STYLE: &str = "\
body{margin:0 auto;padding:24px;max-width:1600px;background:var(--back);color:var(--text);\
font:14px/1.5 system-ui,sans-serif}\
h1{font-size:20px;margin:0}h2{font-size:17px;margin:32px 0 4px}p{margin:4px 0}.quiet{color:var(--quiet)}\
.picture{overflow-x:auto;border:1px solid var(--rule);border-radius:8px;margin-top:12px}\
svg{display:block}svg text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:var(--text)}\
svg .heading{font-weight:bold;fill:var(--quiet)}\
.node rect{stroke-width:1}.line{fill:none;stroke-width:1.3;opacity:.75}.broken{stroke-dasharray:5 4}\
.node:hover rect{stroke-width:2}\
ul.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 20px;margin:8px 0 0;padding:0}\
.legend i{display:inline-block;width:12px;height:12px;border:1px solid;border-radius:3px;margin-right:6px;\
vertical-align:-1px}\
details{margin-top:8px}summary{cursor:pointer}\
table{border-collapse:collapse;margin:6px 0 0}td,th{text-align:left;vertical-align:top;padding:2px 14px 2px 0;\
overflow-wrap:anywhere}th{color:var(--quiet);font-weight:normal}";

/// Renders a page with these diagrams. `about` describes their source, below the title.
pub(crate) fn html(title: &str, about: &str, maps: &[Diagram]) -> String {
    let (title, about) = (escaped(title), escaped(about));
    let (pictures, rules): (Vec<String>, String) =
        maps.iter().enumerate().map(|(place, map)| svg(map, &format!("m{place}"))).unzip();
    let diagrams: String = maps.iter().zip(&pictures).map(|(map, picture)| section(map, picture)).collect();
    let tones: String = Tone::ALL.into_iter().map(style).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
        <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
        <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>\n\
        :root{{color-scheme:light dark;--back:#fbfbfa;--text:#1b1d21;--quiet:#666c75;--rule:#dcdfe3}}\n\
        @media (prefers-color-scheme:dark){{:root{{--back:#121418;--text:#e6e8eb;--quiet:#9aa0a9;--rule:#2e3239}}}}\n\
        {tones}{STYLE}\n{rules}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<p class=\"quiet\">{about}</p>\n\
        {diagrams}</body>\n</html>\n"
    )
}

/// Returns the rules of a tone, in light and dark.
fn style(tone: Tone) -> String {
    let class = tone.class();
    let [light, dark] = [false, true].map(|dark| {
        let (edge, inside) = colors(tone, dark);
        format!(
            ".line.{class}{{stroke:{edge}}}.node.{class} rect,.legend .{class}{{stroke:{edge};fill:{inside};\
             border-color:{edge};background:{inside}}}"
        )
    });
    format!("{light}\n@media (prefers-color-scheme:dark){{{dark}}}\n")
}

fn section(map: &Diagram, picture: &str) -> String {
    let mut page = format!("<h2>{}</h2>\n<p>{}</p>\n", escaped(&map.title), escaped(&map.about));
    page.extend(map.notes.iter().map(|note| format!("<p>{}</p>\n", escaped(note))));
    page += "<ul class=\"legend\">\n";
    for (tone, words) in &map.legend {
        page += &format!("<li><i class=\"{}\"></i>{}</li>\n", tone.class(), escaped(words));
    }
    if map.lines.values().any(|line| line.dashed && line.tone != Tone::Broken) {
        page += "<li>dashed: through a gate, or disabled</li>\n";
    }
    page += "<li class=\"quiet\">Hover over a box to highlight related ones.</li></ul>\n";
    page += &format!("<div class=\"picture\">\n{picture}</div>\n");
    page.extend(map.tables.iter().map(table));
    page
}

fn table(table: &DiagramTable) -> String {
    let cell = |cell: &String| format!("<td>{}</td>", escaped(cell));
    let row = |row: &Vec<String>| format!("<tr>{}</tr>\n", row.iter().map(cell).collect::<String>());
    let header: String = table.header.iter().map(|cell| format!("<th>{}</th>", escaped(cell))).collect();
    let (title, rows) = (escaped(&table.title), table.rows.iter().map(row).collect::<String>());
    format!("<details><summary>{title}</summary>\n<table>\n<tr>\n{header}</tr>\n{rows}</table></details>\n")
}

/// Escapes a text for HTML, between tags and in quoted attributes.
fn escaped(text: &str) -> String {
    // Retain line breaks, because tooltips show them.
    let plain = text.split('\n').map(plain).collect::<Vec<_>>().join("\n");
    let mut safe = String::with_capacity(plain.len());
    for letter in plain.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

/// Renders a diagram. Returns the SVG, whose ids start with `prefix`, and the CSS rules.
fn svg(map: &Diagram, prefix: &str) -> (String, String) {
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
        |set: &BTreeSet<usize>| set.iter().map(|node| format!(" {prefix}h{node}")).collect::<String>();
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
    for (place, (node, placed_node)) in map.nodes.values().zip(&placed.boxes).enumerate() {
        let PlacedNode { x, y, width, label, .. } = placed_node;
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
fn colors(tone: Tone, dark: bool) -> (&'static str, &'static str) {
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
