//! How much of an answer an extract of a long document retains at several budgets, compared with simpler methods, and
//! whether the extractor reports that a question has no answer.
//!
//! The documents in `tests/quality/documents` were made for this: a page and a notebook from the text of this project's
//! guides, and invented tables. Others are found elsewhere; a missing one is reported as skipped.

mod set;
mod ways;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, anyhow};
use gatehouse_core::{
    page::MatchQuality,
    ports::{TextCompressor as _, TokenCounter as _, text::TokenEncoding},
};
use gatehouse_decode::decode;
use gatehouse_text::{BpeTokenCounter, Extractor};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use self::{
    set::Set,
    ways::{Passages, WAYS},
};
use crate::Results;

const BUDGETS: [usize; 5] = [500, 1_000, 2_000, 4_000, 8_000];

/// Documents by name, with their SHA-256, because the answers hold for one text only. An empty digest accepts any text.
const DOCUMENTS: [(&str, &str); 4] = [
    ("manual", ""),
    ("reference", "6a4fdbf85348ebc983d809b2301e95ccb5cf8c04ff40f9f6cfd4dfe8fb972e08"),
    ("source", "da85acff388ff352f4ddc2ce282c9b63c5581f25f3aa2ca9af6ee43811f9d864"),
    ("meeting", "5314ba1dbb03f471df88bec6cd120a938ef60d0fd3511c5c1dce61bf7463245f"),
];

/// Documents in `tests/quality/documents`.
const OWN_DOCUMENTS: [(&str, &str); 3] =
    [("html", "guide.html"), ("notebook", "workbook.ipynb"), ("table", "structures.md")];

/// Documents of different kinds, whose mean is reported.
const KINDS: [&str; 5] = ["manual", "source", "html", "notebook", "table"];

pub(crate) fn run(queries: &Path, places: &[(String, PathBuf)], results: &mut Results) -> Result<()> {
    let folder = queries.join("documents");
    let elsewhere = set::elsewhere(&folder.join("elsewhere.jsonl"))?;
    for (name, hash) in DOCUMENTS {
        let file = places.iter().find(|(place, _)| place == name).map(|(_, file)| file);
        let text = match file.map(|file| (file, fs::read(file))) {
            Some((_, Ok(bytes))) if hash.is_empty() || hex(&bytes) == hash => {
                // The answers have LF line endings.
                String::from_utf8(bytes)?.replace("\r\n", "\n")
            }
            Some((file, Ok(_))) => {
                results.skipped.push(format!("documents, {name}: {} is a different version", file.display()));
                continue;
            }
            _ => {
                results.skipped.push(format!("documents, {name}: not found"));
                continue;
            }
        };
        measure(name, &text, &folder, &elsewhere, results)?;
    }
    Ok(())
}

/// Measures the documents of this crate, then the means of all kinds measured so far.
pub(crate) fn run_own(queries: &Path, results: &mut Results) -> Result<()> {
    let folder = queries.join("documents");
    let elsewhere = set::elsewhere(&folder.join("elsewhere.jsonl"))?;
    for (name, file) in OWN_DOCUMENTS {
        measure(name, &own_document(file)?, &folder, &elsewhere, results)?;
    }
    results.documents.extend(means(&results.documents));
    Ok(())
}

fn measure(name: &str, text: &str, folder: &Path, elsewhere: &[String], results: &mut Results) -> Result<()> {
    let set = Set::read(&folder.join(format!("{name}.jsonl")), text)?;
    results.documents.extend(kept(name, text, &set)?);
    results.fits.push(fits(name, text, &set, elsewhere)?);
    Ok(())
}

/// Returns a document of this crate as it is indexed.
fn own_document(file: &str) -> Result<String> {
    let bytes = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("documents").join(file))?;
    if file.ends_with(".md") || file.ends_with(".rst") || file.ends_with(".txt") {
        return Ok(decode(&bytes).map_err(|reason| anyhow!("{file} {reason}"))?.text);
    }
    let converted = gate_converter::gate().convert(&bytes, file, "");
    converted.map(|converted| converted.text).map_err(|fault| anyhow!("{file} {}", fault.message))
}

