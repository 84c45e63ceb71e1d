//! A tool in a catalog: its declaration and the preset's overrides. Also limits how many tokens one server's tools take
//! in a tool list.

use std::{borrow::Cow, collections::BTreeMap, fmt, sync::Arc};

use serde_json::{Map, Value};

use super::CatalogError;
use crate::{
    CompiledPreset, Effect, ExposedName, Listing, Schema, Source, SourceId, ToolId, ToolSpec,
    approval::ApprovalScope, effect::ToolHints, filters::AttachedFilter, json, overrides::ToolOverride,
    pipeline::has_own_markers,
};

/// A tool under the name that clients see.
#[derive(Clone)]
pub struct ToolEntry {
    pub name: ExposedName,
    pub id: ToolId,
    /// The specification after the preset's overrides.
    pub spec: Arc<ToolSpec>,
    /// The specification as the source declares it.
    pub declared: Arc<ToolSpec>,
    pub source: Arc<dyn Source>,
    /// The source's own version.
    pub version: Arc<str>,
    /// Filters applied to replies, in this order.
    pub filters: Vec<Arc<AttachedFilter>>,
    /// The preset's parameters merged with defaults, as JSON text.
    pub params: Arc<str>,
    pub input_schema: Arc<Schema>,
    pub output_schema: Option<Arc<Schema>>,
    /// Arguments that the preset sets. They replace the client's.
    pub fixed: Map<String, Value>,
    /// True if tool lists include it. Unlisted tools can still be called.
    pub listed: bool,
    /// True if every [surface](crate::surface::ToolSurface) includes it, and clients should load it at once.
    pub pinned: bool,
    /// How long an approval of its calls lasts. `None` if it needs no approval.
    pub(crate) approval: Option<ApprovalScope>,
    /// True if its input schema defines its own `$artifact` property, so its arguments are not spliced.
    pub(crate) has_own_markers: bool,
    /// Position when tools are listed in the order of the preset's sources.
    pub rank: usize,
}

impl ToolEntry {
    /// Returns the MCP annotations. A gate's tool with effect `external-exec` is always open-world.
    pub fn annotations(&self) -> ToolHints {
        let mut hints = self.spec.annotations();
        hints.open_world |=
            matches!(self.id.source, SourceId::Gate(_)) && self.spec.effect == Effect::ExternalExec;
        hints
    }

    /// Creates the entry with the preset's overrides. `None` if the preset hides the tool.
    ///
    /// `deny` is applied later, because aliases may refer to denied tools.
    pub(crate) fn from_listing(
        preset: &CompiledPreset,
        source: &Arc<dyn Source>,
        listing: &Listing,
        tool: &Arc<ToolSpec>,
        params: &Arc<str>,
    ) -> Result<Option<Self>, CatalogError> {
        let id = source.id();
        let bad = |reason| CatalogError::BadName { source_id: id.to_string(), reason };
        let own_name = id.exposed_name(&tool.name).map_err(bad)?;
        let none = ToolOverride::default();
        let tool_id = ToolId { source: id.clone(), name: Arc::clone(&tool.name) };
        let change = preset.tool_override(&tool_id).unwrap_or(&none);
        if change.hidden {
            return Ok(None);
        }
        let name = match &change.name {
            Some(name) => ExposedName::new(name).map_err(bad)?,
            None => own_name,
        };
        let spec = change.apply(tool);
        let new_schema = match id {
            SourceId::Gate(_) => Schema::new,
            SourceId::Server(_) => Schema::of_server,
        };
        let schema = |source: &Arc<Map<String, Value>>| Arc::new(new_schema(Arc::clone(source)));
        Ok(Some(Self {
            name,
            id: tool_id,
            declared: Arc::clone(tool),
            source: Arc::clone(source),
            version: listing.version.as_str().into(),
            filters: Vec::new(),
            params: Arc::clone(params),
            input_schema: schema(&spec.input_schema),
            output_schema: tool.output_schema.as_ref().map(schema),
            spec,
            fixed: change.fixed.clone(),
            approval: None,
            listed: !change.unlisted,
            pinned: false,
            has_own_markers: has_own_markers(&tool.input_schema),
            rank: 0,
        }))
    }

    pub fn approval(&self) -> Option<ApprovalScope> {
        self.approval
    }

    /// Returns the output schema shown to clients. `None` if a filter may replace the structured data, which it does not
    /// for an `interface` of the tool.
    pub fn client_output_schema(&self, interface: bool) -> Option<&Arc<Map<String, Value>>> {
        self.spec.output_schema.as_ref().filter(|_| interface || self.filters.is_empty())
    }

