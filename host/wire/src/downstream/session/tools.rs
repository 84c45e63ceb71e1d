//! Tools that a server lists. A tool that cannot be parsed or called is logged and left out, without affecting the
//! others.

use gatehouse_core::names::quoted;
use rmcp::model::{CustomResult, ListToolsRequest, ServerResult, Tool};
use serde_json::Value;

use super::{CallFailure, ListingBudget, MAX_TOOLS, ServerSession};
use crate::downstream::server_text::is_task_only;

const MAX_LOGGED_TOOLS: usize = 8;

impl ServerSession {
    pub(super) async fn tools(&self, budget: &ListingBudget) -> Result<Vec<Tool>, CallFailure> {
        let ask = |page| ListToolsRequest { params: page, ..Default::default() }.into();
        let take = |answer| match answer {
            ServerResult::ListToolsResult(page) => {
                Some((page.tools.into_iter().map(Ok).collect(), page.next_cursor))
            }
            // rmcp fails to parse a page if one of its tools is invalid.
            ServerResult::CustomResult(CustomResult(page)) => parse_tools(page),
            _ => None,
        };
        let listed = self.pages("tools/list", budget, MAX_TOOLS, ask, take).await?;
        let (tools, refused): (Vec<_>, Vec<_>) =
            listed.into_iter().map(|tool| callable(tool?)).partition(Result::is_ok);
        for why in refused.into_iter().filter_map(Result::err).take(MAX_LOGGED_TOOLS) {
            tracing::warn!(source = %self.server, "leaving out an item of its listing: {why}");
        }
        Ok(tools.into_iter().flatten().collect())
    }
}

fn callable(tool: Tool) -> Result<Tool, String> {
    if is_task_only(tool.meta.as_ref().map(|meta| &meta.0)) {
        let name = quoted(&tool.name, 64);
        return Err(format!(
            "tool '{name}' runs only as a task (taskSupport: required), and tasks are not supported"
        ));
    }
    Ok(tool)
}

type ToolResult = Result<Tool, String>;

/// Parses each tool of a page separately. `None` if the page has no list of tools.
fn parse_tools(mut page: Value) -> Option<(Vec<ToolResult>, Option<String>)> {
    let tools = match page.get_mut("tools")?.take() {
        Value::Array(tools) => tools,
        _ => return None,
    };
    let read = |tool: Value| {
        let name = quoted(tool.get("name").and_then(Value::as_str).unwrap_or_default(), 64);
        serde_json::from_value(tool)
            .map_err(|error| format!("tool '{name}': {}", quoted(&error.to_string(), 200)))
    };
    let next = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
    Some((tools.into_iter().map(read).collect(), next))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_that_cannot_be_read_takes_no_other_with_it() {
        let page = json!({"tools": [{"name": "bare"}, {"name": "well", "inputSchema": {"type": "object"}}, 5],
            "nextCursor": "2"});
        let (tools, next) = parse_tools(page).expect("a list");
        let names: Vec<_> = tools.into_iter().map(|tool| tool.map(|tool| tool.name.into_owned())).collect();
        assert_eq!(next.as_deref(), Some("2"));
        assert_eq!(names[0], Err("tool 'bare': missing field `inputSchema`".into()));
        assert_eq!(names[1], Ok("well".into()));
        assert!(names[2].is_err());
        assert!(parse_tools(json!({"tools": {}})).is_none() && parse_tools(json!(5)).is_none());
    }
}
