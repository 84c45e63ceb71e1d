//! The table and the chart of docs/performance.md, generated only from `docs/benchmarks.json`.
//!
//! `cargo xtask bench --json docs/benchmarks.json` writes the results and `cargo xtask bench --publish` the pages. A
//! test fails if a page was edited by hand.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

pub(crate) const RESULTS: &str = "docs/benchmarks.json";
const CHART: &str = "docs/benchmarks.svg";

const BEGIN: &str = "<!-- made by: cargo xtask bench --publish -->\n";
const END: &str = "<!-- end -->";

/// Rows of the chart: a measurement, the start of its name in the results, and its label.
const CHART_ROWS: &[(&str, &str, &str)] = &[
    ("P1", "echo, 1 gate, quiet, p50", "one echo call at a time over stdio, p50, all cores idle"),
    ("P1", "echo, 1 gate, busy, p50", "the same with busy cores"),
    ("P2", "echo, 16 in flight", "calls a second, 16 in flight"),
    ("P2", "echo, 64 in flight", "calls a second, 64 in flight"),
    ("P3", "start to complete tools/list, 6 gates, warm", "start to complete tools/list, 6 gates"),
    ("P3", "start to complete tools/list, 50 gates, warm", "the same, 50 gates"),
    ("P4", "resident, 6 gates called once", "resident with 6 gates, each called once"),
    ("P4", "growth over 50000 calls", "growth over 50,000 calls"),
    ("P5", "gate file saved to new tools served", "gate file saved to new tools served"),
    ("P6", "text of 1 MB, p50", "a text of 1 MB, p50"),
    ("P8", "a server's tool shown directly, added p50", "added time of a call of a server's tool, p50"),
    ("P8", "a server's tool through call_tool, added p50", "the same through `call_tool`"),
    ("P9", "search of 10000 tools, all, p50", "a search of 10,000 tools"),
    ("P10", "search_knowledge over 100 pages, p50", "a search of 100 wiki pages, p50"),
    ("P10", "search_knowledge over 10000 pages, p50", "the same of 10,000"),
    ("P11", "digest of 1 MB, log", "the digest of a log of 1 MB"),
    ("P12", "35,000 tokens to 8,000", "an extract of 35,000 tokens to 8,000"),
    ("P13", "tokens of tools/list", "tokens of the list of tools, through the proxy and directly"),
    ("P15", "net tokens of a task", "tokens of a task of 5 questions, the same way"),
    ("P14", "the binary", "the release binary"),
    ("P16", "index 1000 documents", "indexing 1,000 documents, 20 MB"),
    ("P16", "semantic search of 10000 documents", "a search of 10,000 documents by meaning"),
];

/// The results of one run, as [`super::report::BenchReport::json`] writes them.
#[derive(Deserialize)]
struct BenchResults {
    commit: String,
    quick: bool,
    noise: bool,
    cpu: String,
    cores: usize,
    kernel: String,
    problems: Vec<String>,
    results: Vec<ResultLine>,
}

#[derive(Deserialize)]
struct ResultLine {
    id: String,
    what: String,
    unit: String,
    gatehouse: f64,
    floor: f64,
    ratio: f64,
    n: usize,
    judged: String,
    reach: String,
    aim: String,
    verdict: String,
}

pub(crate) fn run(root: &Path) -> Result<()> {
    for (path, text) in render_pages(root)? {
        fs::write(root.join(&path), text).with_context(|| format!("cannot write {path}"))?;
        println!("{path}");
    }
    Ok(())
}

fn render_pages(root: &Path) -> Result<Vec<(String, String)>> {
    let text = fs::read_to_string(root.join(RESULTS)).with_context(|| format!("cannot read {RESULTS}"))?;
    let results: BenchResults = serde_json::from_str(&text).with_context(|| RESULTS)?;
    if results.quick || results.noise || !results.problems.is_empty() {
        bail!("{RESULTS} is from a `--quick` or `--noise` run, or has problems");
    }
    let short = CHART_ROWS.iter().map(|(id, what, label)| Ok((results.line(id, what)?, *label)));
    let short: Vec<_> = short.collect::<Result<_>>()?;
    let page = |path: &str, table: &str| -> Result<(String, String)> {
        let page = fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))?;
        Ok((path.to_owned(), replace_marked(&page, table).with_context(|| path.to_owned())?))
    };
    let full: Vec<_> = results.results.iter().map(|line| (line, line.what.as_str())).collect();
    Ok(vec![
        page("docs/performance.md", &(results.origin() + &table(&full)))?,
        (CHART.to_owned(), chart(&short)),
    ])
}

fn replace_marked(page: &str, lines: &str) -> Result<String> {
    let (before, rest) = page.split_once(BEGIN).context("missing start marker")?;
    let (_, after) = rest.split_once(END).context("missing end marker")?;
    Ok(format!("{before}{BEGIN}{lines}{END}{after}"))
}

impl BenchResults {
    fn line(&self, id: &str, what: &str) -> Result<&ResultLine> {
        let result_line = self.results.iter().find(|line| line.id == id && line.what.starts_with(what));
        result_line.with_context(|| format!("{RESULTS} has no {id} '{what}'"))
    }

    fn origin(&self) -> String {
        let kernel = self.kernel.split('-').next().unwrap_or_default();
        let commit = self.commit.get(..7).unwrap_or(&self.commit);
        format!("{} shared cores ({}), Linux {kernel}, commit {commit}:\n\n", self.cores, self.cpu)
    }
}

