//! One tool of a catalog: what its source declares, and what the preset changes about it.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::CatalogError;
use crate::{
    approval::ApprovalScope,
    effect::{Effect, ToolHints},
    filters::AttachedFilter,
    overrides::ToolOverride,
    pipeline::has_own_markers,
    preset::CompiledPreset,
    schema::Schema,
    source::{Listing, Source},
    tool::{ExposedName, SourceId, ToolId, ToolSpec},
};

/// One tool under one name.
#[derive(Clone)]
pub struct ToolEntry {
    /// The name the client sees.
    pub name: ExposedName,
    /// Whose tool it is.
    pub id: ToolId,
    /// As declared, or as the preset changes it.
    pub spec: Arc<ToolSpec>,
    /// As its source declares it.
    pub declared: Arc<ToolSpec>,
    /// Who runs it.
    pub source: Arc<dyn Source>,
    /// The version that the source gives itself.
    pub version: Arc<str>,
    /// What changes its replies on their way to the client, in this order.
    pub filters: Vec<Arc<AttachedFilter>>,
    /// The preset's parameters with defaults, as JSON text.
    pub params: Arc<str>,
    /// Checks arguments.
    pub schema: Arc<Schema>,
    /// Checks the data of replies, where the tool declares a schema of it.
    pub output: Option<Arc<Schema>>,
    /// Arguments that the preset sets, whatever the client sends.
    pub fixed: Map<String, Value>,
    /// Whether clients are shown it; one that they are not can be called all the same.
    pub listed: bool,
    /// How long the approval of a person holds that its calls need; none where they need none.
    pub(crate) approval: Option<ApprovalScope>,
    /// Whether its schema has a property of its own that is called as what stands for a part of an artifact.
    pub(crate) has_own_markers: bool,
    /// Where it stands when tools are told in the order of the preset's sources.
    pub rank: usize,
}

impl ToolEntry {
    /// Returns the hints for clients. A gate says with its effect that it reaches outside; a server says so by itself.
    pub fn annotations(&self) -> ToolHints {
        let mut hints = self.spec.annotations();
        hints.open_world |=
            matches!(self.id.source, SourceId::Gate(_)) && self.spec.effect == Effect::ExternalExec;
        hints
    }

    fn new(
        source: &Arc<dyn Source>,
        listing: &Listing,
        tool: &Arc<ToolSpec>,
        params: &Arc<str>,
    ) -> Result<Self, CatalogError> {
        let id = source.id();
        let name = id
            .exposed_name(&tool.name)
            .map_err(|why| CatalogError::BadName { source_id: id.to_string(), why })?;
        Ok(Self {
            name,
            id: ToolId { source: id.clone(), name: Arc::clone(&tool.name) },
            spec: Arc::clone(tool),
            declared: Arc::clone(tool),
            source: Arc::clone(source),
            version: listing.version.as_str().into(),
            filters: Vec::new(),
            params: Arc::clone(params),
            schema: Arc::new(Schema::new(Arc::clone(&tool.input_schema))),
            output: tool.output_schema.as_ref().map(|schema| Arc::new(Schema::new(Arc::clone(schema)))),
            fixed: Map::new(),
            approval: None,
            listed: true,
            has_own_markers: has_own_markers(&tool.input_schema),
            rank: 0,
        })
    }

    /// A tool as this exposure names and changes it; none where it is hidden. What the exposure denies is not taken away
    /// here, because aliases may point to it.
    pub(crate) fn from_listing(
        exposure: &CompiledPreset,
        source: &Arc<dyn Source>,
        listing: &Listing,
        tool: &Arc<ToolSpec>,
        params: &Arc<str>,
    ) -> Result<Option<Self>, CatalogError> {
        let entry = Self::new(source, listing, tool, params)?;
        match exposure.tools.get(entry.name.as_str()) {
            Some(change) if change.hidden => Ok(None),
            Some(change) => entry.with_override(change).map(Some),
            None => Ok(Some(entry)),
        }
    }

    /// How often a person has to approve calls of it; none where nobody is asked.
    pub fn approval(&self) -> Option<ApprovalScope> {
        self.approval
    }

    /// The same as a preset changes it.
    fn with_override(mut self, change: &ToolOverride) -> Result<Self, CatalogError> {
        if let Some(name) = &change.name {
            let source_id = self.id.source.to_string();
            self.name = ExposedName::new(name).map_err(|why| CatalogError::BadName { source_id, why })?;
        }
        self.spec = change.apply(&self.spec);
        self.schema = Arc::new(Schema::new(Arc::clone(&self.spec.input_schema)));
        self.fixed.clone_from(&change.fixed);
        self.listed = !change.unlisted;
        Ok(self)
    }

    /// What clients are told that its data looks like; nothing where a filter may put a short form in its place.
    pub fn client_output_schema(&self) -> Option<&Arc<Map<String, Value>>> {
        self.spec.output_schema.as_ref().filter(|_| self.filters.is_empty())
    }

    /// What it goes by in the globs of a preset: the name that clients see, `source.tool`, and the same with the kind of the
    /// source before it.
    pub(crate) fn names(&self) -> [String; 3] {
        let qualified = format!("{}.{}", self.id.source.name(), self.id.name);
        let kind = self.id.source.kind();
        [self.name.to_string(), format!("{kind}:{qualified}"), qualified]
    }

    /// Sets the arguments that the preset fixes.
    pub(crate) fn apply_fixed_arguments(&self, arguments: &mut Value) {
        if let Some(arguments) = arguments.as_object_mut().filter(|_| !self.fixed.is_empty()) {
            arguments.extend(self.fixed.clone());
        }
    }
}
