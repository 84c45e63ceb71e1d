//! Lists of a server: tools, resources and prompts, within a size limit for all of them.
//!
//! No list affects another. A list that fails, or ends with an error, has what was read until then and counts as
//! incomplete. An item that cannot be parsed, or a tool that cannot be called, is left out with the reason.

mod page;

use std::{collections::HashSet, sync::Arc, time::Duration};

use gatehouse_core::{
    names::quoted,
    prompt::MAX_PROMPTS,
    resource::MAX_TEMPLATES,
    source::{Listing, MAX_KNOWN_RESOURCES, MAX_SKILLS, ServerList},
};
use rmcp::model::{ErrorCode, SKILLS_EXTENSION_ID, TASKS_EXTENSION_ID, Tool};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::{CallFailure, ServerSession};
use crate::{
    downstream::{connection::ConnectFailure, convert, http::tool_headers},
    skills,
};
pub(super) use page::{ListPage, read_page};
use page::{ListingBudget, read_item};

/// Maximum pages of a list, and maximum tools in all of them.
const MAX_PAGES: usize = 64;
const MAX_READ_TOOLS: usize = 4_096;

/// Time limit for each list but the tools, so that they do not delay them, and for a list that the server does not
/// declare.
const MAX_LIST_WAIT: Duration = Duration::from_secs(5);

/// Maximum templates of a listing, which leaves room for the one of the whole URI family.
const MAX_LISTED_TEMPLATES: usize = MAX_TEMPLATES - 1;

/// A list of a server, as its pages name it.
#[derive(Clone, Copy)]
struct ListRequest {
    list: ServerList,
    method: &'static str,
    key: &'static str,
    /// Maximum items. Others are not read.
    max: usize,
}

const TOOLS: ListRequest =
    ListRequest { list: ServerList::Tools, method: "tools/list", key: "tools", max: MAX_READ_TOOLS + 1 };
const PROMPTS: ListRequest =
    ListRequest { list: ServerList::Prompts, method: "prompts/list", key: "prompts", max: MAX_PROMPTS };
const RESOURCES: ListRequest = ListRequest {
    list: ServerList::Resources,
    method: "resources/list",
    key: "resources",
    max: MAX_KNOWN_RESOURCES,
};
const TEMPLATES: ListRequest = ListRequest {
    list: ServerList::Templates,
    method: "resources/templates/list",
    key: "resourceTemplates",
    max: MAX_LISTED_TEMPLATES,
};
const SKILLS: ListRequest =
    ListRequest { list: ServerList::Skills, method: "skills/list", key: "skills", max: MAX_SKILLS };

/// Items of a list, with the reason that there may be more.
#[derive(Default)]
struct ListItems {
    items: Vec<Value>,
    /// Shortest `ttlMs` of its pages.
    ttl_ms: Option<u64>,
    incomplete: Option<String>,
}

impl ServerSession {
    /// Lists everything. `limit` is for the tools.
    ///
    /// # Errors
    /// If the session has ended or a login is missing, or if the tools cannot be listed and nothing else is.
    pub(super) async fn read_lists(&self, limit: Duration) -> Result<Listing, CallFailure> {
        let budget = ListingBudget::default();
        let features = self.peer.context.declared;
        let mut listing = Listing { features, ..convert::listing(&self.info) };
        let declares_none = !["tools", "prompts", "resources"].iter().any(|list| self.info.has(list));
        let tools = if self.info.has("tools") {
            self.pages(TOOLS, limit, &budget).await
        } else if declares_none {
            // Some servers have tools and declare nothing. The others refuse the request.
            self.pages(TOOLS, MAX_LIST_WAIT, &budget).await.or_else(|failure| match failure {
                CallFailure::Refused { .. } | CallFailure::Transport(_) => Ok(ListItems::default()),
                failure => Err(failure),
            })
        } else {
            Ok(ListItems::default())
        };
        let failure = match tools {
            Ok(tools) => {
                self.add_tools(tools, &mut listing);
                None
            }
            Err(failure) if is_about_session(&failure) => return Err(failure),
            Err(failure) => {
                mark_incomplete(&mut listing, TOOLS, &in_words(failure.clone()));
                Some(failure)
            }
        };
        self.add_resources_and_prompts(&budget, &mut listing).await;
        let has_others = !listing.prompts.is_empty()
            || !listing.known_resources.is_empty()
            || !listing.templates.is_empty()
            || !listing.skills.is_empty();
        match failure.filter(|_| !has_others) {
            Some(failure) => Err(failure),
            None => Ok(listing),
        }
    }

