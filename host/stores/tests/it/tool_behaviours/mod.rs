//! Behaviors that every tool catalog must have, like [`behaviours`](crate::behaviours) for the knowledge graph.

pub(crate) mod listings;
pub(crate) mod review;

use std::sync::Arc;

use gatehouse_core::{
    ToolId, ToolSpec,
    ports::{
        Embedder, ToolIndex as _,
        tool_index::{ChangePolicy, IndexedListing, PendingChange, ToolSearchRequest, ToolSearchResult},
    },
    source::Listing,
};
use gatehouse_stores::ToolCatalogStore;
use serde_json::{Value, json};

use crate::{
    engines::ToolFixture,
    support::{TestClock, clock},
};

macro_rules! tool_behaviours {
    ($fixture:ty) => {
        $crate::behaviours::tests! { $fixture, tool_behaviours;
            listings {
                only_changes_are_written_and_they_survive_a_restart,
                tools_are_found_by_words_and_filtered_tools_leave_no_trace,
                a_changed_definition_is_quarantined_until_approved_by_digest,
                a_tool_that_promises_less_than_it_did_is_a_change,
                a_declared_effect_counts_until_the_definition_changes,
                a_weaker_promise_counts_after_it_is_approved_and_survives_a_gap_in_the_list,
                the_first_search_after_a_listing_waits_for_vectors,
            }
            review {
                a_tool_that_returns_to_the_list_is_unchanged_or_quarantined,
                a_new_name_is_quarantined_and_approved_by_digest,
                resources_and_prompts_are_reviewed_too,
                an_incomplete_list_removes_nothing_and_keeps_approvals,
                incomplete_lists_do_not_add_up_without_end,
                titles_icons_and_meta_are_part_of_a_definition,
                quarantine_starts_with_the_previous_definitions,
            }
        }
    };
}

pub(crate) use tool_behaviours;

pub(crate) struct Place<F> {
    engine: F,
    pub(crate) clock: Arc<TestClock>,
}

impl<F: ToolFixture> Place<F> {
    pub(crate) fn new(engine: F) -> Self {
        Self { engine, clock: clock() }
    }

    pub(crate) fn open(&self) -> ToolCatalogStore {
        self.open_with(None)
    }

    pub(crate) fn open_with(&self, embedder: Option<Arc<dyn Embedder>>) -> ToolCatalogStore {
        self.engine.open_tools(Arc::clone(&self.clock) as _, embedder)
    }
}

pub(crate) fn tool(name: &str, description: &str, properties: Value) -> Arc<ToolSpec> {
    let schema = json!({"type": "object", "properties": properties});
    Arc::new(ToolSpec {
        input_schema: Arc::new(schema.as_object().cloned().unwrap()),
        ..ToolSpec::new(name, description)
    })
}

pub(crate) fn files() -> Vec<Arc<ToolSpec>> {
    vec![
        tool("read_file", "Read the contents of a file on disk.", json!({"path": {"type": "string"}})),
        tool("move_file", "Move or rename a file or a directory.", json!({"source": {}, "destination": {}})),
    ]
}

pub(crate) fn listing(server: &str, tools: Vec<Arc<ToolSpec>>, on_change: ChangePolicy) -> IndexedListing {
    let listing = Arc::new(Listing { name: server.into(), tools, ..Listing::default() });
    IndexedListing { server: server.into(), tags: Vec::new(), listing, on_change }
}

pub(crate) async fn search(
    book: &ToolCatalogStore,
    query: &str,
    may_find: impl Fn(&ToolId) -> bool + Send + Sync,
) -> ToolSearchResult {
    let question = ToolSearchRequest { query: query.into(), limit: 10, min_score: 0.0 };
    book.search(&question, &may_find).await.unwrap()
}

pub(crate) fn before(held: &PendingChange) -> &str {
    held.before.as_deref().unwrap_or_default()
}

pub(crate) fn names(found: &ToolSearchResult) -> Vec<&str> {
    found.hits.iter().map(|hit| &*hit.id.name).collect()
}
