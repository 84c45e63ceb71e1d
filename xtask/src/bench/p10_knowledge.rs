//! P10: time to search the knowledge graph, and to index 100 pages, through the gateway and the gates `kg`, `idea` and
//! `code`.
//!
//! Pages are variants of the sample wiki's pages. On PostgreSQL, too, also with a millisecond of network delay.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::p20_stores::places;
use super::report::{BenchReport, Bound, ReportRow};
use super::server::BenchServer;
use super::setup::Bench;
use super::stats::median;
use crate::servers::TestServer;

/// Pages of a graph, with the required and target search time in milliseconds.
const SIZES: [(usize, f64, f64); 3] = [(100, 3.0, 1.0), (1_000, 8.0, 3.0), (10_000, 15.0, 5.0)];

const INDEXINGS: usize = 10;

const TURNS: usize = 10;

pub(crate) fn run(bench: &Bench, report: &mut BenchReport) -> Result<()> {
    let questions = questions(&bench.root.join("tests/fixtures/queries/sample.jsonl"))?;
    let postgres = TestServer::postgres()?;
    for (place, url) in places(&postgres)? {
        measure(bench, report, &questions, (place, url))?;
    }
    Ok(())
}

/// Measures all sizes in one place: in files without an address of a server.
fn measure(
    bench: &Bench,
    report: &mut BenchReport,
    questions: &[String],
    (place, url): (&str, Option<String>),
) -> Result<()> {
    // Each size clears the graph of the one before.
    for (pages, reach, aim) in SIZES {
        let (reach, aim) = if url.is_none() { (reach, aim) } else { (10.0 * reach, 5.0 * aim) };
        let (gateway, wiki) = bench.knowledge(pages, place)?;
        write_wiki(&bench.root.join("docs/sample-wiki"), &wiki, pages)?;
        let mut server = bench.start_with(&gateway, url.as_deref().map(|url| ("DATABASE_URL", url)))?;
        let index = json!({"wiki_dir": wiki, "clear_existing": true, "confirm": "all"}).to_string();
        if pages == SIZES[0].0 {
            let times = (0..bench.rounds(INDEXINGS)).map(|_| call(&mut server, "kg_index", &index));
            let times = times.collect::<Result<Vec<_>>>()?;
            add(report, format!("index {pages} pages{}", suffix(place)), &times, 1_000.0, 300.0);
        } else {
            // Returns before all vectors exist; searches report how many pages are pending.
            call(&mut server, "kg_index", &index)?;
        }
        while is_incomplete(&mut server, &json!({"query": questions[0]}).to_string())? {}
        for (what, tool, filters) in ways() {
            let ask = |question: &String| {
                let mut arguments = filters.clone();
                arguments["query"] = Value::from(question.as_str());
                arguments.to_string()
            };
            let asks: Vec<String> = questions.iter().map(ask).collect();
            let mut times = Vec::new();
            for _ in 0..bench.rounds(TURNS) {
                for ask in &asks {
                    times.push(call(&mut server, tool, ask)?);
                }
            }
            add(report, format!("{what} over {pages} pages{}, p50", suffix(place)), &times, reach, aim);
        }
    }
    Ok(())
}

/// Returns what a row adds to its name outside of files.
fn suffix(place: &str) -> String {
    if place == "files" { String::new() } else { format!(", {place}") }
}

/// Returns the searches: label, tool and arguments. Filters let about half of the pages pass; narrow ones are always
/// quick.
fn ways() -> [(&'static str, &'static str, Value); 6] {
    let types = json!(["Principle", "Heuristic"]);
    let domains = json!(["Reliability", "Agents", "Retrieval", "Security"]);
    [
        ("search_knowledge", "search_knowledge", json!({})),
        ("search_knowledge with page_types", "search_knowledge", json!({"page_types": types})),
        ("search_knowledge with domains", "search_knowledge", json!({"domains": domains})),
        ("search_knowledge with both", "search_knowledge", json!({"page_types": types, "domains": domains})),
        ("wiki_idea_search", "wiki_idea_search", json!({})),
        ("wiki_code_search", "wiki_code_search", json!({})),
    ]
}

fn add(report: &mut BenchReport, what: String, times: &[f64], reach: f64, aim: f64) {
    let bounds = (Bound::AtMost(reach), Bound::AtMost(aim));
    report.add(ReportRow::value("P10", what, (median(times), "ms"), times.len(), bounds));
}

/// Returns the time of one call in milliseconds.
fn call(server: &mut BenchServer, tool: &str, arguments: &str) -> Result<f64> {
    Ok(timed(server, tool, arguments)?.0)
}

fn timed(server: &mut BenchServer, tool: &str, arguments: &str) -> Result<(f64, Value)> {
    let (time, reply) = server.timed_result(tool, arguments)?;
    if reply["isError"] == true {
        bail!("'{tool}' answered {reply}");
    }
    Ok((time, reply))
}

fn is_incomplete(server: &mut BenchServer, ask: &str) -> Result<bool> {
    let (_, reply) = timed(server, "search_knowledge", ask)?;
    if reply["structuredContent"]["found"].as_u64().is_none_or(|count| count == 0) {
        bail!("a search of the sample found nothing: {reply}");
    }
    Ok(!reply["structuredContent"]["note"].is_null())
}

fn questions(file: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let question = |line: &str| Some(serde_json::from_str::<Value>(line).ok()?["q"].as_str()?.to_owned());
    let questions: Vec<String> = text.lines().filter_map(question).collect();
    if questions.is_empty() { bail!("{} has no questions", file.display()) } else { Ok(questions) }
}

fn write_wiki(sample: &Path, wiki: &Path, pages: usize) -> Result<()> {
    let mut originals = Vec::new();
    for folder in fs::read_dir(sample).with_context(|| format!("cannot read {}", sample.display()))? {
        for file in fs::read_dir(folder?.path())? {
            originals.push(file?.path());
        }
    }
    originals.sort();
    for number in 0..pages {
        let (original, version) = (&originals[number % originals.len()], number / originals.len());
        let text = fs::read_to_string(original)?;
        let folder = original.parent().and_then(Path::file_name).context("page has no parent directory")?;
        let stem = original.file_stem().unwrap_or_default().to_string_lossy();
        fs::create_dir_all(wiki.join(folder))?;
        fs::write(wiki.join(folder).join(format!("{stem}_{version}.md")), varied(&text, version))?;
    }
    Ok(())
}

/// Returns a variant of a page. Version 0 is the page itself.
fn varied(text: &str, version: usize) -> String {
    if version == 0 {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 1_000);
    for (at, word) in text.split_inclusive(' ').enumerate() {
        let plain = word.trim().chars().all(char::is_alphabetic);
        if !(plain && (at * 7 + version * 13).is_multiple_of(11)) {
            out.push_str(word);
        }
        if plain && (at * 31 + version * 17) % 97 == 5 {
            out.push_str(&format!("variant{} ", (at + version) % 500));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::varied;

    #[test]
    fn versions_differ_and_are_the_same_every_time() {
        let text =
            "# Principle: X\n\n== Overview ==\n".to_owned() + &"some plain words of a page ".repeat(40);
        assert_eq!(varied(&text, 0), text);
        assert_eq!(varied(&text, 3), varied(&text, 3));
        assert_ne!(varied(&text, 3), varied(&text, 4));
        assert!(varied(&text, 3).contains("== Overview ==") && varied(&text, 3).contains("variant"));
    }
}
