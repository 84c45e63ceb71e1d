//! The tools that the caller of this gate has: find them, call them. Needs the grant `catalog`.

#[cfg(target_family = "wasm")]
use crate::bindings::gatehouse::gate::catalog as host;
#[cfg(not(target_family = "wasm"))]
use crate::testing::catalog as host;

pub use crate::bindings::gatehouse::gate::catalog::{Entry, ToolRequest};
use crate::{Fault, Reply};

/// Every tool that the caller has, sorted by name.
pub fn tools() -> Result<Vec<Entry>, Fault> {
    host::tools()
}

/// The JSON Schema of a tool's arguments, as text.
pub fn schema(tool: &str) -> Result<String, Fault> {
    host::schema(tool)
}

/// Calls a tool for the caller. `arguments` is a JSON object. A tool may call no tool with a stronger
/// effect than its own, and calls nest at most four deep.
pub fn call(tool: &str, arguments: &str) -> Result<Reply, Fault> {
    host::call(tool, arguments)
}

/// The same for several calls, which run at the same time; the outcomes are in the order of the calls.
pub fn call_many(calls: &[ToolRequest]) -> Vec<Result<Reply, Fault>> {
    host::call_many(calls)
}
