//! Time and reduction of digests of 1 MB results: JSON, a log and prose, through the port that gates use. JSON and log
//! are generated; the prose is the Markdown of a directory.

use std::{fmt::Write as _, fs, path::Path, time::Instant};

use anyhow::{Result, anyhow};
use gatehouse_core::ports::TextCompressor;
use gatehouse_text::Extractor;
use serde_json::{Value, json};

/// Bytes of a result, and maximum tokens of its digest, as in the gate.
const BYTES: usize = 1 << 20;
const BUDGET: u32 = 1_200;

const TURNS: usize = 15;

pub(crate) fn run(folder: &Path) -> Result<Value> {
    let kinds = [("JSON", rows()), ("log", log()), ("prose", prose(folder)?)];
    let measured = kinds.iter().map(|(name, text)| measure(name, text)).collect::<Result<Vec<_>>>()?;
    Ok(Value::Array(measured))
}

fn measure(name: &str, text: &str) -> Result<Value> {
    let port: &dyn TextCompressor = &Extractor;
    let digest = || port.digest(text, "", BUDGET).map_err(|fault| anyhow!("{fault}"));
    // The first digest unpacks the vocabulary, once per process.
    let result = digest()?;
    let mut turns = Vec::with_capacity(TURNS);
    for _ in 0..TURNS {
        let start = Instant::now();
        digest()?;
        turns.push(start.elapsed().as_secs_f64() * 1e3);
    }
    turns.sort_by(f64::total_cmp);
    let reduction = 1.0 - f64::from(result.tokens_out) / f64::from(result.tokens_in);
    Ok(json!({
        "name": name, "kind": result.kind, "bytes": text.len(), "p50_ms": turns[TURNS / 2], "n": TURNS,
        "tokens_in": result.tokens_in, "tokens_out": result.tokens_out, "reduction": reduction,
    }))
}

fn rows() -> String {
    let mut text = String::from("{\"items\":[");
    let mut n = 0_usize;
    while text.len() < BYTES {
        let state = ["active", "paused", "closed"][n % 7 % 3];
        let comma = if n > 0 { "," } else { "" };
        let _ = write!(
            text,
            "{comma}{{\"id\":{n},\"name\":\"worker-{}\",\"state\":\"{state}\",\"load\":{}.{},\"tags\":[\"a{}\",\"b\"]}}",
            n * 7919 % 10_007,
            n % 97,
            n % 10,
            n % 5
        );
        n += 1;
    }
    text + "]}"
}

fn log() -> String {
    let mut text = String::new();
    let mut n = 0_usize;
    while text.len() < BYTES {
        let (level, what) =
            if n % 211 == 3 { ("ERROR", "failed: connection reset") } else { ("INFO", "done") };
        let (hour, minute, second) = (n / 3_600 % 24, n / 60 % 60, n % 60);
        let _ = writeln!(
            text,
            "2026-03-04T{hour:02}:{minute:02}:{second:02}Z {level} worker-{} job {n} {what} in {}ms",
            n % 9,
            n * 37 % 907
        );
        n += 1;
    }
    text
}

fn prose(folder: &Path) -> Result<String> {
    let mut files: Vec<_> = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "md"));
    files.sort();
    let texts: Vec<String> = files.iter().map(fs::read_to_string).collect::<Result<_, _>>()?;
    let once = texts.concat();
    anyhow::ensure!(!once.is_empty(), "{} has no Markdown", folder.display());
    Ok(once.repeat(BYTES / once.len() + 1))
}
