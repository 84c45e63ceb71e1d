//! Tests of the gate, with a fake host.

mod describe;
mod failures;
mod file;
mod filter;
mod model;
mod pairs;
mod semantic;
mod stored;

use gatehouse_sdk::{
    Content, Fault, Origin, Reply, conformance,
    models::Completion,
    testing::{self, Fake},
    text::{CompactResult, DigestResult},
};
use serde_json::{Value, json};

/// 2026-11-23T00:00:00Z.
const NOW: u64 = 1_795_392_000_000;

/// Returns a host that stores results, with four bytes per token. Its digest has one finding and the query.
pub(crate) fn host() -> Fake {
    without_tools().exposes(["get_workspace_file", "semantic_search"])
}

fn without_tools() -> Fake {
    Fake::new()
        .now(NOW)
        .keeps([])
        .keeps_artifacts()
        .count(|text| Ok((text.len() / 4) as u32))
        .compact(|_| Ok(None))
        .digest(|text, query, budget| {
            let findings = vec![format!("The document has {} lines.", text.lines().count())];
            let digest = format!("- {}\nRows that match {query:?}: none.\n", findings[0]);
            let (tokens_in, tokens_out) = ((text.len() / 4) as u32, (digest.len() / 4) as u32);
            assert!(budget >= 64, "a budget of {budget}");
            Ok(DigestResult {
                text: digest,
                findings,
                kind: "log".into(),
                tokens_in,
                tokens_out,
                shortened: true,
            })
        })
}

fn lines(count: usize) -> String {
    (0..count).map(|n| format!("line {n:06} is fine\n")).collect()
}

fn filtered_with(origin: Origin, arguments: &Value, reply: Reply, params: &Value) -> Option<Reply> {
    testing::filter(&crate::gate(), origin, &arguments.to_string(), reply, &params.to_string()).unwrap()
}

fn filtered(text: &str) -> Option<Reply> {
    let arguments = json!({"query": "what is late"});
    filtered_with(testing::origin("look"), &arguments, Reply::markdown(text), &json!({}))
}

#[track_caller]
fn head(reply: &Reply) -> Value {
    let Content::Text(head) = &reply.content[0] else { panic!("no text: {reply:?}") };
    serde_json::from_str(head).unwrap_or_else(|e| panic!("{e}: {head}"))
}

#[track_caller]
fn call(tool: &str, arguments: Value) -> Result<(String, Value), Fault> {
    let reply = conformance::call(&crate::gate(), tool, &arguments, "{}")?;
    Ok((reply.text(), conformance::structured(&crate::gate(), tool, &reply)))
}

fn keep(text: &str) -> String {
    gatehouse_sdk::artifacts::put(&gatehouse_sdk::artifacts::Draft {
        text: text.into(),
        mime_type: "text/plain".into(),
        tool: Some("look".into()),
        source: Some("server".into()),
        summary: Some(format!("It has {} bytes of words.", text.len())),
        tags: vec!["mine".into()],
        ttl_ms: Some(1_000),
    })
    .unwrap()
    .id
}

fn completion(findings: &[&str], insights: &[&str]) -> Result<Completion, Fault> {
    let answer = json!({"keyFindings": findings, "actionableInsights": insights});
    Ok(Completion::new("test/model", answer.to_string()))
}
