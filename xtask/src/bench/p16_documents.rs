//! P16: time to index a directory of documents (`gatehouse docs add`) and to search it (`mfai_document_retrieval`),
//! with the built binary.
//!
//! Documents are generated Markdown, the same every time.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::report::{BenchReport, Bound, ReportRow};
use super::server::BenchServer;
use super::setup::Bench;
use super::stats::{median, micros};

/// Documents of a repository, and bytes per document.
const SIZES: [(usize, usize); 3] = [(100, 20_000), (1_000, 20_000), (10_000, 4_000)];

const QUESTIONS: usize = 20;
const TURNS: usize = 10;

const VECTORS_TIMEOUT: Duration = Duration::from_secs(600);

/// Words that distinguish documents; each document is about a few of them.
const SUBJECTS: [&str; 40] = [
    "adapter",
    "archive",
    "balance",
    "barometer",
    "cache",
    "calibration",
    "channel",
    "checkpoint",
    "cluster",
    "compiler",
    "cursor",
    "deadline",
    "decoder",
    "embedding",
    "encoder",
    "fallback",
    "gradient",
    "handshake",
    "ingestion",
    "journal",
    "kernel",
    "latency",
    "ledger",
    "manifest",
    "migration",
    "notebook",
    "optimizer",
    "partition",
    "pipeline",
    "quantization",
    "quota",
    "replica",
    "retention",
    "scheduler",
    "schema",
    "shard",
    "snapshot",
    "tokenizer",
    "transaction",
    "watermark",
];

const FILLER_WORDS: [&str; 32] = [
    "the", "a", "of", "and", "is", "that", "which", "with", "before", "after", "under", "each", "value",
    "system", "process", "result", "change", "option", "default", "limit", "setting", "reads", "writes",
    "keeps", "returns", "checks", "large", "small", "first", "last", "slow", "quick",
];

pub(crate) fn run(bench: &Bench, report: &mut BenchReport) -> Result<()> {
    for (documents, bytes) in SIZES {
        let (gateway, corpus) = bench.documents(documents)?;
        write_corpus(&corpus, documents, bytes)?;
        let begin = Instant::now();
        bench.run_gatehouse(&gateway, &["docs", "add", &corpus.to_string_lossy(), "--name", "bench"])?;
        let time = micros(begin.elapsed()) / 1e3;
        let size = documents * bytes / 1_000_000;
        // The target is for 1,000 files; scale it to the other sizes.
        let share = documents as f64 / 1_000.0;
        let measurement = format!("index {documents} documents, {size} MB");
        add(report, measurement, &[time], 20_000.0 * share, 5_000.0 * share);
        let mut server = bench.start(&gateway)?;
        for mode in ["text", "semantic"] {
            let asks: Vec<String> = (0..QUESTIONS).map(|number| ask(number, mode)).collect();
            wait(&mut server, &asks[0])?;
            let mut times = Vec::new();
            for _ in 0..bench.rounds(TURNS) {
                for ask in &asks {
                    times.push(call(&mut server, ask)?.0);
                }
            }
            add(report, format!("{mode} search of {documents} documents, p50"), &times, 25.0, 8.0);
        }
    }
    Ok(())
}

fn ask(number: usize, mode: &str) -> String {
    let subject = |step: usize| SUBJECTS[(number * 7 + step * 11) % SUBJECTS.len()];
    let query = format!("how the {} keeps its {} and {}", subject(0), subject(1), subject(2));
    json!({"repository": "bench", "query": query, "search_type": mode}).to_string()
}

fn wait(server: &mut BenchServer, ask: &str) -> Result<()> {
    let begin = Instant::now();
    loop {
        let content = call(server, ask)?.1;
        if content["notes"].as_array().is_none_or(Vec::is_empty) {
            return Ok(());
        }
        if begin.elapsed() > VECTORS_TIMEOUT {
            bail!("documents are still not ready: {}", content["notes"]);
        }
    }
}

fn call(server: &mut BenchServer, ask: &str) -> Result<(f64, Value)> {
    let (time, mut reply) = server.timed_result("mfai_document_retrieval", ask)?;
    let content = reply["structuredContent"].take();
    if reply["isError"] == true
        || content["sources"][0].as_str().is_none_or(|source| !source.starts_with("bench/"))
    {
        bail!("a search of the documents found nothing: {reply} {content}");
    }
    Ok((time, content))
}

fn add(report: &mut BenchReport, measurement: String, times: &[f64], reach: f64, aim: f64) {
    let bounds = (Bound::AtMost(reach), Bound::AtMost(aim));
    report.add(ReportRow::value("P16", measurement, (median(times), "ms"), times.len(), bounds));
}

fn write_corpus(folder: &Path, documents: usize, bytes: usize) -> Result<()> {
    for number in 0..documents {
        let folder = folder.join(format!("part{:02}", number % 50));
        fs::create_dir_all(&folder)?;
        let file = folder.join(format!("{}-{number:05}.md", SUBJECTS[number % SUBJECTS.len()]));
        fs::write(&file, document(number, bytes))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

fn document(number: usize, bytes: usize) -> String {
    // Constants of Knuth's MMIX generator, for the same sequence on every machine.
    let mut state = number as u64 + 1;
    let mut next = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let subjects: Vec<&str> = (0..4).map(|step| SUBJECTS[(number + step * 13) % SUBJECTS.len()]).collect();
    let mut text = format!("# The {} {number}\n\nWhat the {} does.\n", subjects[0], subjects[1]);
    while text.len() < bytes {
        text.push_str(&format!("\n## The {} and its {}\n\n", subjects[next(4)], FILLER_WORDS[12 + next(7)]));
        for _ in 0..6 {
            let words: Vec<&str> = (0..14)
                .map(
                    |_| if next(5) == 0 { subjects[next(4)] } else { FILLER_WORDS[next(FILLER_WORDS.len())] },
                )
                .collect();
            text.push_str(&words.join(" "));
            text.push_str(".\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::document;

    #[test]
    fn documents_differ_and_are_the_same_every_time() {
        assert_eq!(document(7, 4_000), document(7, 4_000));
        assert_ne!(document(7, 4_000), document(47, 4_000));
        assert!((4_000..5_000).contains(&document(7, 4_000).len()));
    }
}
