//! Tests of the gate, with a fake model.

mod clean;
mod describe;
mod failures;
mod hostile;
mod lists;
mod sources;
mod study;

use gatehouse_sdk::{
    Fault, Reply, conformance,
    models::{Completion, TokenUse, WebSource},
    testing::Fake,
};
use serde_json::{Value, json};

fn answer(text: impl Into<String>, pages: &[&str]) -> Completion {
    let source = |url: &&str| WebSource { url: (*url).to_owned(), title: None };
    Completion {
        sources: pages.iter().map(source).collect(),
        tokens: Some(TokenUse { input: 1_200, output: 340 }),
        ..Completion::new("test/model-1", text)
    }
}

fn host(answer: Completion) -> Fake {
    Fake::new().complete(move |_, _| Ok(answer.clone()))
}

#[track_caller]
fn call(host: Fake, tool: &str, arguments: Value) -> Result<Reply, Fault> {
    host.run(|| conformance::call(&crate::gate(), tool, &arguments, "{}"))
}

#[track_caller]
fn ideas(items: Value, pages: &[&str]) -> Reply {
    let text = json!({"items": items}).to_string();
    call(host(answer(text, pages)), "research_idea", json!({"query": "q"})).unwrap()
}

#[track_caller]
fn data(tool: &str, reply: &Reply) -> Value {
    conformance::structured(&crate::gate(), tool, reply)
}
