//! Tests of the gate, with a fake host.

mod describe;
mod grounding;
mod list;
mod model;
mod read;
mod retrieve;

use gatehouse_sdk::{
    Fault, Reply, conformance,
    documents::{Document, DocumentHit, Fit, Lines, Repository, SearchResult},
    testing::Fake,
    text::ExtractResult,
};
use serde_json::{Value, json};

#[track_caller]
fn call_with(host: Fake, tool: &str, arguments: Value, params: &str) -> Result<Reply, Fault> {
    host.run(|| conformance::call(&crate::gate(), tool, &arguments, params))
}

#[track_caller]
fn call(host: Fake, tool: &str, arguments: Value) -> Result<Reply, Fault> {
    call_with(host, tool, arguments, "{\"budget_tokens\":300}")
}

#[track_caller]
fn data(tool: &str, reply: &Reply) -> Value {
    conformance::structured(&crate::gate(), tool, reply)
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

fn repository(name: &str) -> Repository {
    Repository {
        id: format!("id-{name}"),
        name: name.into(),
        url: Some("https://example.org/manual.git".into()),
        commit: Some("0123456789abcdef0123456789abcdef01234567".into()),
        kind: Some("documentation".into()),
        file_count: 3,
        navigation_guide: Some("# Guide\n\nLook for calibration.\n".into()),
        created_at: Some("2026-11-22T20:00:00Z".into()),
        updated_at: None,
    }
}

fn hit(path: &str, fit: Fit) -> DocumentHit {
    DocumentHit { path: path.into(), score: 1.0, fit, tokens: 9, best: None }
}

fn found(hits: Vec<DocumentHit>) -> SearchResult {
    SearchResult { hits, unmatched_terms: vec![], note: None }
}

/// Returns a host with one document. A word is a token, and an extract is a prefix.
fn host(text: &str) -> Fake {
    let whole = text.to_owned();
    Fake::new()
        .exposes(["read_repository_file", "mfai_document_retrieval"])
        .repositories(|_| Ok(vec![repository("manual"), repository("other")]))
        .find(|_, _, _, _| Ok(found(vec![hit("docs/a.md", Fit::Good), hit("b.md", Fit::Weak)])))
        .open(move |repository, path, lines| {
            let all: Vec<&str> = whole.split_inclusive('\n').collect();
            let total = all.len() as u32;
            let (first, last) = lines.map_or((1, total), |lines| (lines.first, lines.last.min(total)));
            if first > total {
                return Err(Fault::invalid(format!("'{path}' has {total} lines")));
            }
            Ok(Document {
                repository: repository.to_lowercase(),
                path: path.into(),
                text: all[first as usize - 1..last as usize].concat(),
                lines: Lines { first, last },
                total_lines: total,
                total_tokens: words(&whole) as u32,
                made_from: Some("PDF, Page 4".to_owned()).filter(|_| first > 1),
            })
        })
        .extract(|text, _, budget| {
            let all = words(text);
            let kept = all.min(budget as usize * 97 / 100);
            let shortened = all > budget as usize;
            let text = if shortened {
                text.split_whitespace().take(kept).collect::<Vec<_>>().join(" ")
            } else {
                text.to_owned()
            };
            let out = if shortened { kept } else { all };
            Ok(ExtractResult { text, tokens_in: all as u32, tokens_out: out as u32, shortened, fit: None })
        })
        .count(|text| Ok(words(text) as u32))
        .serving(None, None, "local/test")
}

fn question() -> Value {
    json!({"query": "how to calibrate", "repository": "manual", "search_type": "semantic"})
}
