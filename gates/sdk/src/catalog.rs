//! The tools that this gate's caller can use. Needs the grant `catalog`.

pub use crate::bindings::gatehouse::gate::catalog::{Entry, ToolRequest};
use crate::{Fault, Reply};

host_functions! {
    catalog:

    /// Returns every tool of the caller, sorted by name.
    fn tools() -> Vec<Entry>;

    /// Returns the JSON Schema of a tool's arguments, as text.
    fn schema(tool: &str) -> String;

    /// Returns the JSON Schema of structured replies, if the tool declares one.
    fn output_schema(tool: &str) -> Option<String>;

    /// Calls a tool on behalf of the caller. `arguments` is a JSON object. A tool cannot call a tool with a stronger
    /// effect than its own. Calls nest at most four deep.
    fn call(tool: &str, arguments: &str) -> Reply;

    /// Like [`call`], with an additional timeout.
    fn call_within(tool: &str, arguments: &str, timeout_ms: u64) -> Reply;
}

/// Runs several calls concurrently and returns the results in the same order.
pub fn call_many(calls: &[ToolRequest]) -> Vec<Result<Reply, Fault>> {
    #[cfg(target_family = "wasm")]
    return crate::bindings::gatehouse::gate::catalog::call_many(calls);
    #[cfg(not(target_family = "wasm"))]
    calls.iter().map(|request| call(&request.tool, &request.arguments)).collect()
}
