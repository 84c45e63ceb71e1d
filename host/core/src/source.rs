//! Sources, which list tools and run them: gates and MCP servers.

pub mod gather;
mod listing_checks;
mod partial_listing;
pub mod server_tools;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::{sync::watch, time::Instant};

pub use listing_checks::{MAX_TEXT_BYTES, MAX_TOOLS, unreadable_part};
pub use partial_listing::{MAX_KNOWN_RESOURCES, MAX_LISTING_BYTES, MAX_SKILLS, OmittedItems, ServerList};

pub use crate::filters::FilterRequest;

use crate::{
    Call, Fault, Outcome, Reply, SourceId, ToolEntry, ToolSpec,
    completion::{CompletionRequest, Completions},
    conversion::DocumentFormat,
    names,
    outcome::{EmbeddedResource, ResourceLink},
    ports::client::ClientFeatures,
    prompt::{FilledPrompt, Prompt},
    resource::{ResourcePage, UriTemplate},
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
    /// Formats that it converts to Markdown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub formats: Vec<DocumentFormat>,
    /// Removed hidden characters by tool; the source's own under "".
    #[serde(default)]
    pub removed: BTreeMap<String, usize>,
    /// Items that a server lists and clients do not get.
    #[serde(default, skip_serializing_if = "OmittedItems::is_empty")]
    pub omitted: OmittedItems,
    /// Features of clients that a server was told when it was listed.
    #[serde(default, skip_serializing_if = "ClientFeatures::is_none")]
    pub features: ClientFeatures,
    /// Time for which a server says that its lists stay current, in milliseconds: the shortest of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Lists of a server that could not be read to their end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<ServerList>,
}

impl Listing {
    /// Returns true if a tool has its interface at this address.
    pub(crate) fn is_app_address(&self, uri: &str) -> bool {
        let address =
            |tool: &ToolSpec| Some(tool.meta.as_ref()?.get("ui")?.get("resourceUri")?.as_str()? == uri);
        self.tools.iter().any(|tool| address(tool) == Some(true))
    }
}

/// A source that must start before it can be listed.
#[derive(Debug, Clone)]
pub struct PendingListing {
    pub reason: String,
    /// Time for which clients may wait for the listing. `None` if an attempt has failed.
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
