//! The roots of a client.

use gatehouse_core::Fault;
use rmcp::model::{InputRequest, InputRequests};
use serde_json::{Map, Value, json};

pub(super) const METHOD: &str = "roots/list";

/// Maximum roots to read. Callers only use a single root.
const MAX_ROOTS: usize = 2;

pub(super) fn requests() -> Result<InputRequests, Fault> {
    let request: InputRequest = serde_json::from_value(json!({"method": METHOD}))
        .map_err(|error| Fault::internal(format!("cannot ask the client for its roots: {error}")))?;
    let mut requests = InputRequests::new();
    requests.insert("roots".to_owned(), request);
    Ok(requests)
}

pub(super) fn parse_roots(answer: &Map<String, Value>) -> Vec<String> {
    let roots = answer.get("roots").and_then(Value::as_array).into_iter().flatten();
    roots.filter_map(|root| root.get("uri")?.as_str().map(str::to_owned)).take(MAX_ROOTS).collect()
}
