//! Sources, which list tools and run them: gates and MCP servers.

pub mod gather;
mod listing_checks;
pub mod server_tools;

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::{sync::watch, time::Instant};

pub use listing_checks::{MAX_TEXT_BYTES, MAX_TOOLS, unreadable_part};

pub use crate::filters::FilterRequest;

use crate::{
    Call, Fault, Outcome, Reply, SourceId, ToolEntry, ToolSpec,
    completion::{CompletionRequest, Completions},
    json, names,
    outcome::{EmbeddedResource, ResourceLink},
    ports::client::ClientFeatures,
    prompt::{FilledPrompt, MAX_PROMPTS, Prompt},
    resource::{MAX_TEMPLATES, ResourcePage, UriTemplate},
    skill::Skill,
};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Listing {
    pub name: String,
    pub version: String,
    /// One sentence; for a server, its instructions.
    pub summary: String,
    /// JSON Schema of the preset's parameters, with defaults.
    pub params_schema: Arc<Map<String, Value>>,
    /// In the order of declaration, as are the prompts.
    pub tools: Vec<Arc<ToolSpec>>,
    /// True if it can filter replies.
    #[serde(default)]
    pub filter: bool,
    #[serde(default)]
    pub resources: bool,
    #[serde(default)]
    pub templates: Vec<UriTemplate>,
    /// Resources at the time of listing, if the source is not asked each time.
    #[serde(default)]
    pub known_resources: Vec<ResourceLink>,
    #[serde(default)]
    pub prompts: Vec<Prompt>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<Skill>,
    #[serde(default)]
    pub completes: bool,
    /// Removed hidden characters by tool; the source's own under "".
    #[serde(default)]
    pub removed: BTreeMap<String, usize>,
    /// What a server lists and clients do not get.
    #[serde(default, skip_serializing_if = "OmittedItems::is_empty")]
    pub omitted: OmittedItems,
    /// What a server was told of clients when it was listed.
    #[serde(default, skip_serializing_if = "ClientFeatures::is_none")]
    pub features: ClientFeatures,
    /// How long a server says that its lists stay current, in milliseconds: the shortest of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Lists of a server that could not be read to their end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<ServerList>,
}

/// A list of an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerList {
    Tools,
    Prompts,
    Resources,
    Templates,
    Skills,
}

impl Listing {
    /// Adds what an earlier listing has and an incomplete list of this one lacks, up to the limits of listings. Tools
    /// are not added: the index keeps them.
    pub fn keep_earlier(&mut self, earlier: Self) {
        let mut left = MAX_LISTING_BYTES;
        for list in self.incomplete.clone() {
            match list {
                ServerList::Tools => {}
                ServerList::Prompts => {
                    extend(&mut self.prompts, &earlier.prompts, MAX_PROMPTS, &mut left, |one| &one.name);
                }
                ServerList::Resources => {
                    let (links, known) = (&mut self.known_resources, &earlier.known_resources);
                    extend(links, known, MAX_KNOWN_RESOURCES, &mut left, |one| &one.uri);
                }
                ServerList::Templates => {
                    let (all, known) = (&mut self.templates, &earlier.templates);
                    extend(all, known, MAX_TEMPLATES, &mut left, |one| &one.uri_template);
                }
                ServerList::Skills => {
                    extend(&mut self.skills, &earlier.skills, MAX_SKILLS, &mut left, |one| &one.uri);
                }
            }
        }
    }

    /// Returns true if a tool has its interface at this address.
    pub(crate) fn is_app_address(&self, uri: &str) -> bool {
        let address =
            |tool: &ToolSpec| Some(tool.meta.as_ref()?.get("ui")?.get("resourceUri")?.as_str()? == uri);
        self.tools.iter().any(|tool| address(tool) == Some(true))
    }
}

