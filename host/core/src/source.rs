//! A source lists tools and runs them: a gate, or a proxied MCP server.

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
    clean,
    completion::{CompletionRequest, Completions},
    icon, names,
    outcome::{EmbeddedResource, Fault, Outcome, Reply, ResourceLink},
    prompt::{MAX_PROMPTS, Prompt, PromptMessage},
    resource::{MAX_TEMPLATES, ResourcePage, UriTemplate},
    schema::SchemaSize,
    tool::{ExposedName, SourceId, ToolSpec},
};

/// What a source offers under one set of parameters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Listing {
    /// The name the source gives itself.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it is, in a sentence.
    pub summary: String,
    /// JSON Schema of the parameters a preset may set, each with its default.
    pub params_schema: Arc<Map<String, Value>>,
    /// Its tools, in the order it declares them.
    pub tools: Vec<Arc<ToolSpec>>,
    /// Whether it changes replies on their way to the client, where a preset attaches it.
    #[serde(default)]
    pub filter: bool,
    /// Whether it has resources.
    #[serde(default)]
    pub resources: bool,
    /// The families of addresses that it answers for.
    #[serde(default)]
    pub templates: Vec<UriTemplate>,
    /// What there was to read then, for a source that is not asked each time.
    #[serde(default)]
    pub known_resources: Vec<ResourceLink>,
    /// Its prompts, in the order it declares them.
    #[serde(default)]
    pub prompts: Vec<Prompt>,
    /// Whether it completes what is typed into its prompts and templates.
    #[serde(default)]
    pub completes: bool,
    /// Invisible characters that [`Listing::clean`] took out, by tool; the source's own under "".
    #[serde(default)]
    pub removed: BTreeMap<String, usize>,
}

/// Something that has tools.
#[async_trait]
pub trait Source: Send + Sync {
    /// Who it is.
    fn id(&self) -> &SourceId;

    /// The longest one call may take.
    fn time_limit(&self) -> Duration;

    /// What it offers under these parameters, cleaned and checked. The same parameters give the same listing.
    async fn list(&self, params: &Map<String, Value>) -> Result<Arc<Listing>, Fault>;

    /// Returns what it offers if that is known without waiting for it to start. Otherwise this begins to ask it and returns
    /// [`PendingListing`]; whoever composes catalogs is notified of the result.
    async fn list_now(
        &self,
        params: &Map<String, Value>,
    ) -> Result<Result<Arc<Listing>, PendingListing>, Fault> {
        self.list(params).await.map(Ok)
    }

    /// Runs `tool`, which is the one that the call asks for; the arguments are an object that matches its schema.
    /// Dropping the future ends the call and frees what it holds.
    async fn call(&self, call: &Call, tool: &ToolEntry) -> Outcome;

    /// Removes secrets that are configured for it from a text that it wrote.
    fn redact(&self, text: String) -> String {
        text
    }

    /// Another reply to stand for one on its way to the client, or none to leave it. It says nothing that the reply did not
    /// say, and has no data beside its text. Asked only of a filter. Dropping the future ends the work.
    async fn filter(&self, _asked: FilterRequest) -> Result<Option<Reply>, Fault> {
        Ok(None)
    }

    /// A page of what there is to read for whoever asks, from a cursor of its own on. `call` is no tool's: it says who asks
    /// and until when. `params` are the preset's parameters with defaults, as JSON text. Asked only where the listing says
    /// that it has resources.
    async fn list_resources(
        &self,
        _call: &Call,
        _params: &Arc<str>,
        _cursor: Option<&str>,
    ) -> Result<ResourcePage, Fault> {
        Ok(ResourcePage::default())
    }

    /// Returns the family of all addresses of this source, whether its listing has any. `None` if it has no such family.
    fn resource_family(&self) -> Option<UriTemplate> {
        None
    }

    /// What stands at an address, which matches one of its templates.
    async fn read_resource(
        &self,
        _call: &Call,
        _params: &Arc<str>,
        uri: &str,
    ) -> Result<Vec<EmbeddedResource>, Fault> {
        Err(Fault::not_found(format!("Resource not found: '{}'", names::quoted(uri, 256))))
    }

