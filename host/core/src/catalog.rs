//! The catalog: everything that can be called under one preset, immutable once built.

mod alias;
mod entry;
mod resource_requests;
pub mod resources_and_prompts;
mod restricted;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::{Map, Value};
use tokio::time::Instant;

pub use self::entry::{MAX_SERVER_TOKENS, OversizedServer, ToolEntry};
use crate::{
    CompiledPreset, ExposedName, Fault, FaultKind, InvalidValue, Listing, Source, SourceId,
    access::PresetAccess,
    approval, filters, names,
    patterns::UnmatchedPattern,
    preset::StructuredOutputMode,
    resources_and_prompts::ResourcesAndPrompts,
    schema::with_defaults,
    server_tools::ServerTools,
    source::PendingListing,
    surface::SurfaceMode,
    tool::NameError,
    workflow::{self, WorkflowStep},
};

/// Maximum time for which clients may use a list without asking again.
const MAX_LIST_TTL: Duration = Duration::from_secs(60);

/// Number of a catalog. Later catalogs of a host have higher numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CatalogGeneration(pub u64);

/// An error of building a catalog. The texts are for users.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    #[error("tool name collision: '{name}' in both '{first}' and '{second}' gates.{hint}")]
    Collision {
        name: String,
        first: String,
        second: String,
        /// A hint that begins with a space: ` To keep both, …`.
        hint: String,
    },
    #[error("{source_id}: tool name {reason}")]
    BadName { source_id: String, reason: NameError },
    #[error("prompt name collision: '{name}' in both {first} and {second}")]
    PromptCollision { name: String, first: String, second: String },
    /// Two sources provide resources whose URIs may be the same.
    #[error("resource collision: {first} and {second}, which may be the same URI")]
    AddressCollision { first: String, second: String },
    /// A preset uses a gate without `filter` as a filter.
    #[error("preset '{preset}': filters name gate '{gate}', which does not filter replies")]
    BadFilter { preset: String, gate: String },
    /// A workflow that can never complete.
    #[error("preset '{preset}': {reason}")]
    BadWorkflow { preset: String, reason: InvalidValue },
    /// An alias that refers to no tool, or is not a valid name.
    #[error("preset '{preset}': alias '{alias}' {reason}")]
    BadAlias { preset: String, alias: String, reason: InvalidValue },
}