    /// Returns the arguments with those that the preset sets.
    pub(crate) fn with_fixed_arguments<'a>(&self, arguments: &'a Value) -> Cow<'a, Value> {
        let mut arguments = Cow::Borrowed(arguments);
        if !self.fixed.is_empty() {
            self.apply_fixed_arguments(arguments.to_mut());
        }
        arguments
    }

    pub(crate) fn apply_fixed_arguments(&self, arguments: &mut Value) {
        if let Some(arguments) = arguments.as_object_mut().filter(|_| !self.fixed.is_empty()) {
            arguments.extend(self.fixed.clone());
        }
    }
}

/// Maximum tokens of one server's listed tools, at four bytes per token.
///
/// The largest of 18 real servers takes 17,000.
pub const MAX_SERVER_TOKENS: usize = 50_000;

/// A server whose tools exceed [`MAX_SERVER_TOKENS`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OversizedServer {
    pub source: SourceId,
    pub unlisted: usize,
    /// Estimated tokens of all its tools, listed or not.
    pub tokens: usize,
}

impl fmt::Display for OversizedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, unlisted, tokens } = self;
        write!(
            f,
            "the tools of {source} take about {tokens} tokens; the limit for listed tools of one server is \
            {MAX_SERVER_TOKENS}. {unlisted} tools are not listed, but can be called. Write `proxied = [\"{}\"]` \
            instead of `servers`, or `deny` unneeded tools",
            source.name()
        )
    }
}

/// Unlists a server's tools after they reach the limit: pinned tools are the first to count, then listing order.
/// Unlisted tools can still be called.
pub(super) fn limit_servers(entries: &mut [ToolEntry]) -> Vec<OversizedServer> {
    let mut order: Vec<&mut ToolEntry> = entries
        .iter_mut()
        .filter(|entry| entry.listed && matches!(entry.id.source, SourceId::Server(_)))
        .collect();
    order.sort_by_key(|entry| (!entry.pinned, entry.rank));
    let mut servers: BTreeMap<SourceId, (usize, usize)> = BTreeMap::new();
    for entry in order {
        let (tokens, unlisted) = servers.entry(entry.id.source.clone()).or_default();
        *tokens += estimate_tokens(entry);
        if *tokens > MAX_SERVER_TOKENS {
            entry.listed = false;
            *unlisted += 1;
        }
    }
    let oversized = servers.into_iter().filter(|(_, (_, unlisted))| *unlisted > 0);
    oversized.map(|(source, (tokens, unlisted))| OversizedServer { source, unlisted, tokens }).collect()
}

fn estimate_tokens(entry: &ToolEntry) -> usize {
    let spec = &entry.spec;
    let texts =
        entry.name.as_str().len() + spec.title.as_ref().map_or(0, String::len) + spec.description.len();
    let schemas = json::encoded_len(&*spec.input_schema)
        + spec.output_schema.as_ref().map_or(0, |schema| json::encoded_len(&**schema));
    let icons: usize = spec.icons.iter().map(|icon| icon.src.len()).sum();
    (texts + schemas + icons + spec.meta.as_ref().map_or(0, |meta| json::encoded_len(&**meta))) / 4
}

#[cfg(test)]
mod tests {
    use crate::{
        ToolSpec,
        icon::Icon,
        testing::{Fixture, catalog, tool},
    };

    #[tokio::test]
    async fn one_server_does_not_fill_the_list() {
        let icon = Icon { src: "x".repeat(30_000), sizes: Vec::new(), theme: None };
        let fat = |name: &str| ToolSpec {
            description: "x".repeat(30_000),
            icons: vec![icon.clone()],
            ..tool(name, None)
        };
        let crowd = Fixture::server("crowd", ["a", "b", "c", "d", "e"].map(fat).into());
        let other = Fixture::server("other", vec![fat("a")]);
        let catalog = catalog(&[&crowd, &other]).await;
        let listed =
            catalog.entries().iter().filter(|entry| entry.listed).map(|entry| entry.name.to_string());
        assert_eq!(listed.collect::<Vec<_>>(), ["crowd__a", "crowd__b", "crowd__c", "other__a"]);
        assert!(catalog.find("crowd__e").is_ok(), "it can be called");
        let [server] = &catalog.crowded[..] else { panic!("{:?}", catalog.crowded) };
        assert_eq!((server.unlisted, server.tokens / 1_000), (2, 75));
    }
}