    /// In how long what stands at an address, which matches one of its templates, changes by itself; none where nobody
    /// knows. Faults as reading it does.
    async fn resource_ttl(
        &self,
        call: &Call,
        params: &Arc<str>,
        uri: &str,
    ) -> Result<Option<Duration>, Fault> {
        self.read_resource(call, params, uri).await.map(|_| None)
    }

    /// Begins to follow what stands at an address, which matches one of its templates: the count changes whenever that does.
    /// None where the source does not tell. It ends with its sender, when nobody can tell any more, or with its receiver.
    async fn watch_resource(
        &self,
        _call: &Call,
        _params: &Arc<str>,
        _uri: &str,
    ) -> Result<Option<watch::Receiver<u64>>, Fault> {
        Ok(None)
    }

    /// The messages of one of its prompts; the arguments are those that the prompt has.
    async fn get_prompt(
        &self,
        _call: &Call,
        _params: &Arc<str>,
        name: &str,
        _arguments: &Map<String, Value>,
    ) -> Result<Vec<PromptMessage>, Fault> {
        Err(Fault::not_found(format!("Prompt not found: '{}'", names::quoted(name, 64))))
    }

    /// What may be meant by what is typed into one of its prompts or templates. Asked only where the listing says that it
    /// completes.
    async fn complete(
        &self,
        _call: &Call,
        _params: &Arc<str>,
        _typed: &CompletionRequest,
    ) -> Result<Completions, Fault> {
        Ok(Completions::default())
    }
}

/// The most tools one source may list; a client that is shown more has lost its context anyway.
pub const MAX_TOOLS: usize = 512;

/// The most bytes a text or a schema may have.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;

/// What is wrong with a listing and with which tool, as the rest of a sentence about the source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ListingError(String);

impl Listing {
    /// Takes out of titles, descriptions, summaries and the prose of schemas what nobody can see, and counts
    /// it. Before [`Listing::check`], which refuses such characters where they cannot be taken out.
    pub fn clean(&mut self) {
        let own = clean::strip_text(&mut self.name)
            + clean::strip_text(&mut self.version)
            + clean::strip_text(&mut self.summary)
            + clean::strip_schema(Arc::make_mut(&mut self.params_schema));
        let mut removed = vec![(String::new(), own)];
        for tool in &mut self.tools {
            let tool = Arc::make_mut(tool);
            let count = clean::strip_text(&mut tool.description)
                + tool.title.as_mut().map_or(0, clean::strip_text)
                + clean::strip_schema(Arc::make_mut(&mut tool.input_schema))
                + tool.output_schema.as_mut().map_or(0, |schema| clean::strip_schema(Arc::make_mut(schema)))
                + tool.meta.as_mut().map_or(0, |meta| clean::strip_values(Arc::make_mut(meta)));
            removed.push((names::quoted(&tool.name, 64), count));
        }
        for template in &mut self.templates {
            let texts = [&mut template.title, &mut template.description, &mut template.mime_type];
            let count = clean::strip_text(&mut template.name)
                + texts.into_iter().flatten().map(clean::strip_text).sum::<usize>();
            removed.push((names::quoted(&template.uri_template, 64), count));
        }
        for prompt in &mut self.prompts {
            let own = [&mut prompt.title, &mut prompt.description].into_iter().flatten();
            let arguments = prompt.arguments.iter_mut().filter_map(|argument| argument.description.as_mut());
            let count = own.chain(arguments).map(clean::strip_text).sum();
            removed.push((names::quoted(&prompt.name, 64), count));
        }
        self.removed.extend(removed.into_iter().filter(|(_, count)| *count > 0));
    }

    /// Checks what a source says about itself before anybody sees it: names, duplicates, sizes, schemas.
    /// It may take some seconds for the largest listing there can be, so it belongs on a thread for checks.
    pub fn check(&self) -> Result<(), ListingError> {
        self.check_parts().map_err(ListingError)
    }

    fn check_parts(&self) -> Result<(), String> {
        if self.tools.len() > MAX_TOOLS {
            return Err(format!("lists {} tools, the most is {MAX_TOOLS}", self.tools.len()));
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
            return Err(format!("has {} templates, the most is {MAX_TEMPLATES}", self.templates.len()));
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
            return Err(format!("lists {} prompts, the most is {MAX_PROMPTS}", self.prompts.len()));
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
