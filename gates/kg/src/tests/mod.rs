//! Tests of the gate, one file per tool.

mod describe;
mod edit;
mod index;
mod page;
mod page_structure;
mod search;

use gatehouse_sdk::{Fault, Reply, conformance};
use serde_json::Value;

#[track_caller]
fn call(tool: &str, arguments: Value) -> Result<Reply, Fault> {
    conformance::call(&crate::gate(), tool, &arguments, "{}")
}

#[track_caller]
fn data(tool: &str, reply: &Reply) -> Value {
    conformance::structured(&crate::gate(), tool, reply)
}

fn refuses(tool: &str, arguments: Value) -> bool {
    !conformance::accepts(&crate::gate(), tool, &arguments.to_string())
}