impl CatalogGeneration {
    pub fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

pub struct SourceListing {
    pub source: Arc<dyn Source>,
    pub listing: Arc<Listing>,
    pub params: Map<String, Value>,
    /// Reason the listing is stale or empty. `None` if it is current.
    pub problem: Option<String>,
    /// The background request, if the source was never listed.
    pub pending: Option<PendingListing>,
}

impl SourceListing {
    /// Returns the preset's parameters with defaults, as JSON text.
    pub(crate) fn params_text(&self) -> Arc<str> {
        Value::Object(with_defaults(&self.listing.params_schema, &self.params)).to_string().into()
    }
}

#[derive(Clone)]
pub struct Catalog {
    pub preset: Arc<str>,
    pub generation: CatalogGeneration,
    /// Mode of output schemas and structured replies. Tools that call other tools always get them.
    pub structured: StructuredOutputMode,
    pub surface: SurfaceMode,
    /// True if gates may call tools of servers that the preset does not show.
    pub has_other_servers: bool,
    /// Reasons for stale or empty listings, by source.
    pub problems: Vec<(SourceId, String)>,
    /// How long clients may use its lists: zero while a listing is stale or missing, otherwise the shortest time that a
    /// server gives, at most a minute.
    pub list_ttl: Duration,
    pub resources_and_prompts: ResourcesAndPrompts,
    /// Servers and tools that the preset's gates have access to.
    pub server_tools: ServerTools,
    pub workflow: Vec<WorkflowStep>,
    /// Sources that were never listed.
    pending: Vec<(SourceId, PendingListing)>,
    /// Patterns of the preset that match no tool. Tools behind gates are checked by [`ServerTools::matches`].
    pub unmatched: Vec<UnmatchedPattern>,
    /// True if a server has too many tools for a client's context, so that some are not listed.
    pub has_oversized_servers: bool,
    /// Servers with too many tools for a client's context.
    pub crowded: Vec<OversizedServer>,
    pub project: Option<PathBuf>,
    /// Sorted by name.
    entries: Vec<Arc<ToolEntry>>,
    /// The access that restricts this catalog. `None` if it has everything that the preset exposes.
    access: Option<Arc<PresetAccess>>,
}

impl Catalog {
    /// Builds the catalog: names every tool, adds aliases, removes denied tools, and sorts by name.
    ///
    /// # Errors
    /// If tools or prompts share a name, or an alias, filter, name or workflow is invalid.
    pub fn build(preset: &CompiledPreset, mut listings: Vec<SourceListing>) -> Result<Self, CatalogError> {
        let pending = listings.iter_mut();
        let pending =
            pending.filter_map(|listed| Some((listed.source.id().clone(), listed.pending.take()?))).collect();
        let mut entries: Vec<ToolEntry> = Vec::new();
        for listed in &listings {
            let params = listed.params_text();
            for tool in &listed.listing.tools {
                let entry = ToolEntry::from_listing(preset, &listed.source, &listed.listing, tool, &params)?;
                let Some(mut entry) = entry else { continue };
                entry.rank = entries.len();
                entries.push(entry);
            }
        }
        let resources_and_prompts = ResourcesAndPrompts::new(&listings)?;
        let given_ttl = listings.iter().filter_map(|listed| listed.listing.ttl_ms).map(Duration::from_millis);
        let given_ttl = given_ttl.min().unwrap_or(MAX_LIST_TTL).min(MAX_LIST_TTL);
        let filters = filters::attached_filters(preset, &listings)?;
        let problems: Vec<_> = listings
            .into_iter()
            .filter_map(|listed| Some((listed.source.id().clone(), listed.problem?)))
            .collect();
        alias::add_aliases(preset, &mut entries, problems.is_empty())?;
        filters::attach(preset, &filters, &mut entries);
        let approvals = approval::attach(preset, &mut entries);
        let unmatched = preset.unmatched(&entries);
        entries.retain(|entry| preset.denies(&entry.id, entry.name.as_str()).is_none());
        for entry in &mut entries {
            let names = entry.pattern_names();
            entry.listed &= preset.shows(&names);
            entry.pinned = preset.pinned.matches_any(&names);
        }
        filters::remove_idle(preset, &filters, &mut entries);
        let crowded = entry::limit_servers(&mut entries);
        for server in &crowded {
            tracing::warn!(preset = %preset.preset, "{server}");
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return Err(CatalogError::Collision {
                name: pair[0].name.to_string(),
                first: pair[0].id.source.name().to_string(),
                second: pair[1].id.source.name().to_string(),
                hint: alias::collision_hint(preset, &entries, &pair[0].name),
            });
        }
        // A server's listing can change, so a tool that is missing now may appear later.
        let lists_all =
            problems.is_empty() && !preset.sources.iter().any(|(id, _)| matches!(id, SourceId::Server(_)));
        if lists_all {
            workflow::check(&preset.workflow, &entries)
                .map_err(|reason| CatalogError::BadWorkflow { preset: preset.preset.clone(), reason })?;
        }
        Ok(Self {
            preset: preset.preset.as_str().into(),
            generation: CatalogGeneration::next(),
            structured: preset.structured,
            surface: preset.surface,
            has_other_servers: preset.has_other_servers,
            list_ttl: if problems.is_empty() { given_ttl } else { Duration::ZERO },
            problems,
            resources_and_prompts,
            server_tools: ServerTools::new(preset, approvals),
            workflow: preset.workflow.clone(),
            pending,
            unmatched,
            has_oversized_servers: !crowded.is_empty(),
            crowded,
            project: preset.project.clone(),
            entries: entries.into_iter().map(Arc::new).collect(),
            access: None,
        })
    }

