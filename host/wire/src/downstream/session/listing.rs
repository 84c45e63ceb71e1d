//! Lists of a server: tools, resources and prompts, within a size limit for all of them. A tool that cannot be parsed or
//! called is left out with the reason, without affecting the others.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use gatehouse_core::{
    names::quoted,
    prompt::MAX_PROMPTS,
    resource::MAX_TEMPLATES,
    source::{Listing, OmittedItems},
};
use rmcp::model::{SKILLS_EXTENSION_ID, TASKS_EXTENSION_ID, Tool};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{CallFailure, ServerSession, take};
use crate::{
    downstream::{convert, http::tool_headers, peer::MessageMemory},
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
        let values = self.values.fetch_add(page.values, Ordering::Relaxed) + page.values;
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

/// A list of a server, as its pages name it.
#[derive(Clone, Copy)]
struct ServerList {
    method: &'static str,
    key: &'static str,
    /// Maximum items. Others are not read.
    max: usize,
}

impl ServerSession {
    /// Requests all pages of a list, and returns its items.
    async fn pages(&self, list: ServerList, budget: &ListingBudget) -> Result<Vec<Value>, CallFailure> {
        let ServerList { method, key, max } = list;
        let (mut all, mut cursor) = (Vec::new(), None);
        for _ in 0..MAX_PAGES {
            let params = cursor.take().map_or_else(|| json!({}), |cursor: String| json!({"cursor": cursor}));
            let mut page = self.request(method, params).await?;
            budget.take(method, &page.memory)?;
            let (page, next) = items(method, key, &mut page.value)?;
            all.extend(page);
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
        let list = ServerList { method: "tools/list", key: "tools", max: MAX_READ_TOOLS + 1 };
        let listed = self.pages(list, budget).await?;
        let mut omitted = OmittedItems::default();
        if listed.len() > MAX_READ_TOOLS {
            omitted.add(1, format!("tools after number {MAX_READ_TOOLS} were not read"));
        }
        let tools = listed
            .into_iter()
            .take(MAX_READ_TOOLS)
            .filter_map(|tool| self.callable_tool(tool).map_err(|why| omitted.add(1, why)).ok());
        Ok((tools.collect(), omitted))
    }

    /// Returns the tool, or why it cannot be called.
    fn callable_tool(&self, tool: Value) -> Result<Tool, String> {
        let is_task_only =
            tool.pointer("/execution/taskSupport").is_some_and(|support| support == "required");
        let tool: Tool = read_item("tool", tool)?;
        let name = || quoted(&tool.name, 64);
        if is_task_only && !(self.info.is_since_2026() && self.info.has_extension(TASKS_EXTENSION_ID)) {
            return Err(format!(
                "tool '{}' runs only as a task (taskSupport: required), and this server does not have the tasks of MCP \
                2026-07-28",
                name()
            ));
        }
        if self.repeats_arguments() {
            tool_headers(&tool.input_schema).map_err(|why| format!("tool '{}': {why}", name()))?;
        }
        Ok(tool)
    }

    /// Adds to a listing. Lists that fail or take too long are logged and left out.
    pub(super) async fn add_resources_and_prompts(&self, budget: &ListingBudget, listing: &mut Listing) {
        let resources = self.info.has("resources");
        listing.completes = self.info.has("completions");
        let list = |method, key, max| ServerList { method, key, max };
        let templates = list("resources/templates/list", "resourceTemplates", MAX_LISTED_TEMPLATES);
        let known = list("resources/list", "resources", MAX_REMEMBERED_RESOURCES);
        let prompts = list("prompts/list", "prompts", MAX_PROMPTS);
        let skills = list("skills/list", "skills", MAX_SKILLS);
        let all = async {
            tokio::join!(
                self.list_or_empty(resources, templates, budget),
                self.list_or_empty(resources, known, budget),
                self.list_or_empty(self.info.has("prompts"), prompts, budget),
                self.list_or_empty(resources && self.info.has_extension(SKILLS_EXTENSION_ID), skills, budget),
            )
        };
        let Ok((templates, known, prompts, skills)) = tokio::time::timeout(MAX_LIST_WAIT, all).await else {
            tracing::warn!(
                "server '{}' did not list its resources and prompts within {} s; leaving them out",
                listing.name,
                MAX_LIST_WAIT.as_secs()
            );
            return;
        };
        listing.resources = resources;
        let omitted = &mut listing.omitted;
        for skill in read_items::<rmcp::model::Skill>("skill", skills, omitted) {
            match skills::from_mcp(&skill) {
                Ok(skill) => listing.skills.push(skill),
                Err(why) => omitted.add(1, format!("skill '{}': {why}", quoted(skill.name(), 64))),
            }
        }
        let templates = read_items("resource template", templates, omitted).into_iter();
        listing.templates = templates.map(convert::resource_template).collect();
        let known = read_items("resource", known, omitted).into_iter();
        listing.known_resources = known.map(convert::resource_link).collect();
        let prompts = read_items("prompt", prompts, omitted).into_iter();
        listing.prompts = prompts.map(convert::prompt).collect();
    }

    /// Returns a list, or an empty one if the server does not have it. A failure is logged.
    async fn list_or_empty(&self, has_list: bool, list: ServerList, budget: &ListingBudget) -> Vec<Value> {
        if !has_list {
            return Vec::new();
        }
        self.pages(list, budget).await.unwrap_or_else(|failure| {
            tracing::warn!("leaving out {} of {}: {failure:?}", list.method, self.peer.server);
            Vec::new()
        })
    }
}

/// Takes the items of a page, and returns them with the cursor of the next page.
pub(super) fn items(
    method: &str,
    key: &str,
    page: &mut Value,
) -> Result<(Vec<Value>, Option<String>), CallFailure> {
    let next = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
    match take(page, key) {
        Value::Array(items) => Ok((items, next)),
        _ => Err(CallFailure::Transport(format!("it answered {method} with an unexpected result"))),
    }
}

/// Reads an item of a list, or returns why it cannot be read.
fn read_item<T: DeserializeOwned>(kind: &str, item: Value) -> Result<T, String> {
    let name = quoted(item.get("name").and_then(Value::as_str).unwrap_or_default(), 64);
    serde_json::from_value(item)
        .map_err(|error| format!("{kind} '{name}': {}", quoted(&error.to_string(), 200)))
}

/// Reads each item of a list separately, so that an invalid one leaves out itself.
fn read_items<T: DeserializeOwned>(kind: &str, items: Vec<Value>, omitted: &mut OmittedItems) -> Vec<T> {
    let read = items.into_iter().map(|item| read_item(kind, item));
    read.filter_map(|item| item.map_err(|why| omitted.add(1, why)).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_item_does_not_affect_the_others() {
        let mut page = json!({"nextCursor": "2", "tools": [
            {"name": "bare"}, {"name": "well", "inputSchema": {"type": "object"}}, 5]});
        let (tools, next) = items("tools/list", "tools", &mut page).expect("a list");
        let mut omitted = OmittedItems::default();
        let names: Vec<_> =
            read_items::<Tool>("tool", tools, &mut omitted).into_iter().map(|tool| tool.name).collect();
        assert_eq!((next.as_deref(), names), (Some("2"), vec!["well".into()]));
        assert_eq!((omitted.count, &*omitted.reasons[0]), (2, "tool 'bare': missing field `inputSchema`"));
        for page in [json!({"tools": {}}), json!(5)] {
            assert!(items("tools/list", "tools", &mut page.clone()).is_err());
        }
    }
}
