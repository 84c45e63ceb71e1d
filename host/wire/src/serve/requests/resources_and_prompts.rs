//! Conversion of resources and prompts to MCP, and one list of resources over all sources of a preset. Prompts are
//! listed at load, so their list is one page.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use gatehouse_core::{
    Catalog, Fault, FaultKind,
    names::quoted,
    outcome::{EmbeddedResource, ResourceBody, ResourceLink},
    prompt::{FilledPrompt, PromptMessage, PromptRole},
    resource::ResourcePage,
    resources_and_prompts::{PromptEntry, ResourceSource},
    tool::SourceId,
};
use rmcp::{
    ErrorData,
    model::{
        self, GetPromptResult, ListResourcesResult, MetaObject, Prompt, PromptArgument, ReadResourceResult,
        Resource, ResourceContents, ResourceTemplate,
    },
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::reply::{BASE64 as STANDARD, block, fault_to_error, icons_to_mcp, without_own_meta};

/// After this many resources, the next source starts on a new page. Clients that read only the first page then see all
/// sources if they are small.
const MIN_FULL_PAGE: usize = 100;

const MAX_CURSOR: usize = 2 * 1024;

/// Returns the `prompts/list` result, sorted by name. The same catalog gives the same bytes.
pub(crate) fn prompt_list(catalog: &Catalog) -> Vec<Prompt> {
    catalog.resources_and_prompts.prompts().iter().map(prompt).collect()
}

fn prompt(entry: &PromptEntry) -> Prompt {
    let spec = &entry.prompt;
    let arguments = spec.arguments.iter().map(|argument| {
        let mut converted = PromptArgument::new(&argument.name).with_required(argument.required);
        converted.description.clone_from(&argument.description);
        converted
    });
    let arguments: Vec<_> = arguments.collect();
    let arguments = (!arguments.is_empty()).then_some(arguments);
    let mut prompt = Prompt::new(entry.name.as_str(), spec.description.clone(), arguments);
    prompt.title.clone_from(&spec.title);
    prompt.icons = icons_to_mcp(&spec.icons);
    prompt
}

pub(crate) fn prompt_result(filled: Result<FilledPrompt, Fault>) -> Result<GetPromptResult, ErrorData> {
    let message = |message: PromptMessage| {
        let role = match message.role {
            PromptRole::User => model::Role::User,
            PromptRole::Assistant => model::Role::Assistant,
        };
        Ok(model::PromptMessage::new(role, block(message.content)?))
    };
    let result = filled.and_then(|FilledPrompt { description, messages }| {
        let messages = messages.into_iter().map(message).collect::<Result<Vec<_>, Fault>>()?;
        let mut result = GetPromptResult::new(messages);
        result.description = description;
        Ok(result)
    });
    result.map_err(|fault| fault_to_error(&fault, None))
}

/// Returns the `resources/templates/list` result, in preset order. The same catalog gives the same bytes.
pub(crate) fn resource_templates(catalog: &Catalog) -> Vec<ResourceTemplate> {
    let sources = catalog.resources_and_prompts.resource_sources().iter();
    let templates = sources.flat_map(|source| &source.templates).filter(|template| !template.has_no_values());
    templates
        .map(|template| {
            let mut converted = ResourceTemplate::new(&template.uri_template, &template.name);
            converted.title.clone_from(&template.title);
            converted.description.clone_from(&template.description);
            converted.mime_type.clone_from(&template.mime_type);
            converted
        })
        .collect()
}

/// A page of the list under construction.
pub(crate) struct ListPage<'a> {
    sources: &'a [ResourceSource],
    /// Number of the next source, and its own cursor.
    position: (usize, Option<String>),
    listed: Vec<Resource>,
    is_full: bool,
}

fn invalid() -> ErrorData {
    ErrorData::invalid_params("invalid cursor; list again without a cursor", None)
}

impl<'a> ListPage<'a> {
    pub(crate) fn new(sources: &'a [ResourceSource], cursor: Option<&str>) -> Result<Self, ErrorData> {
        let position = match cursor {
            Some(cursor) => Self::position(sources, cursor).ok_or_else(invalid)?,
            None => (0, None),
        };
        Ok(Self { sources, position, listed: Vec::new(), is_full: false })
    }

    /// Parses the output of [`Self::cursor`]. `None` if it is invalid or the source was removed.
    fn position(sources: &[ResourceSource], cursor: &str) -> Option<(usize, Option<String>)> {
        // Upper bound of the encoded length: JSON escapes and Base64 add to it.
        if cursor.len() > MAX_CURSOR * 9 {
            return None;
        }
        let (id, cursor): (SourceId, _) = serde_json::from_slice(&BASE64.decode(cursor).ok()?).ok()?;
        Some((sources.iter().position(|source| *source.source.id() == id)?, cursor))
    }