    /// Returns true if sources were never listed, so that their resources and prompts are unknown too.
    pub fn awaits_listings(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Returns how long clients should wait for first listings. `None` if there is nothing to wait for.
    pub fn listing_deadline(&self) -> Option<Instant> {
        let deadlines = self.pending.iter().filter_map(|(_, pending)| pending.until);
        deadlines.max().filter(|until| *until > Instant::now())
    }

    pub fn get(&self, name: &str) -> Option<&Arc<ToolEntry>> {
        let position = self.entries.binary_search_by(|entry| entry.name.as_str().cmp(name));
        position.ok().map(|place| &self.entries[place])
    }

    /// Returns the tool with this name. A hidden tool gives the same fault as one that does not exist.
    ///
    /// # Errors
    /// If the tool is unknown, or its server is not listed yet. Neither names a tool of another server.
    pub fn find(&self, name: &str) -> Result<&Arc<ToolEntry>, Fault> {
        self.get(name).ok_or_else(|| self.unknown_tool(name))
    }

    /// Like [`find`](Self::find), for a model or a gate: a tool that only interfaces may call is unknown.
    ///
    /// # Errors
    /// As of [`find`](Self::find).
    pub fn find_for_models(&self, name: &str) -> Result<&Arc<ToolEntry>, Fault> {
        self.get(name).filter(|entry| entry.spec.is_for_models()).ok_or_else(|| self.unknown_tool(name))
    }

    fn unknown_tool(&self, name: &str) -> Fault {
        let prefix_of = |id: &SourceId| {
            let prefix = format!("{}__", id.name());
            (matches!(id, SourceId::Server(_)) && name.starts_with(&prefix)).then_some(prefix)
        };
        if let Some((_, problem)) = self.problems.iter().find(|(id, _)| prefix_of(id).is_some()) {
            return Fault::unavailable(problem.clone()).hint("Call the tool again later.");
        }
        let prefix = self.entries.iter().find_map(|entry| prefix_of(&entry.id.source)).unwrap_or_default();
        let candidates =
            self.names().filter(|candidate| candidate.starts_with(&prefix) && *candidate != name);
        let suggestion = names::did_you_mean(name, candidates);
        let message = format!("Unknown tool: '{}'.{suggestion}", names::quoted(name, 64));
        Fault::new(FaultKind::UnknownTool, message)
    }

    /// Returns the exposed name of a tool that an interface calls by its server's own name.
    ///
    /// # Errors
    /// If tools of several servers have that name: MCP does not say which server an interface is from.
    pub fn app_tool(&self, name: &str) -> Result<Option<&ExposedName>, Fault> {
        let is_meant = |entry: &&Arc<ToolEntry>| {
            matches!(entry.id.source, SourceId::Server(_)) && &*entry.id.name == name
        };
        let mut candidates =
            self.entries.iter().filter(is_meant).filter(|entry| entry.declared.is_for_apps());
        let Some(first) = candidates.next() else { return Ok(None) };
        let Some(second) = candidates.find(|other| other.id != first.id) else {
            return Ok(Some(&first.name));
        };
        let display_name = names::quoted(name, 64);
        let reason =
            format!("several servers have a tool '{display_name}': {} and {}", first.name, second.name);
        Err(Fault::invalid(reason).hint("Call it by its full name."))
    }

    pub fn entries(&self) -> &[Arc<ToolEntry>] {
        &self.entries
    }

    /// Returns every tool in the order of the preset's gates, aliases last.
    pub fn in_gate_order(&self) -> Vec<&Arc<ToolEntry>> {
        let mut entries: Vec<&Arc<ToolEntry>> = self.entries.iter().collect();
        entries.sort_by_key(|entry| entry.rank);
        entries
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// Returns the exposed name of a tool that its source declares as `declared`.
    pub fn exposed_name(&self, declared: &str) -> Option<&str> {
        let unrenamed_entry = self.get(declared).filter(|entry| &*entry.spec.name == declared);
        unrenamed_entry
            .or_else(|| self.entries.iter().find(|entry| &*entry.spec.name == declared))
            .map(|e| e.name.as_str())
    }
}
