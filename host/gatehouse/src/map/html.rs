//! Diagrams as a single HTML file without scripts or external resources, in light and dark.

use std::fmt::{self, Write as _};

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
    let mut page = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut page, title, about, maps);
    page
}

fn write(page: &mut String, title: &str, about: &str, maps: &[Diagram]) -> fmt::Result {
    let drawn: Vec<(String, String)> =
        maps.iter().enumerate().map(|(place, map)| svg(map, &format!("m{place}"))).collect();
    let title = escaped(title);
    writeln!(page, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">")?;
    writeln!(page, "<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">")?;
    writeln!(
        page,
        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>"
    )?;
    writeln!(
        page,
        ":root{{color-scheme:light dark;--back:#fbfbfa;--text:#1b1d21;--quiet:#666c75;--rule:#dcdfe3}}"
    )?;
    writeln!(
        page,
        "@media (prefers-color-scheme:dark){{:root{{--back:#121418;--text:#e6e8eb;--quiet:#9aa0a9;--rule:#2e3239}}}}"
    )?;
    for tone in Tone::ALL {
        let class = tone.class();
        for dark in [false, true] {
            let (edge, inside) = colors(tone, dark);
            let rule = format!(
                ".line.{class}{{stroke:{edge}}}.node.{class} rect,.legend .{class}{{stroke:{edge};fill:{inside};\
                 border-color:{edge};background:{inside}}}"
            );
            match dark {
                false => writeln!(page, "{rule}")?,
                true => writeln!(page, "@media (prefers-color-scheme:dark){{{rule}}}")?,
            }
        }
    }
    writeln!(page, "{STYLE}")?;
    drawn.iter().try_for_each(|(_, rules)| page.write_str(rules))?;
    writeln!(page, "</style>\n</head>\n<body>\n<h1>{title}</h1>\n<p class=\"quiet\">{}</p>", escaped(about))?;
    for (map, (picture, _)) in maps.iter().zip(&drawn) {
        writeln!(page, "<h2>{}</h2>\n<p>{}</p>", escaped(&map.title), escaped(&map.about))?;
        map.notes.iter().try_for_each(|note| writeln!(page, "<p>{}</p>", escaped(note)))?;
        writeln!(page, "<ul class=\"legend\">")?;
        for (tone, words) in &map.legend {
            writeln!(page, "<li><i class=\"{}\"></i>{}</li>", tone.class(), escaped(words))?;
        }
        if map.lines.iter().any(|line| line.dashed && line.tone != Tone::Broken) {
            writeln!(page, "<li>dashed: through a gate, or disabled</li>")?;
        }
        writeln!(page, "<li class=\"quiet\">Hover over a box to highlight related ones.</li></ul>")?;
        writeln!(page, "<div class=\"picture\">\n{picture}</div>")?;
        map.tables.iter().try_for_each(|table| rows(page, table))?;
    }
    writeln!(page, "</body>\n</html>")
}

fn rows(page: &mut String, table: &DiagramTable) -> fmt::Result {
    writeln!(page, "<details><summary>{}</summary>\n<table>\n<tr>", escaped(&table.title))?;
    table.header.iter().try_for_each(|cell| write!(page, "<th>{}</th>", escaped(cell)))?;
    writeln!(page, "</tr>")?;
    for row in &table.rows {
        write!(page, "<tr>")?;
        row.iter().try_for_each(|cell| write!(page, "<td>{}</td>", escaped(cell)))?;
        writeln!(page, "</tr>")?;
    }
    writeln!(page, "</table></details>")
}

/// Escapes a text for HTML, between tags and in quoted attributes.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    // Retain line breaks, because tooltips show them.
    for (place, line) in text.split('\n').enumerate() {
        if place > 0 {
            safe.push('\n');
        }
        for letter in plain(line).chars() {
            match letter {
                '&' => safe.push_str("&amp;"),
                '<' => safe.push_str("&lt;"),
                '>' => safe.push_str("&gt;"),
                '"' => safe.push_str("&quot;"),
                '\'' => safe.push_str("&#39;"),
                other => safe.push(other),
            }
        }
    }
    safe
}
