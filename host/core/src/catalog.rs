//! The catalog: everything that can be called under one preset, sorted, and never changed once built.

mod error;

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Map, Value};
use tokio::time::Instant;

pub use self::error::CatalogError;
use crate::{
    alias,
    approval::{self, Remembered},
    effect::{Annotations, Effect},
    filters::{self, AttachedFilter},
    names,
    offered::Offered,
    outcome::{Fault, FaultKind},
    overrides::ToolOverride,
    patterns::UnmatchedPattern,
    pipeline::has_own_markers,
    preset::{Exposure, Structured},
    proxied::Proxied,
    schema::{Schema, with_defaults},
    source::{Listing, PendingListing, Source},
    tool::{ExposedName, SourceId, ToolId, ToolSpec},
    workflow::{self, Step},
};

/// Numbers the catalogs of a host; a later one has a higher number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub u64);

impl Generation {
    /// The next one.
    pub fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A source, what it lists, and the parameters it listed it under.
pub struct SourceListing {
    /// Who runs the tools.
    pub source: Arc<dyn Source>,
    /// What it offers.
    pub listing: Arc<Listing>,
    /// As the preset sets them.
    pub params: Map<String, Value>,
    /// Why this is what the source listed before, or nothing; none where it is what it lists now.
    pub problem: Option<String>,
    /// The source was never listed, and is being asked.
    pub pending: Option<PendingListing>,
}

/// One tool under one name.
#[derive(Clone)]
pub struct Entry {
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
    pub(crate) approval: Option<Remembered>,
    /// Whether its schema has a property of its own that is called as what stands for a part of an artifact.
    pub(crate) has_own_markers: bool,
    /// Where it stands when tools are told in the order of the preset's sources.
    pub rank: usize,
}

impl Entry {
    /// Returns the hints for clients. A gate says with its effect that it reaches outside; a server says so by itself.
    pub fn annotations(&self) -> Annotations {
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
        let name =
            id.exposes(&tool.name).map_err(|why| CatalogError::BadName { source_id: id.to_string(), why })?;
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
    pub(crate) fn exposed(
        exposure: &Exposure,
        source: &Arc<dyn Source>,
        listing: &Listing,
        tool: &Arc<ToolSpec>,
        params: &Arc<str>,
    ) -> Result<Option<Self>, CatalogError> {
        let entry = Self::new(source, listing, tool, params)?;
        match exposure.tools.get(entry.name.as_str()) {
            Some(change) if change.hidden => Ok(None),
            Some(change) => entry.overridden(change).map(Some),
            None => Ok(Some(entry)),
        }
    }

    /// How often a person has to approve calls of it; none where nobody is asked.
    pub fn approval(&self) -> Option<Remembered> {
        self.approval
    }

    /// The same as a preset changes it.
    fn overridden(mut self, change: &ToolOverride) -> Result<Self, CatalogError> {
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
    pub fn output_for_clients(&self) -> Option<&Arc<Map<String, Value>>> {
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
    pub(crate) fn fix(&self, arguments: &mut Value) {
        if let Some(arguments) = arguments.as_object_mut().filter(|_| !self.fixed.is_empty()) {
            arguments.extend(self.fixed.clone());
        }
    }
}

/// Everything callable under one preset.
pub struct Catalog {
    /// Name of the preset.
    pub preset: Arc<str>,
    /// Which one this is.
    pub generation: Generation,
    /// Whether clients get output schemas and structured replies. Tools that call tools always do.
    pub structured: Structured,
    /// Why sources do not list what they should, by source.
    pub problems: Vec<(SourceId, String)>,
    /// What there is besides tools.
    pub offered: Offered,
    /// What gates of this preset may reach of servers.
    pub proxied: Proxied,
    /// Which calls come after which.
    pub workflow: Vec<Step>,
    /// Sources that were never listed.
    pending: Vec<PendingListing>,
    /// Patterns of the preset that match none of its tools. Tools behind its gates are not looked at;
    /// see [`Proxied::matches`].
    pub unmatched: Vec<UnmatchedPattern>,
    /// The directory of the project, if the preset names one.
    pub project: Option<PathBuf>,
    entries: Vec<Arc<Entry>>,
    by_name: HashMap<ExposedName, usize>,
}

impl Catalog {
    /// Names every tool, takes away what the preset denies, adds its aliases and sorts by name.
    pub fn build(exposure: &Exposure, mut offers: Vec<SourceListing>) -> Result<Self, CatalogError> {
        let pending = offers.iter_mut().filter_map(|offer| offer.pending.take()).collect();
        let mut entries: Vec<Entry> = Vec::new();
        for offer in &offers {
            let params = with_defaults(&offer.listing.params_schema, &offer.params);
            let params: Arc<str> = Value::Object(params).to_string().into();
            for tool in &offer.listing.tools {
                let entry = Entry::exposed(exposure, &offer.source, &offer.listing, tool, &params)?;
                let Some(mut entry) = entry else { continue };
                entry.rank = entries.len();
                entries.push(entry);
            }
        }
        let offered = Offered::new(&offers)?;
        let filters = filters::of(exposure, &offers)?;
        let problems: Vec<_> = offers
            .into_iter()
            .filter_map(|offer| Some((offer.source.id().clone(), offer.problem?)))
            .collect();
        alias::add(exposure, &mut entries, problems.is_empty())?;
        filters::attach(exposure, &filters, &mut entries);
        let approvals = approval::attach(exposure, &mut entries);
        let unmatched = exposure.unmatched(&entries);
        entries.retain(|entry| exposure.denied_by(entry.name.as_str()).is_none());
        entries.iter_mut().for_each(|entry| entry.listed &= exposure.shows(&entry.names()));
        filters::leave_out_idle(exposure, &filters, &mut entries);
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return Err(CatalogError::Collision {
                name: pair[0].name.to_string(),
                first: pair[0].id.source.name().to_string(),
                second: pair[1].id.source.name().to_string(),
                mend: alias::mend(exposure, &entries, &pair[0].name),
            });
        }
        // What a server lists can change, and what is not listed now may come back.
        let lists_all =
            problems.is_empty() && !exposure.sources.iter().any(|(id, _)| matches!(id, SourceId::Server(_)));
        if lists_all {
            let preset = exposure.preset.clone();
            workflow::check(&exposure.workflow, &entries)
                .map_err(|why| CatalogError::BadWorkflow { preset, why })?;
        }
        let by_name = entries.iter().enumerate().map(|(index, entry)| (entry.name.clone(), index)).collect();
        Ok(Self {
            preset: exposure.preset.as_str().into(),
            generation: Generation::next(),
            structured: exposure.structured,
            problems,
            offered,
            proxied: Proxied::new(exposure, approvals),
            workflow: exposure.workflow.clone(),
            pending,
            unmatched,
            project: exposure.project.clone(),
            entries: entries.into_iter().map(Arc::new).collect(),
            by_name,
        })
    }

    /// Whether sources were never listed, so that what there is besides tools is not known either.
    pub fn awaits_listings(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Returns until when a client is kept waiting for sources that list something for the first time. `None` if there is
    /// nothing to wait for.
    pub fn listing_deadline(&self) -> Option<Instant> {
        let deadlines = self.pending.iter().filter_map(|pending| pending.until);
        deadlines.max().filter(|until| *until > Instant::now())
    }

    /// The tool of this name, if the preset exposes one.
    pub fn get(&self, name: &str) -> Option<&Arc<Entry>> {
        self.by_name.get(name).and_then(|index| self.entries.get(*index))
    }

    /// The tool of this name. A tool that the preset hides is as unknown as one that does not exist.
    pub fn find(&self, name: &str) -> Result<&Arc<Entry>, Fault> {
        self.get(name).ok_or_else(|| {
            let near = names::did_you_mean(name, self.names());
            Fault::new(FaultKind::UnknownTool, format!("Unknown tool: '{}'.{near}", names::quoted(name, 64)))
        })
    }

    /// Every tool, sorted by name.
    pub fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    /// Every tool in the order of the preset's gates, aliases last.
    pub fn in_gate_order(&self) -> Vec<&Arc<Entry>> {
        let mut entries: Vec<&Arc<Entry>> = self.entries.iter().collect();
        entries.sort_by_key(|entry| entry.rank);
        entries
    }

    /// Every name, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// The name under which a tool is exposed that some source declares as `declared`.
    pub fn exposed_name(&self, declared: &str) -> Option<&str> {
        let own = self.get(declared).filter(|entry| &*entry.spec.name == declared);
        own.or_else(|| self.entries.iter().find(|entry| &*entry.spec.name == declared))
            .map(|e| e.name.as_str())
    }
}
