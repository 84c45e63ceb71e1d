//! Conversion of resources to MCP, and one list over all sources of a preset.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use gatehouse_core::{
    Catalog, Fault, FaultKind,
    names::quoted,
    outcome::{EmbeddedResource, ResourceBody, ResourceLink},
    resource::ResourcePage,
    resources_and_prompts::ResourceSource,
    tool::SourceId,
};
use rmcp::{
    ErrorData,
    model::{ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate},
};

use super::reply::{self, BASE64 as STANDARD};

/// After this many resources, the next source starts on a new page. Clients that read only the first page then see all
/// sources if they are small.
const MIN_FULL_PAGE: usize = 100;

const MAX_CURSOR: usize = 2 * 1024;

/// Returns the `resources/templates/list` result, in preset order. The same catalog gives the same bytes.
pub(super) fn templates(catalog: &Catalog) -> Vec<ResourceTemplate> {
    let sources = catalog.resources_and_prompts.resource_sources().iter();
    let templates = sources.flat_map(|known| &known.templates).filter(|template| !template.has_no_values());
    templates
        .map(|template| {
            let mut told = ResourceTemplate::new(&template.uri_template, &template.name);
            told.title.clone_from(&template.title);
            told.description.clone_from(&template.description);
            told.mime_type.clone_from(&template.mime_type);
            told
        })
        .collect()
}

/// A page of the list under construction.
pub(super) struct ListPage<'a> {
    sources: &'a [ResourceSource],
    at: ListCursor,
    listed: Vec<Resource>,
    full: bool,
}

/// Position in the list: a source and its own cursor. Encoded as opaque text, and not signed because it only gives
/// access to the list itself.
struct ListCursor {
    source: usize,
    cursor: Option<String>,
}

impl ListCursor {
    fn write(&self, sources: &[ResourceSource]) -> Option<String> {
        let id = sources.get(self.source)?.source.id();
        Some(BASE64.encode(serde_json::to_vec(&(id, &self.cursor)).ok()?))
    }

    /// Parses the output of [`ListCursor::write`]. `None` if it is invalid or the source was removed.
    fn read(text: &str, sources: &[ResourceSource]) -> Option<Self> {
        // Upper bound of the encoded length: JSON escapes and Base64 add to it.
        if text.len() > MAX_CURSOR * 9 {
            return None;
        }
        let told: (SourceId, Option<String>) = serde_json::from_slice(&BASE64.decode(text).ok()?).ok()?;
        let source = sources.iter().position(|known| *known.source.id() == told.0)?;
        Some(Self { source, cursor: told.1 })
    }
}

fn invalid() -> ErrorData {
    ErrorData::invalid_params("invalid cursor; list again without a cursor", None)
}

impl<'a> ListPage<'a> {
    pub(super) fn new(sources: &'a [ResourceSource], cursor: Option<&str>) -> Result<Self, ErrorData> {
        let at = match cursor {
            Some(cursor) => ListCursor::read(cursor, sources).ok_or_else(invalid)?,
            None => ListCursor { source: 0, cursor: None },
        };
        Ok(Self { sources, at, listed: Vec::new(), full: false })
    }

    /// Returns the next source to list, and its cursor. `None` if the page is full.
    pub(super) fn next(&self) -> Option<(&'a ResourceSource, Option<String>)> {
        let known = self.sources.get(self.at.source).filter(|_| !self.full)?;
        Some((known, self.at.cursor.clone()))
    }

    /// Adds the reply of a source. A source that fails is skipped and logged.
    pub(super) fn add(
        &mut self,
        known: &ResourceSource,
        said: Result<ResourcePage, Fault>,
    ) -> Result<(), ErrorData> {
        match said.and_then(|page| checked(known, self.at.cursor.as_deref(), page)) {
            Ok(page) => {
                self.listed.extend(page.resources.into_iter().map(resource));
                if page.next.is_some() {
                    self.at.cursor = page.next;
                    self.full = true;
                    return Ok(());
                }
            }
            Err(fault) if self.at.cursor.is_some() && fault.kind == FaultKind::InvalidArguments => {
                return Err(invalid());
            }
            Err(fault) => {
                tracing::warn!("{} is missing from the resource list: {fault}", known.source.id())
            }
        }
        self.at = ListCursor { source: self.at.source + 1, cursor: None };
        self.full = self.listed.len() >= MIN_FULL_PAGE;
        Ok(())
    }

    pub(super) fn finish(self) -> ListResourcesResult {
        let mut result = ListResourcesResult::with_all_items(self.listed);
        result.next_cursor = self.at.write(self.sources);
        result
    }
}

/// Removes resources that cannot be read, and validates the cursor.
fn checked(
    known: &ResourceSource,
    asked: Option<&str>,
    mut page: ResourcePage,
) -> Result<ResourcePage, Fault> {
    let id = known.source.id();
    if let Some(next) = &page.next
        && (next.len() > MAX_CURSOR || Some(next.as_str()) == asked)
    {
        return Err(Fault::internal("the source returned a repeated or oversized cursor"));
    }
    let all = page.resources.len();
    page.resources.retain(|link| known.templates.iter().any(|template| template.matches(&link.uri)));
    let strange = all - page.resources.len();
    if strange > 0 {
        tracing::warn!("ignoring {strange} resources of {id} that match none of its templates");
    }
    Ok(page)
}

fn resource(link: ResourceLink) -> Resource {
    let mut resource = Resource::new(link.uri, link.name);
    resource.title = link.title;
    resource.description = link.description;
    resource.mime_type = link.mime_type;
    resource.size = link.size;
    resource
}

pub(super) fn result(
    uri: &str,
    read: Result<Vec<EmbeddedResource>, Fault>,
) -> Result<ReadResourceResult, ErrorData> {
    let read = read.map_err(|fault| refused(uri, &fault))?;
    Ok(ReadResourceResult::new(read.into_iter().map(contents).collect()))
}

fn contents(resource: EmbeddedResource) -> ResourceContents {
    let EmbeddedResource { uri, mime_type, body } = resource;
    match body {
        ResourceBody::Text(text) => {
            ResourceContents::TextResourceContents { uri, mime_type, text, meta: None }
        }
        ResourceBody::Blob(data) => {
            let blob = STANDARD.encode(data);
            ResourceContents::BlobResourceContents { uri, mime_type, blob, meta: None }
        }
    }
}

pub(super) fn unknown(uri: &str) -> Fault {
    Fault::not_found(format!("unknown resource: '{}'", quoted(uri, 256)))
}

/// Converts a fault to a protocol error. rmcp maps the "not found" code to the one of the client's version.
pub(super) fn refused(uri: &str, fault: &Fault) -> ErrorData {
    let (message, data) = (fault.in_one_line(), Some(reply::fault_data(fault, Some(uri))));
    match fault.kind {
        FaultKind::NotFound => ErrorData::resource_not_found(message, data),
        FaultKind::InvalidArguments => ErrorData::invalid_params(message, data),
        _ => ErrorData::internal_error(message, data),
    }
}
