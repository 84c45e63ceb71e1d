//! Lists of a server: tools, resources and prompts, within a size limit for all of them. A tool that cannot be parsed or
//! called is left out with the reason, without affecting the others.

use std::{
    convert::identity,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use gatehouse_core::{
    names::quoted,
    prompt::MAX_PROMPTS,
    resource::MAX_TEMPLATES,
    source::{Listing, OmittedItems},
};
use rmcp::model::{
    ClientRequest, CustomResult, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest,
    ListSkillsRequest, ListToolsRequest, PaginatedRequestParams, ServerCapabilities, ServerResult, Tool,
};
use serde_json::Value;

use super::{CallFailure, ServerSession, unexpected_response};
use crate::{
    downstream::{
        convert,
        inbound::{MessageMemory, is_task_only},
    },
    skills,
};

/// Maximum pages of a list, and maximum tools in all of them.
const MAX_PAGES: usize = 64;
const MAX_READ_TOOLS: usize = 4_096;

const MAX_LISTING_BYTES: usize = 4 << 20;
const MAX_LISTING_VALUES: usize = 200_000;

/// Time limit for listing resources and prompts, so that they do not delay the tools.
const MAX_LIST_WAIT: Duration = Duration::from_secs(5);

const MAX_REMEMBERED_RESOURCES: usize = 1_000;

const MAX_SKILLS: usize = 1_000;

/// Maximum templates of a listing, which leaves room for the one of the whole URI family.
const MAX_LISTED_TEMPLATES: usize = MAX_TEMPLATES - 1;

/// Requests all pages of a list, and takes its items.
macro_rules! all_pages {
    ($session:expr, $method:literal, $budget:expr, $max:expr, $Request:ident, $Result:ident.$items:ident) => {
        $session.pages(
            $method,
            $budget,
            $max,
            |page| $Request { params: page, ..Default::default() }.into(),
            |result| match result {
                ServerResult::$Result(page) => Some((page.$items, page.next_cursor)),
                _ => None,
            },
        )
    };
}

/// Size of all pages so far, which stay in memory until the last one arrives.
#[derive(Default)]
pub(super) struct ListingBudget {
    bytes: AtomicUsize,
    values: AtomicUsize,
}

impl ListingBudget {
    /// Counts a page. Fails if the listing is too large with it.
    pub(super) fn take(&self, method: &str, page: &MessageMemory) -> Result<(), CallFailure> {
        let bytes = self.bytes.fetch_add(page.bytes, Ordering::Relaxed) + page.bytes;
        let values = self.values.fetch_add(page.size.values, Ordering::Relaxed) + page.size.values;
        for (sum, what, max) in [(bytes, "bytes", MAX_LISTING_BYTES), (values, "values", MAX_LISTING_VALUES)]
        {
            if sum > max {
                let why = format!("its listing has {sum} {what} with {method}; the limit is {max}");
                return Err(CallFailure::Unreadable(why));
            }
        }
        Ok(())
    }
}

impl ServerSession {
    async fn pages<T>(
        &self,
        method: &str,
        budget: &ListingBudget,
        max: usize,
        ask: impl Fn(Option<PaginatedRequestParams>) -> ClientRequest,
        take: impl Fn(ServerResult) -> Option<(Vec<T>, Option<String>)>,
    ) -> Result<Vec<T>, CallFailure> {
        let (mut all, mut cursor) = (Vec::new(), None);
        for _ in 0..MAX_PAGES {
            let page =
                cursor.take().map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
            let (result, memory) = self.measured_request(ask(page), None).await?;
            budget.take(method, &memory)?;
            let (items, next) = take(result).ok_or_else(|| unexpected_response(method))?;
            all.extend(items);
            cursor = next;
            if cursor.is_none() || all.len() >= max {
                all.truncate(max);
                return Ok(all);
            }
        }
        Err(CallFailure::Transport(format!("its answer to {method} has no end after {MAX_PAGES} pages")))
    }

    pub(super) async fn tools(
        &self,
        budget: &ListingBudget,
    ) -> Result<(Vec<Tool>, OmittedItems), CallFailure> {
        let ask = |page| ListToolsRequest { params: page, ..Default::default() }.into();
        let take = |answer| match answer {
            ServerResult::ListToolsResult(page) => {
                Some((page.tools.into_iter().map(Ok).collect(), page.next_cursor))
            }
            // rmcp fails to parse a page if one of its tools is invalid.
            ServerResult::CustomResult(CustomResult(page)) => parse_tools(page),
            _ => None,
        };
        let listed = self.pages("tools/list", budget, MAX_READ_TOOLS + 1, ask, take).await?;
        let mut omitted = OmittedItems::default();
        if listed.len() > MAX_READ_TOOLS {
            omitted.add(1, format!("tools after number {MAX_READ_TOOLS} were not read"));
        }
        let tools = listed.into_iter().take(MAX_READ_TOOLS).filter_map(|tool| {
            tool.and_then(|tool| self.callable(tool)).map_err(|why| omitted.add(1, why)).ok()
        });
        Ok((tools.collect(), omitted))
    }

    /// Returns the tool, or why it cannot be called.
    fn callable(&self, tool: Tool) -> Result<Tool, String> {
        let is_task_only = is_task_only(tool.meta.as_ref().map(|meta| &meta.0));
        let has_tasks = || self.peer.peer_info().is_some_and(|info| info.capabilities.supports_tasks());
        if is_task_only && !(self.since_2026 && has_tasks()) {
            let name = quoted(&tool.name, 64);
            return Err(format!(
                "tool '{name}' runs only as a task (taskSupport: required), and this server does not have the tasks of \
                MCP 2026-07-28"
            ));
        }
        Ok(tool)
    }

    /// Adds to a listing. Lists that fail or take too long are logged and left out.
    pub(super) async fn add_resources_and_prompts(
        &self,
        has: &ServerCapabilities,
        budget: &ListingBudget,
        listing: &mut Listing,
    ) {
        let (resources, prompts) = (has.resources.is_some(), has.prompts.is_some());
        listing.completes = has.completions.is_some();
        let skills = resources && has.supports_skills();
        let server = &listing.name;
        let templates = all_pages!(
            self,
            "resources/templates/list",
            budget,
            MAX_LISTED_TEMPLATES,
            ListResourceTemplatesRequest,
            ListResourceTemplatesResult.resource_templates
        );
        let known = all_pages!(
            self,
            "resources/list",
            budget,
            MAX_REMEMBERED_RESOURCES,
            ListResourcesRequest,
            ListResourcesResult.resources
        );
        let listed_prompts = all_pages!(
            self,
            "prompts/list",
            budget,
            MAX_PROMPTS,
            ListPromptsRequest,
            ListPromptsResult.prompts
        );
        let listed_skills =
            all_pages!(self, "skills/list", budget, MAX_SKILLS, ListSkillsRequest, ListSkillsResult.skills);
        let all = async {
            tokio::join!(
                list_or_empty(resources, server, "resource templates", templates, convert::resource_template),
                list_or_empty(resources, server, "resources", known, convert::resource_link),
                list_or_empty(prompts, server, "prompts", listed_prompts, convert::prompt),
                list_or_empty(skills, server, "skills", listed_skills, identity),
            )
        };
        let Ok((templates, known, prompts, skills)) = tokio::time::timeout(MAX_LIST_WAIT, all).await else {
            tracing::warn!(
                "server '{server}' did not list its resources and prompts within {} s; leaving them out",
                MAX_LIST_WAIT.as_secs()
            );
            return;
        };
        listing.resources = resources;
        for skill in skills {
            match skills::from_mcp(&skill) {
                Ok(skill) => listing.skills.push(skill),
                Err(why) => listing.omitted.add(1, format!("skill '{}': {why}", quoted(skill.name(), 64))),
            }
        }
        (listing.templates, listing.known_resources, listing.prompts) = (templates, known, prompts);
    }
}

/// Returns a list, or an empty one if the server does not have it. A failure is logged.
async fn list_or_empty<T, U>(
    has_list: bool,
    server: &str,
    what: &str,
    list: impl Future<Output = Result<Vec<T>, CallFailure>>,
    convert: impl Fn(T) -> U,
) -> Vec<U> {
    if !has_list {
        return Vec::new();
    }
    let listed = list.await.unwrap_or_else(|failure| {
        tracing::warn!("leaving out the {what} of server '{server}': {failure:?}");
        Vec::new()
    });
    listed.into_iter().map(convert).collect()
}

type ToolResult = Result<Tool, String>;

/// Parses each tool of a page separately. `None` if the page has no list of tools.
fn parse_tools(mut page: Value) -> Option<(Vec<ToolResult>, Option<String>)> {
    let Value::Array(tools) = page.get_mut("tools")?.take() else { return None };
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
    fn an_invalid_tool_does_not_affect_the_others() {
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
