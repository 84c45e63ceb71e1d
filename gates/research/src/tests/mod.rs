//! What the gate promises.

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
    testing::{self, Fake},
};
use serde_json::{Value, json};

/// An answer of a model that read these pages.
fn answer(text: impl Into<String>, pages: &[&str]) -> Completion {
    let source = |url: &&str| WebSource { url: (*url).to_owned(), title: None };
    Completion {
        sources: pages.iter().map(source).collect(),
        tokens: Some(TokenUse { input: 1_200, output: 340 }),
        ..Completion::new("test/model-1", text)
    }
}

/// A host whose model answers so.
fn host(answer: Completion) -> Fake {
    Fake::new().complete(move |_, _| Ok(answer.clone()))
}

/// Calls a tool with default parameters, after checking that the host would let the arguments through.
#[track_caller]
fn call(host: Fake, tool: &str, arguments: Value) -> Result<Reply, Fault> {
    let arguments = arguments.to_string();
    assert!(conformance::accepts(&crate::gate(), tool, &arguments), "the schema refuses {arguments}");
    host.run(|| testing::call(&crate::gate(), tool, &arguments, "{}"))
}

/// What `research_idea` says to an answer of these items.
#[track_caller]
fn ideas(items: Value, pages: &[&str]) -> Reply {
    let text = json!({"items": items}).to_string();
    call(host(answer(text, pages)), "research_idea", json!({"query": "q"})).unwrap()
}

/// The reply's data, which matches the declared schema.
#[track_caller]
fn data(tool: &str, reply: &Reply) -> Value {
    conformance::structured(&crate::gate(), tool, reply)
}