/// Returns the mean over documents of different kinds, for each method and each fixed budget.
fn means(rows: &[Value]) -> Vec<Value> {
    let mut means = Vec::new();
    for budget in BUDGETS {
        for (way, _) in WAYS {
            let of = |row: &&Value| {
                KINDS.iter().any(|kind| row["document"] == *kind)
                    && row["way"] == way
                    && row["budget"] == budget
            };
            let rows: Vec<&Value> = rows.iter().filter(of).collect();
            let mean = |name: &str| {
                rows.iter().filter_map(|row| row[name].as_f64()).sum::<f64>() / rows.len().max(1) as f64
            };
            let questions: u64 = rows.iter().filter_map(|row| row["questions"].as_u64()).sum();
            means.push(json!({
                "document": format!("mean of {} kinds", rows.len()), "way": way, "budget": budget, "questions": questions,
                "kept": mean("kept"), "kept_tuned_on": mean("kept_tuned_on"), "kept_held_out": mean("kept_held_out"),
            }));
        }
    }
    means
}

/// Returns the share of the answers that each method retains per budget: over all questions, the tuned half and the
/// held-out half.
fn kept(name: &str, text: &str, set: &Set) -> Result<Vec<Value>> {
    let passages = Passages::of(text);
    let mut rows = Vec::new();
    let third = BpeTokenCounter.count(text, TokenEncoding::O200k) / 3;
    for budget in BUDGETS.into_iter().chain([third]) {
        for (way, shorten) in WAYS {
            let mut shares = Vec::new();
            for question in &set.questions {
                let short = shorten(&passages, &question.q, budget).with_context(|| question.q.clone())?;
                shares.push(question.kept(&short));
            }
            let mean = |skip: usize, step: usize| {
                let picked: Vec<f64> = shares.iter().copied().skip(skip).step_by(step).collect();
                picked.iter().sum::<f64>() / picked.len().max(1) as f64
            };
            rows.push(json!({
                "document": name, "way": way, "budget": budget, "questions": shares.len(),
                "kept": mean(0, 1), "kept_tuned_on": mean(0, 2), "kept_held_out": mean(1, 2),
            }));
        }
    }
    Ok(rows)
}

/// Counts the questions reported as unanswerable, among unrelated ones and among the document's own.
fn fits(name: &str, text: &str, set: &Set, elsewhere: &[String]) -> Result<Value> {
    let nothing = |question: &str| -> Result<bool> {
        let extract = Extractor.extract(text, question, 2_000).map_err(|fault| anyhow!("{fault}"))?;
        Ok(extract.fit == Some(MatchQuality::Nothing))
    };
    let count = |questions: &[&str]| -> Result<usize> {
        questions.iter().try_fold(0, |sum, question| Ok(sum + usize::from(nothing(question)?)))
    };
    let own: Vec<&str> = set.questions.iter().map(|question| question.q.as_str()).collect();
    let elsewhere: Vec<&str> = elsewhere.iter().map(String::as_str).collect();
    Ok(json!({
        "document": name,
        "elsewhere": elsewhere.len(),
        "elsewhere_nothing": count(&elsewhere)?,
        "own": set.questions.len(),
        "own_nothing": count(&own)?,
    }))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_of_the_gold_of_each_kind_is_kept() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/queries/documents");
        for (budget, least) in [(1_000, 0.65), (8_000, 0.87)] {
            let mut kept = Vec::new();
            for (name, file) in OWN_DOCUMENTS {
                let text = own_document(file).unwrap();
                let set = Set::read(&folder.join(format!("{name}.jsonl")), &text).unwrap();
                assert!(set.questions.len() >= 20);
                let share = |question: &set::Question| {
                    let extract = Extractor.extract(&text, &question.q, budget).unwrap();
                    assert!(extract.tokens_out <= budget);
                    question.kept(&extract.text)
                };
                kept.push(set.questions.iter().map(share).sum::<f64>() / set.questions.len() as f64);
            }
            let mean = kept.iter().sum::<f64>() / kept.len() as f64;
            assert!(mean >= least, "{mean} at {budget} tokens: {kept:?}");
        }
    }

    #[test]
    fn own_documents_contain_their_answers() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/queries/documents");
        for (name, file) in OWN_DOCUMENTS {
            let text = own_document(file).unwrap();
            Set::read(&folder.join(format!("{name}.jsonl")), &text).unwrap();
        }
    }

    #[test]
    fn a_document_that_is_not_there_or_another_one_is_listed_as_skipped() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut results = Results::default();
        let places = [("source".to_owned(), root.join("Cargo.toml"))];
        run(&root.join("tests/fixtures/queries"), &places, &mut results).unwrap();
        assert_eq!(results.skipped.len(), 4);
        assert!(results.skipped[2].contains("is a different version"), "{:?}", results.skipped);
    }
}
