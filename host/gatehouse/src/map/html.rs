//! Diagrams as a single HTML file without scripts or external resources, in light and dark.

use super::{
    Diagram, DiagramTable, Tone,
    layout::plain,
    svg::{colors, svg},
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
pub(super) fn escaped(text: &str) -> String {
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
