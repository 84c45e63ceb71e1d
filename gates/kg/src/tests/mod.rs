//! What the gate promises, a file per tool.

mod describe;
mod edit;
mod index;
mod page;
mod search;
mod structure;

use gatehouse_sdk::{Fault, Reply, conformance, testing};
use serde_json::Value;

/// Calls a tool with default parameters, after checking that the host would let the arguments through.
#[track_caller]
fn call(tool: &str, arguments: Value) -> Result<Reply, Fault> {
    let arguments = arguments.to_string();
    assert!(conformance::accepts(&crate::gate(), tool, &arguments), "the schema refuses {arguments}");
    testing::call(&crate::gate(), tool, &arguments, "{}")
}

/// The reply's data, which matches the declared schema.
#[track_caller]
fn data(tool: &str, reply: &Reply) -> Value {
    conformance::structured(&crate::gate(), tool, reply)
}

/// Whether the schema refuses these arguments.
fn refuses(tool: &str, arguments: Value) -> bool {
    !conformance::accepts(&crate::gate(), tool, &arguments.to_string())
}
