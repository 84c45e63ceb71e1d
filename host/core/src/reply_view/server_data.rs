//! Structured content of servers, which many clients do not read.
//!
//! A gate repeats its data as text. Servers often do not: the text is "Found 5 users.", and the users are only in the
//! structured content.

use serde_json::{Map, Value};

use super::{is_same_json, repeats, sdk_wrapper::SdkWrapper};
use crate::{Reply, ToolSpec, outcome::ContentPart};

/// `_meta` key of a reply with structured content from a server. Clients do not get it.
const SERVER_DATA_KEY: &str = "gatehouse/server-data";

/// Keyword in output schemas by which FastMCP says that it wrapped a value in `{"result": …}`.
const WRAPPED_KEYWORD: &str = "x-fastmcp-wrap-result";

/// Marks the structured content of a reply as that of a server: `declared`, or `wrapped` by the server's library.
pub fn mark_server_data(reply: &mut Reply, tool: &ToolSpec) {
    if reply.structured.is_none() || reply.is_error {
        return;
    }
    let schema = tool.output_schema.as_ref();
    let wrapped = schema.and_then(|schema| schema.get(WRAPPED_KEYWORD)) == Some(&Value::Bool(true));
    let kind = if wrapped { "wrapped" } else { "declared" };
    reply.meta.get_or_insert_with(Map::new).insert(SERVER_DATA_KEY.to_owned(), kind.into());
}

/// Whether a reply has structured content from a server.
pub(crate) fn has_server_data(reply: &Reply) -> bool {
    reply.structured.is_some() && reply.meta.as_ref().is_some_and(|meta| meta.contains_key(SERVER_DATA_KEY))
}

/// Returns the structured content of a server as JSON, if the text does not repeat it. A client that does not read
/// structured content needs it as text.
pub fn data_apart(reply: &Reply) -> Option<String> {
    let json = reply.structured.as_ref().filter(|_| has_server_data(reply))?.to_string();
    let texts: Vec<&str> = reply.content.iter().filter_map(ContentPart::as_text).collect();
    (!text_repeats(&texts.join("\n\n"), &texts, &json)).then_some(json)
}

/// Whether a text says everything that the structured content says.
fn text_repeats(text: &str, blocks: &[&str], structured: &str) -> bool {
    SdkWrapper::find(text, blocks, structured).is_some()
        || is_same_json(text, structured)
        || repeats::says_all(text, structured)
}