/// Appends the items whose key is new: up to `max` items in all, and at most `left` bytes of JSON.
fn extend<T: Clone + Serialize, K: PartialEq + ?Sized>(
    items: &mut Vec<T>,
    others: &[T],
    max: usize,
    left: &mut usize,
    key: impl Fn(&T) -> &K,
) {
    for other in others {
        let is_new = items.len() < max && items.iter().all(|item| key(item) != key(other));
        if is_new && let Some(rest) = left.checked_sub(json::encoded_len(other)) {
            *left = rest;
            items.push(other.clone());
        }
    }
}

/// What a server lists and does not get through as it is: items that were left out, and schemas that are passed on but
/// checked only in part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OmittedItems {
    pub count: usize,
    /// Each names its items.
    pub reasons: Vec<String>,
    /// Number of tools whose schemas have parts that are not checked.
    #[serde(default)]
    pub unchecked: usize,
    #[serde(default)]
    pub unchecked_reasons: Vec<String>,
}

/// Maximum bytes of all lists of a server.
pub const MAX_LISTING_BYTES: usize = 4 << 20;

/// Maximum resources that a listing remembers.
pub const MAX_KNOWN_RESOURCES: usize = 1_000;

/// Maximum skills of a server.
pub const MAX_SKILLS: usize = 1_000;

/// Maximum stored reasons, because a server can list thousands of invalid tools.
const MAX_OMISSION_REASONS: usize = 8;

impl OmittedItems {
    pub fn is_empty(&self) -> bool {
        self.count == 0 && self.unchecked == 0
    }

    /// Returns a line for agents, unless nothing was left out. The reasons quote the server and name tools that a preset
    /// may hide, so they are for operators.
    pub fn summary(&self) -> Option<String> {
        let summary = || format!("left out {}; `gatehouse servers status` says why", self.counted());
        (self.count > 0).then(summary)
    }

    fn counted(&self) -> String {
        format!("{} {}", self.count, if self.count == 1 { "item" } else { "items" })
    }

    /// Adds `count` items with one reason.
    pub fn add(&mut self, count: usize, reason: impl Into<String>) {
        self.count += count;
        add_reason(&mut self.reasons, reason.into());
    }

    /// Adds a tool with the reason that a schema of it is checked only in part.
    pub fn add_unchecked(&mut self, reason: String) {
        self.unchecked += 1;
        add_reason(&mut self.unchecked_reasons, reason);
    }

    pub fn all_reasons_mut(&mut self) -> impl Iterator<Item = &mut String> {
        self.reasons.iter_mut().chain(&mut self.unchecked_reasons)
    }
}

fn add_reason(reasons: &mut Vec<String>, reason: String) {
    match reasons.len() {
        0..MAX_OMISSION_REASONS => reasons.push(reason),
        MAX_OMISSION_REASONS => reasons.push("and others".into()),
        _ => {}
    }
}

impl fmt::Display for OmittedItems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count > 0 {
            write!(f, "left out {}: {}", self.counted(), self.reasons.join("; "))?;
        }
        if self.unchecked > 0 {
            let separator = if self.count > 0 { "; " } else { "" };
            let (count, reasons) = (self.unchecked, self.unchecked_reasons.join("; "));
            let tools = if count == 1 { "tool" } else { "tools" };
            write!(f, "{separator}checks the arguments of {count} {tools} only in part: {reasons}")?;
        }
        Ok(())
    }
}

/// A source that must start before it can be listed.
#[derive(Debug, Clone)]
pub struct PendingListing {
    pub why: String,
    /// How long clients may wait for the listing. `None` if an attempt has failed.
    pub until: Option<Instant>,
    /// A token of interest: the source retries as long as any clone of it exists.
    pub wanted: Arc<()>,
}

/// A provider of tools, resources and prompts: a gate or an MCP server.
///
/// `params` as text are the preset's parameters with defaults, as JSON. URIs match one of the source's templates. Except
/// in [`Self::call`], the `call` has no tool and carries the principal and deadline.
#[async_trait]
pub trait Source: Send + Sync {
    fn id(&self) -> &SourceId;