    /// Encodes the position as opaque text. It is not signed because it only gives access to the list itself.
    fn cursor(&self) -> Option<String> {
        let (source, cursor) = &self.position;
        let id = self.sources.get(*source)?.source.id();
        Some(BASE64.encode(serde_json::to_vec(&(id, cursor)).ok()?))
    }

    /// Returns the next source to list, and its cursor. `None` if the page is full.
    pub(crate) fn next(&self) -> Option<(&'a ResourceSource, Option<String>)> {
        let source = self.sources.get(self.position.0).filter(|_| !self.is_full)?;
        Some((source, self.position.1.clone()))
    }

    /// Adds the reply of a source. A source that fails is skipped and logged.
    pub(crate) fn add(
        &mut self,
        resource_source: &ResourceSource,
        page: Result<ResourcePage, Fault>,
    ) -> Result<(), ErrorData> {
        let (source, cursor) = &mut self.position;
        match page.and_then(|page| validate(resource_source, cursor.as_deref(), page)) {
            Ok(page) => {
                self.listed.extend(page.resources.into_iter().map(resource));
                if page.next.is_some() {
                    *cursor = page.next;
                    self.is_full = true;
                    return Ok(());
                }
            }
            Err(fault) if cursor.is_some() && fault.kind == FaultKind::InvalidArguments => {
                return Err(invalid());
            }
            Err(fault) => {
                tracing::warn!("{} is missing from the resource list: {fault}", resource_source.source.id())
            }
        }
        (*source, *cursor) = (*source + 1, None);
        self.is_full = self.listed.len() >= MIN_FULL_PAGE;
        Ok(())
    }

    pub(crate) fn finish(self) -> ListResourcesResult {
        let cursor = self.cursor();
        let mut result = ListResourcesResult::with_all_items(self.listed);
        result.next_cursor = cursor;
        result
    }
}

/// Removes resources that cannot be read, and validates the cursor.
fn validate(
    source: &ResourceSource,
    cursor: Option<&str>,
    mut page: ResourcePage,
) -> Result<ResourcePage, Fault> {
    let id = source.source.id();
    if let Some(next) = &page.next
        && (next.len() > MAX_CURSOR || Some(next.as_str()) == cursor)
    {
        return Err(Fault::internal("the source returned a repeated or oversized cursor"));
    }
    let total = page.resources.len();
    page.resources.retain(|link| source.templates.iter().any(|template| template.matches(&link.uri)));
    let unmatched = total - page.resources.len();
    if unmatched > 0 {
        tracing::warn!("ignoring {unmatched} resources of {id} that match none of its templates");
    }
    Ok(page)
}

fn resource(mut link: ResourceLink) -> Resource {
    let mut resource = Resource::new(link.uri, link.name);
    resource.annotations = extra_member(&mut link.extra, "annotations");
    resource.icons = extra_member(&mut link.extra, "icons");
    let meta = extra_member::<Map<String, Value>>(&mut link.extra, "_meta");
    resource.meta = meta.and_then(without_own_meta).map(MetaObject);
    resource.title = link.title;
    resource.description = link.description;
    resource.mime_type = link.mime_type;
    resource.size = link.size;
    resource
}

/// Takes a member that the server's listing had in the same form.
fn extra_member<T: DeserializeOwned>(extra: &mut Map<String, Value>, name: &str) -> Option<T> {
    extra.remove(name).and_then(|value| serde_json::from_value(value).ok())
}

pub(crate) fn resource_result(
    uri: &str,
    read: Result<Vec<EmbeddedResource>, Fault>,
) -> Result<ReadResourceResult, ErrorData> {
    let read = read.map_err(|fault| fault_to_error(&fault, Some(uri)))?;
    Ok(ReadResourceResult::new(read.into_iter().map(contents).collect()))
}

fn contents(resource: EmbeddedResource) -> ResourceContents {
    let EmbeddedResource { uri, mime_type, body, meta } = resource;
    let meta = meta.and_then(without_own_meta).map(MetaObject);
    match body {
        ResourceBody::Text(text) => ResourceContents::TextResourceContents { uri, mime_type, text, meta },
        ResourceBody::Blob(data) => {
            let blob = STANDARD.encode(data);
            ResourceContents::BlobResourceContents { uri, mime_type, blob, meta }
        }
    }
}

pub(crate) fn unknown_resource(uri: &str) -> Fault {
    Fault::not_found(format!("unknown resource: '{}'", quoted(uri, 256)))
}
