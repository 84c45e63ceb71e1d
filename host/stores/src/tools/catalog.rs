//! All servers and their tools at one generation.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, OnceLock},
};

use gatehouse_core::{
    Fault, SourceId, ToolSpec,
    ports::tool_index::KnownListing,
    search::{RowSet, tools::ToolSegment},
};

use crate::worker::run_blocking;

#[derive(Default)]
pub(super) struct Catalog {
    /// 0 if nothing was read yet.
    pub(super) generation: i64,
    pub(super) servers: BTreeMap<String, Arc<CatalogServer>>,
}

pub(super) struct CatalogServer {
    /// The generation that stored its record.
    pub(super) changed: i64,
    pub(super) known: KnownListing,
    source: SourceId,
    /// Number of each tool's item.
    numbers: Vec<Option<i64>>,
    places: HashMap<Arc<str>, usize>,
    segment: OnceLock<ToolSegment>,
}

impl CatalogServer {
    pub(super) fn new(name: &str, changed: i64, known: KnownListing, numbers: Vec<Option<i64>>) -> Arc<Self> {
        let source = SourceId::Server(name.into());
        let names = known.tools.iter().map(|tool| Arc::clone(&tool.name));
        let places = names.enumerate().map(|(place, name)| (name, place)).collect();
        Arc::new(Self { changed, known, source, numbers, places, segment: OnceLock::new() })
    }

    pub(super) fn spec(&self, tool: &str) -> Option<&Arc<ToolSpec>> {
        self.known.listing.tools.get(*self.places.get(tool)?)
    }

    fn segment(&self) -> &ToolSegment {
        self.segment.get_or_init(|| ToolSegment::new(&self.source, &self.known.listing.tools))
    }
}

impl Catalog {
    pub(super) fn len(&self) -> usize {
        self.servers.values().map(|server| server.numbers.len()).sum()
    }

    /// Indexes new servers for searches, which takes long for many tools.
    pub(super) async fn index(self: &Arc<Self>) -> Result<(), Fault> {
        if self.servers.values().all(|server| server.segment.get().is_some()) {
            return Ok(());
        }
        let catalog = Arc::clone(self);
        let index = move || {
            catalog.segments();
            Ok(())
        };
        run_blocking(index).await
    }

    /// Returns the indexed tools of each server.
    pub(super) fn segments(&self) -> Vec<&ToolSegment> {
        self.servers.values().map(|server| server.segment()).collect()
    }

    /// Returns the cosine of each tool, in the order of the segments, by that of its item.
    pub(super) fn cosines(&self, by_number: &HashMap<i64, Option<f32>>) -> Vec<Option<f32>> {
        let numbers = self.servers.values().flat_map(|server| &server.numbers);
        numbers.map(|number| by_number.get(number.as_ref()?).copied().flatten()).collect()
    }

    /// Returns the places of the quarantined tools, in the order of the segments.
    pub(super) fn quarantined(&self) -> RowSet {
        let tools = self.servers.values().flat_map(|server| server.known.tools.iter());
        let held = tools.enumerate().filter(|(_, tool)| tool.quarantine_reason.is_some());
        held.map(|(place, _)| place).collect()
    }
}