    /// Returns the time limit of one call.
    fn time_limit(&self) -> Duration;

    /// Returns the time limit of a call that reports progress, which gives it [`Self::time_limit`] again.
    fn max_time_limit(&self) -> Duration {
        self.time_limit()
    }

    /// Returns the cleaned and checked listing. It depends only on the parameters.
    async fn list(&self, params: &Map<String, Value>) -> Result<Arc<Listing>, Fault>;

    /// Returns the listing, or requests it in the background and returns [`PendingListing`] if the source has to start
    /// first.
    async fn list_now(
        &self,
        params: &Map<String, Value>,
    ) -> Result<Result<Arc<Listing>, PendingListing>, Fault> {
        self.list(params).await.map(Ok)
    }

    /// Returns the skills that are known without starting the source.
    async fn known_skills(&self) -> Vec<Skill> {
        Vec::new()
    }

    /// Runs `tool`. The arguments are an object that matches its schema. Dropping the future ends the call and frees
    /// its resources.
    async fn call(&self, call: &Call, tool: &ToolEntry) -> Outcome;

    /// Removes the source's configured secrets from a text that it wrote.
    fn redact(&self, text: String) -> String {
        text
    }

    /// Returns a replacement for a reply on its way to the client, or `None` to leave it unchanged.
    ///
    /// It adds nothing to the reply and has no structured data. Called only for filters. Dropping the future ends the
    /// work.
    async fn filter(&self, _asked: FilterRequest) -> Result<Option<Reply>, Fault> {
        Ok(None)
    }

    /// Returns a page of resources, starting at the source's own cursor. Called only if the listing has resources.
    async fn list_resources(
        &self,
        _call: &Call,
        _params: &Arc<str>,
        _cursor: Option<&str>,
    ) -> Result<ResourcePage, Fault> {
        Ok(ResourcePage::default())
    }

    /// Returns templates for all of the source's URIs, even if its listing has no templates.
    fn resource_families(&self) -> Vec<UriTemplate> {
        Vec::new()
    }

    /// Returns the URI by which clients read a resource that an MCP server calls `uri`.
    fn exposed_uri(&self, _uri: &str) -> Option<String> {
        None
    }

    /// Returns the contents of a resource.
    async fn read_resource(
        &self,
        _call: &Call,
        _params: &Arc<str>,
        uri: &str,
    ) -> Result<Vec<EmbeddedResource>, Fault> {
        Err(Fault::not_found(format!("Resource not found: '{}'", names::quoted(uri, 256))))
    }

    /// Returns how long a resource stays current. `None` if unknown. Faults if the resource cannot be read.
    async fn resource_ttl(
        &self,
        call: &Call,
        params: &Arc<str>,
        uri: &str,
    ) -> Result<Option<Duration>, Fault> {
        self.read_resource(call, params, uri).await.map(|_| None)
    }

    /// Subscribes to a resource. The count changes with it, and the channel closes when changes are no longer reported.
    /// `None` if the source reports no changes.
    async fn watch_resource(
        &self,
        _call: &Call,
        _params: &Arc<str>,
        _uri: &str,
    ) -> Result<Option<watch::Receiver<u64>>, Fault> {
        Ok(None)
    }

    /// Returns a prompt. The arguments are already checked.
    async fn get_prompt(
        &self,
        _call: &Call,
        _params: &Arc<str>,
        name: &str,
        _arguments: &Map<String, Value>,
    ) -> Result<FilledPrompt, Fault> {
        Err(Fault::not_found(format!("Prompt not found: '{}'", names::quoted(name, 64))))
    }

    /// Returns completions. Called only if the listing says that the source completes.
    async fn complete(
        &self,
        _call: &Call,
        _params: &Arc<str>,
        _typed: &CompletionRequest,
    ) -> Result<Completions, Fault> {
        Ok(Completions::default())
    }
}
