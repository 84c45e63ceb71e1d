//! Time of extracts through the port that gates use: of a document of the target's length, of longer ones, and of
//! adversarial texts.

use std::{fmt::Write as _, fs, path::Path, time::Instant};

use anyhow::{Result, anyhow};
use gatehouse_core::ports::{TextCompressor, TokenCounter as _, text::TokenEncoding};
use gatehouse_text::{BpeTokenCounter, Extractor};
use serde_json::{Value, json};

/// Tokens of the target's document, and its budget.
const DOCUMENT: usize = 35_000;
const BUDGET: u32 = 8_000;

const GROWTH: [usize; 3] = [10_000, 100_000, 1_000_000];

const QUESTION: &str = "How does a circuit breaker decide that a server is down?";

/// Bytes of a text that is one line or one character.
const HOSTILE: usize = 5 << 20;

/// Measures over the Markdown files of a directory, concatenated and repeated up to the needed length.
pub(crate) fn run(folder: &Path) -> Result<Value> {
    let mut files: Vec<_> = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "md"));
    files.sort();
    let texts: Vec<String> = files.iter().map(fs::read_to_string).collect::<Result<_, _>>()?;
    let corpus = texts.concat();
    anyhow::ensure!(!corpus.is_empty(), "{} has no Markdown", folder.display());
    let document = long(&corpus, DOCUMENT);
    // The first extract unpacks the vocabulary and the model, once per process.
    timed(&document)?;
    let mut turns = (0..15).map(|_| timed(&document)).collect::<Result<Vec<f64>>>()?;
    turns.sort_by(f64::total_cmp);
    let growth = GROWTH.map(|tokens| Ok((tokens, timed(&long(&corpus, tokens))?)));
    let growth = growth.into_iter().collect::<Result<Vec<_>>>()?;
    let mut hostile = serde_json::Map::new();
    for (name, text) in hostile_texts() {
        hostile.insert(name.into(), json!({"bytes": text.len(), "ms": timed(&text)?}));
    }
    let growth: Vec<Value> = growth.iter().map(|(tokens, ms)| json!({"tokens": tokens, "ms": ms})).collect();
    Ok(json!({"p50_ms": turns[turns.len() / 2], "n": turns.len(), "growth": growth, "hostile": hostile}))
}

fn timed(text: &str) -> Result<f64> {
    let port: &dyn TextCompressor = &Extractor;
    let start = Instant::now();
    let extract = port.extract(text, QUESTION, BUDGET).map_err(|fault| anyhow!("{fault}"))?;
    let ms = start.elapsed().as_secs_f64() * 1e3;
    anyhow::ensure!(extract.tokens_out <= BUDGET, "{} tokens", extract.tokens_out);
    Ok(ms)
}

fn long(corpus: &str, tokens: usize) -> String {
    let once = BpeTokenCounter.count(corpus, TokenEncoding::O200k);
    let text = corpus.repeat(tokens / once + 1);
    BpeTokenCounter.token_prefix(&text, tokens, TokenEncoding::O200k).to_owned()
}

fn hostile_texts() -> Vec<(&'static str, String)> {
    let words = "some words that say little of what a server does when it is down. ";
    let many = |times: usize, line: &str| {
        (0..times).fold(String::new(), |mut text, i| {
            let _ = write!(text, "{}", line.replace('%', &i.to_string()));
            text
        })
    };
    vec![
        ("one line", words.repeat(HOSTILE / words.len())),
        ("headings", many(100_000, "## Heading %\n")),
        ("nested headings", many(20_000, "# A %\n## B\n### C\n#### D\n##### E\ntext\n")),
        ("fences", many(100_000, "```\nlet x = %;\n```\n")),
        ("spaces", " ".repeat(HOSTILE)),
        ("blank lines", "\n".repeat(HOSTILE)),
        ("emoji", "\u{1F600}".repeat(HOSTILE / 4)),
        ("no spaces", "a".repeat(HOSTILE)),
        ("marks", many(100_000, "[… lines 1-%: 9 tokens …]\n")),
    ]
}