    /// Requests all pages of a list.
    ///
    /// # Errors
    /// If there is no first page, the session has ended, or a login is missing.
    async fn pages(
        &self,
        list: ListRequest,
        limit: Duration,
        budget: &ListingBudget,
    ) -> Result<ListItems, CallFailure> {
        let deadline = Instant::now() + limit;
        let (mut items, mut cursors, mut ttl_ms) = (Vec::new(), Vec::<String>::new(), None);
        let incomplete = loop {
            let mut page = match self.page(list, cursors.last(), deadline, budget).await {
                Ok(page) => page,
                Err(failure) if cursors.is_empty() || is_about_session(&failure) => return Err(failure),
                // Many servers end a list with `""`, and a few have a page of that name.
                Err(_) if cursors.last().is_some_and(String::is_empty) => break None,
                Err(failure) => break Some(in_words(failure)),
            };
            items.append(&mut page.items);
            ttl_ms = ttl_ms.into_iter().chain(page.ttl_ms).min();
            match page.next {
                _ if items.len() >= list.max => break None,
                Value::Null => break None,
                Value::String(next) if cursors.contains(&next) => {
                    remove_repeated(&mut items);
                    let quoted_cursor = quoted(&next, 64);
                    break (!next.is_empty())
                        .then(|| format!("it answered with the cursor '{quoted_cursor}' again"));
                }
                Value::String(_) if cursors.len() + 1 >= MAX_PAGES => {
                    break Some(format!("it has no end after {MAX_PAGES} pages"));
                }
                Value::String(next) => cursors.push(next),
                other => {
                    let quoted_value = quoted(&other.to_string(), 64);
                    break Some(format!("its `nextCursor` is {quoted_value} instead of a string"));
                }
            }
        };
        items.truncate(list.max);
        Ok(ListItems { items, ttl_ms, incomplete })
    }

    async fn page(
        &self,
        list: ListRequest,
        cursor: Option<&String>,
        deadline: Instant,
        budget: &ListingBudget,
    ) -> Result<ListPage, CallFailure> {
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let page = timeout_at(deadline, self.request(list.method, params)).await;
        // Without a first page of tools, the user needs to know which limit to raise.
        let is_first_of_tools = list.list == ServerList::Tools && cursor.is_none();
        let key = if is_first_of_tools { " (`connection_timeout`)" } else { "" };
        let late = || CallFailure::Transport(format!("it did not answer in time{key}"));
        let page = page.map_err(|_| late())??;
        budget.take(list.method, &page.memory)?;
        read_page(list.method, list.key, page.value)
    }

