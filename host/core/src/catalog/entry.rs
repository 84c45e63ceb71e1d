//! A tool in a catalog: its declaration and the preset's overrides.

use std::{borrow::Cow, sync::Arc};

use serde_json::{Map, Value};

use super::CatalogError;
use crate::{
    CompiledPreset, Effect, ExposedName, Listing, Schema, Source, SourceId, ToolId, ToolSpec,
    approval::ApprovalScope, effect::ToolHints, filters::AttachedFilter, overrides::ToolOverride,
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
        let bad = |why| CatalogError::BadName { source_id: id.to_string(), why };
        let own_name = id.exposed_name(&tool.name).map_err(bad)?;
        let none = ToolOverride::default();
        let change = preset.tools.get(own_name.as_str()).unwrap_or(&none);
        if change.hidden {
            return Ok(None);
        }
        let name = match &change.name {
            Some(name) => ExposedName::new(name).map_err(bad)?,
            None => own_name,
        };
        let spec = change.apply(tool);
        let schema = |source: &Arc<Map<String, Value>>| Arc::new(Schema::new(Arc::clone(source)));
        Ok(Some(Self {
            name,
            id: ToolId { source: id.clone(), name: Arc::clone(&tool.name) },
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

    /// Returns the output schema shown to clients. `None` if a filter may replace the structured data.
    pub fn client_output_schema(&self) -> Option<&Arc<Map<String, Value>>> {
        self.spec.output_schema.as_ref().filter(|_| self.filters.is_empty())
    }

    /// Returns the names that a preset's globs match: the exposed name, `kind:source.tool` and `source.tool`.
    pub(crate) fn names(&self) -> [String; 3] {
        let qualified = format!("{}.{}", self.id.source.name(), self.id.name);
        let kind = self.id.source.kind();
        [self.name.to_string(), format!("{kind}:{qualified}"), qualified]
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
