//! Sources, which list tools and run them: gates and MCP servers.

mod pending;
mod sizes;

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::watch;

pub use pending::PendingListing;
use sizes::{add_size, check_schema, check_short_text};

pub use crate::filters::FilterRequest;

use crate::{
    call::Call,
    catalog::ToolEntry,
    completion::{CompletionRequest, Completions},
    hidden_chars, icon, names,
    outcome::{EmbeddedResource, Fault, Outcome, Reply, ResourceLink},
    prompt::{MAX_PROMPTS, Prompt, PromptMessage},
    resource::{MAX_TEMPLATES, ResourcePage, UriTemplate},
    schema::SchemaSize,
    tool::{ExposedName, SourceId, ToolSpec},
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
    #[serde(default)]
    pub completes: bool,
    /// Removed hidden characters by tool; the source's own under "".
    #[serde(default)]
    pub removed: BTreeMap<String, usize>,
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

    /// Returns a template for all of the source's URIs, even if its listing has no templates.
    fn resource_family(&self) -> Option<UriTemplate> {
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

    /// Returns the messages of a prompt. The arguments are already checked.
    async fn get_prompt(
        &self,
        _call: &Call,
        _params: &Arc<str>,
        name: &str,
        _arguments: &Map<String, Value>,
    ) -> Result<Vec<PromptMessage>, Fault> {
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

/// Maximum tools of one source. More would overflow any client's context.
pub const MAX_TOOLS: usize = 512;

/// Maximum bytes of a text or schema.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;

/// Reason a listing is invalid. Continues a sentence about the source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ListingError(String);

impl Listing {
    /// Removes hidden characters and counts them. Must run before [`Listing::check`], which refuses those that cannot
    /// be removed.
    pub fn clean(&mut self) {
        let own = hidden_chars::strip_text(&mut self.name)
            + hidden_chars::strip_text(&mut self.version)
            + hidden_chars::strip_text(&mut self.summary)
            + hidden_chars::strip_schema(Arc::make_mut(&mut self.params_schema));
        let mut removed = vec![(String::new(), own)];
        for tool in &mut self.tools {
            let tool = Arc::make_mut(tool);
            let count = hidden_chars::strip_text(&mut tool.description)
                + tool.title.as_mut().map_or(0, hidden_chars::strip_text)
                + hidden_chars::strip_schema(Arc::make_mut(&mut tool.input_schema))
                + tool
                    .output_schema
                    .as_mut()
                    .map_or(0, |schema| hidden_chars::strip_schema(Arc::make_mut(schema)))
                + tool.meta.as_mut().map_or(0, |meta| hidden_chars::strip_values(Arc::make_mut(meta)));
            removed.push((names::quoted(&tool.name, 64), count));
        }
        for template in &mut self.templates {
            let texts = [&mut template.title, &mut template.description, &mut template.mime_type];
            let count = hidden_chars::strip_text(&mut template.name)
                + texts.into_iter().flatten().map(hidden_chars::strip_text).sum::<usize>();
            removed.push((names::quoted(&template.uri_template, 64), count));
        }
        for prompt in &mut self.prompts {
            let own = [&mut prompt.title, &mut prompt.description].into_iter().flatten();
            let arguments = prompt.arguments.iter_mut().filter_map(|argument| argument.description.as_mut());
            let count = own.chain(arguments).map(hidden_chars::strip_text).sum();
            removed.push((names::quoted(&prompt.name, 64), count));
        }
        self.removed.extend(removed.into_iter().filter(|(_, count)| *count > 0));
    }

    /// Checks names, duplicates, sizes and schemas. Can take seconds, so call it on a thread for
    /// [checks](crate::checks).
    pub fn check(&self) -> Result<(), ListingError> {
        self.check_parts().map_err(ListingError)
    }

    fn check_parts(&self) -> Result<(), String> {
        if self.tools.len() > MAX_TOOLS {
            return Err(format!("lists {} tools; the limit is {MAX_TOOLS}", self.tools.len()));
        }
        check_short_text("its name", &self.name)?;
        check_short_text("its version", &self.version)?;
        check_short_text("its summary", &self.summary)?;
        let mut sizes = SchemaSize::default();
        add_size(&mut sizes, check_schema("params-schema", &self.params_schema)?)?;
        let mut seen = HashSet::new();
        for tool in &self.tools {
            ExposedName::new(&tool.name).map_err(|why| format!("tool name {why}"))?;
            let bad = |why: String| format!("tool '{}': {why}", tool.name);
            if !seen.insert(&*tool.name) {
                return Err(bad("is listed twice".into()));
            }
            check_short_text("its description", &tool.description).map_err(bad)?;
            check_short_text("its title", tool.title.as_deref().unwrap_or_default()).map_err(bad)?;
            if let Some(meta) = &tool.meta {
                check_short_text("its meta", &serde_json::to_string(meta).unwrap_or_default())
                    .map_err(bad)?;
            }
            icon::check_all(&tool.icons).map_err(|why| format!("tool '{}' {why}", tool.name))?;
            for (what, found) in
                [("input", Some(&tool.input_schema)), ("output", tool.output_schema.as_ref())]
            {
                let Some(found) = found else { continue };
                if what == "input" && found.get("type").and_then(Value::as_str) != Some("object") {
                    return Err(bad(format!("its {what} schema is not of type object")));
                }
                add_size(&mut sizes, check_schema(&format!("its {what} schema"), found).map_err(bad)?)?;
            }
        }
        self.check_templates()?;
        self.check_prompts()
    }

    fn check_templates(&self) -> Result<(), String> {
        if self.templates.len() > MAX_TEMPLATES {
            return Err(format!("has {} templates; the limit is {MAX_TEMPLATES}", self.templates.len()));
        }
        for template in &self.templates {
            let bad = |why| format!("template '{}' {why}", names::quoted(&template.uri_template, 128));
            template.check().map_err(bad)?;
            check_short_text("the name of a template", &template.name)?;
            for text in [&template.title, &template.description, &template.mime_type].into_iter().flatten() {
                check_short_text("the text of a template", text)?;
            }
        }
        Ok(())
    }

    fn check_prompts(&self) -> Result<(), String> {
        if self.prompts.len() > MAX_PROMPTS {
            return Err(format!("lists {} prompts; the limit is {MAX_PROMPTS}", self.prompts.len()));
        }
        let mut seen = HashSet::new();
        for prompt in &self.prompts {
            ExposedName::new(&prompt.name).map_err(|why| format!("prompt name {why}"))?;
            let bad = |why: String| format!("prompt '{}' {why}", prompt.name);
            if !seen.insert(&*prompt.name) {
                return Err(bad("is listed twice".into()));
            }
            prompt.check().map_err(bad)?;
            let own = [&prompt.title, &prompt.description].into_iter().flatten();
            for text in
                own.chain(prompt.arguments.iter().filter_map(|argument| argument.description.as_ref()))
            {
                check_short_text("the text of a prompt", text)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