    fn add_tools(&self, tools: ListItems, listing: &mut Listing) {
        let ListItems { mut items, ttl_ms, incomplete } = tools;
        listing.ttl_ms = ttl_ms;
        if items.len() > MAX_READ_TOOLS {
            items.truncate(MAX_READ_TOOLS);
            listing.omitted.add(1, format!("tools after number {MAX_READ_TOOLS} were not read"));
        }
        let omitted = &mut listing.omitted;
        let tools = items
            .into_iter()
            .filter_map(|tool| self.callable_tool(tool).map_err(|reason| omitted.add(1, reason)).ok());
        listing.tools = tools.map(|tool| Arc::new(convert::tool(tool))).collect();
        if let Some(reason) = incomplete {
            mark_incomplete(listing, TOOLS, &reason);
        }
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
            tool_headers(&tool.input_schema).map_err(|reason| format!("tool '{}': {reason}", name()))?;
        }
        Ok(tool)
    }

    async fn add_resources_and_prompts(&self, budget: &ListingBudget, listing: &mut Listing) {
        let resources = self.info.has("resources");
        let skills = resources && self.info.has_extension(SKILLS_EXTENSION_ID);
        listing.completes = self.info.has("completions");
        listing.resources = resources;
        let (templates, resource_items, prompts, skills) = tokio::join!(
            self.pages_if(resources, TEMPLATES, budget),
            self.pages_if(resources, RESOURCES, budget),
            self.pages_if(self.info.has("prompts"), PROMPTS, budget),
            self.pages_if(skills, SKILLS, budget),
        );
        for skill in read_items::<rmcp::model::Skill>("skill", SKILLS, skills, listing) {
            match skills::from_mcp(&skill) {
                Ok(skill) => listing.skills.push(skill),
                Err(reason) => {
                    listing.omitted.add(1, format!("skill '{}': {reason}", quoted(skill.name(), 64)));
                }
            }
        }
        let templates = read_items("resource template", TEMPLATES, templates, listing).into_iter();
        listing.templates = templates.map(convert::resource_template).collect();
        let resource_items = read_items("resource", RESOURCES, resource_items, listing).into_iter();
        listing.known_resources = resource_items.map(convert::resource_link).collect();
        let prompts = read_items("prompt", PROMPTS, prompts, listing).into_iter();
        listing.prompts = prompts.map(convert::prompt).collect();
    }

    /// Returns a list, or an empty one if the server does not have it.
    async fn pages_if(&self, has_list: bool, list: ListRequest, budget: &ListingBudget) -> ListItems {
        if !has_list {
            return ListItems::default();
        }
        let listed = self.pages(list, MAX_LIST_WAIT, budget).await;
        listed.unwrap_or_else(|failure| match failure {
            // A capability without one of its lists, which is then empty.
            CallFailure::Refused { code, .. } if code == ErrorCode::METHOD_NOT_FOUND.0 => {
                ListItems::default()
            }
            failure => ListItems { incomplete: Some(in_words(failure)), ..ListItems::default() },
        })
    }
}

/// Returns true for failures that another session or a login heals.
fn is_about_session(failure: &CallFailure) -> bool {
    matches!(failure, CallFailure::SessionEnded { .. } | CallFailure::Login(_))
}

/// Returns the failure as a clause.
fn in_words(failure: CallFailure) -> String {
    ConnectFailure::from(failure).message
}

fn mark_incomplete(listing: &mut Listing, list: ListRequest, reason: &str) {
    listing.incomplete.push(list.list);
    listing.omitted.add(1, format!("part of {}: {reason}", list.method));
}

/// Removes items that equal an earlier one, because a server that ignores cursors repeats its page.
fn remove_repeated(items: &mut Vec<Value>) {
    let mut seen = HashSet::new();
    items.retain(|item| seen.insert(item.to_string()));
}

/// Reads each item of a list separately, so that an invalid one leaves out itself.
fn read_items<T: DeserializeOwned>(
    kind: &str,
    list: ListRequest,
    listed: ListItems,
    listing: &mut Listing,
) -> Vec<T> {
    if let Some(reason) = &listed.incomplete {
        mark_incomplete(listing, list, reason);
    }
    listing.ttl_ms = listing.ttl_ms.into_iter().chain(listed.ttl_ms).min();
    let read = listed.items.into_iter().map(|item| read_item(kind, item));
    read.filter_map(|item| item.map_err(|reason| listing.omitted.add(1, reason)).ok()).collect()
}

#[cfg(test)]
mod tests;
