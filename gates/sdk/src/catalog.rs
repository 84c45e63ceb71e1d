//! The tools that the caller of this gate has: find them, call them. Needs the grant `catalog`.

pub use crate::bindings::gatehouse::gate::catalog::{Entry, ToolRequest};
use crate::{Fault, Reply};

host_functions! {
    catalog:

    /// Every tool that the caller has, sorted by name.
    fn tools() -> Vec<Entry>;

    /// The JSON Schema of a tool's arguments, as text.
    fn schema(tool: &str) -> String;

    /// The JSON Schema of the data of a tool's replies, as text; none where it declares none.
    fn output_schema(tool: &str) -> Option<String>;

    /// Calls a tool for the caller. `arguments` is a JSON object. A tool may call no tool with a stronger
    /// effect than its own, and calls nest at most four deep.
    fn call(tool: &str, arguments: &str) -> Reply;

    /// [`call`] that may take so many milliseconds at most; never more than is left of the deadline.
    fn call_within(tool: &str, arguments: &str, timeout_ms: u64) -> Reply;
}

/// The same for several calls, which run at the same time; the outcomes are in the order of the calls.
pub fn call_many(calls: &[ToolRequest]) -> Vec<Result<Reply, Fault>> {
    #[cfg(target_family = "wasm")]
    return crate::bindings::gatehouse::gate::catalog::call_many(calls);
    #[cfg(not(target_family = "wasm"))]
    calls.iter().map(|request| call(&request.tool, &request.arguments)).collect()
}