impl ResultLine {
    fn amount(&self, value: f64) -> String {
        let (value, unit) = match self.unit.as_str() {
            "ms" if value >= 999.95 => (value / 1_000.0, "s"),
            unit => (value, unit),
        };
        let number = if value >= 999.95 { thousands(value) } else { format!("{value:.1}") };
        if unit == "/s" { number } else { format!("{number} {unit}") }
    }

    /// Returns the native server's amount; empty if the row compares with nothing.
    fn floor(&self) -> String {
        if self.floor > 0.0 && self.unit != "%" { self.amount(self.floor) } else { String::new() }
    }

    fn ratio(&self) -> String {
        if self.judged == "ratio" { format!("{:.2} ×", self.ratio) } else { String::new() }
    }

    fn bound(&self, bound: &str) -> String {
        let (sign, number) = bound.split_once(' ').unwrap_or(("", bound));
        match (self.judged.as_str(), self.unit.as_str(), number.parse::<f64>()) {
            ("ratio", _, _) => format!("{bound} ×"),
            (_, "ms", Ok(ms)) if ms >= 1_000.0 => format!("{sign} {} s", ms / 1_000.0),
            (_, unit, _) => format!("{bound} {unit}"),
        }
    }

    fn missed(&self) -> &'static str {
        if self.verdict == "MISSED" { " (missed)" } else { "" }
    }

    /// Returns the used share of the bound; 1 is the bound itself.
    fn used(&self) -> f64 {
        let value = if self.judged == "ratio" { self.ratio } else { self.gatehouse };
        let limit = |bound: &str| bound[bound.find(' ').unwrap_or(0)..].trim().parse::<f64>().unwrap_or(1.0);
        match self.reach.starts_with('≥') {
            true => limit(&self.reach) / value,
            false => value / limit(&self.reach),
        }
    }
}

fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}

fn table(lines: &[(&ResultLine, &str)]) -> String {
    let mut table =
        "| # | measurement | Gatehouse | floor | ratio | required | target | n |\n|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    for (line, label) in lines {
        let (ours, floor, ratio) = (line.amount(line.gatehouse), line.floor(), line.ratio());
        let (reach, aim) = (line.bound(&line.reach) + line.missed(), line.bound(&line.aim));
        let _ = writeln!(
            table,
            "| {} | {label} | {ours} | {floor} | {ratio} | {reach} | {aim} | {} |",
            line.id, line.n
        );
    }
    table
}

/// Returns an SVG with a bar for each line: its used share of the bound. The colors suit light and dark pages.
fn chart(lines: &[(&ResultLine, &str)]) -> String {
    const ROW: usize = 22;
    const LEFT: f64 = 430.0;
    const FULL: f64 = 300.0;
    const MAX_BAR: f64 = 1.5;
    let height = lines.len() * ROW + 50;
    let mut chart = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 960 {height}\" font-family=\"sans-serif\" \
         font-size=\"13\" role=\"img\" aria-label=\"Used share of each required limit\">\n\
         <style>text{{fill:#333}}@media (prefers-color-scheme:dark){{text{{fill:#ccc}}}}</style>\n"
    );
    for (row, (line, label)) in lines.iter().enumerate() {
        let (y, used) = (row * ROW + 20, line.used().clamp(0.0, MAX_BAR));
        let colour = match line.verdict.as_str() {
            "aim" => "#2a9d5c",
            "reached" => "#3b82c4",
            _ => "#d1622b",
        };
        let label = label.replace('`', "");
        let bar_text = format!("{} (required {})", line.amount(line.gatehouse), line.bound(&line.reach));
        let _ = writeln!(
            chart,
            "<text x=\"{:.0}\" y=\"{}\" text-anchor=\"end\">{} {label}</text>\
             <rect x=\"{LEFT:.0}\" y=\"{}\" width=\"{:.1}\" height=\"14\" fill=\"{colour}\"/>\
             <text x=\"{:.1}\" y=\"{}\" font-size=\"11\">{bar_text}</text>",
            LEFT - 8.0,
            y + 11,
            line.id,
            y,
            used * FULL,
            LEFT + used.max(1.0) * FULL + 8.0,
            y + 11
        );
    }
    let (x, bottom) = (LEFT + FULL, height - 24);
    let _ = writeln!(
        chart,
        "<line x1=\"{x:.0}\" y1=\"10\" x2=\"{x:.0}\" y2=\"{bottom}\" stroke=\"#888\" stroke-dasharray=\"4 3\"/>\
         <text x=\"{LEFT:.0}\" y=\"{}\" font-size=\"11\">used share of the required limit (dashed line); \
         green: meets the target, blue: meets the requirement, orange: missed</text>\n</svg>",
        bottom + 16
    );
    chart
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_pages_say_is_what_was_measured() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository");
        for (path, text) in render_pages(root).expect("the results") {
            let stands = fs::read_to_string(root.join(&path)).expect("a page");
            assert!(stands == text, "{path} does not match {RESULTS}; run: cargo xtask bench --publish");
        }
    }

    #[test]
    fn amounts_are_rounded_and_have_thousands_separators() {
        let amounts = [1_234_567.0, 999.96, 1_000.0, 17.04].map(|value| {
            let line = r#"{"id":"","what":"","unit":"µs","gatehouse":0,"floor":0,"ratio":0,"n":1,"judged":"value","reach":"≤ 1","aim":"≤ 1","verdict":"aim"}"#;
            serde_json::from_str::<ResultLine>(line).expect("a line").amount(value)
        });
        assert_eq!(amounts, ["1,234,567 µs", "1,000 µs", "1,000 µs", "17.0 µs"]);
    }
}
