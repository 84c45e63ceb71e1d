//! Attachment of filter gates to the tools whose replies they process, by the preset or by default. A filter never
//! processes replies of its own gate.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    CallContext, CallDeadline, CompiledPreset, Reply, Source, ToolEntry,
    catalog::{CatalogError, SourceListing},
};

pub const DEFAULT_TARGETS: [&str; 5] = ["server:*", "run_code", "run_script", "call_tool", "request"];

pub struct AttachedFilter {
    pub source: Arc<dyn Source>,
    /// The preset's parameters with defaults, as JSON text.
    pub params: Arc<str>,
}

/// A reply for a filter to process.
#[derive(Clone)]
pub struct FilterRequest {
    /// Context from [`CallContext::for_filter`].
    pub context: Arc<CallContext>,
    /// The called tool; for one that only forwarded a call, the tool behind it.
    pub tool: Arc<ToolEntry>,
    pub arguments: Arc<Value>,
    /// The filter's parameters with defaults, as JSON text.
    pub params: Arc<str>,
    pub reply: Arc<Reply>,
    pub deadline: CallDeadline,
}

/// Returns the filters in order. Fails if the preset names a gate that is not a filter.
pub(crate) fn attached_filters(
    preset: &CompiledPreset,
    listings: &[SourceListing],
) -> Result<Vec<Arc<AttachedFilter>>, CatalogError> {
    let mut filters = Vec::new();
    for listed in listings {
        let gate = listed.source.id().name();
        if listed.listing.filter {
            let params = listed.params_text();
            filters.push(Arc::new(AttachedFilter { source: Arc::clone(&listed.source), params }));
        } else if preset.filtering_gates().any(|named| named == &**gate) {
            let (preset, gate) = (preset.preset.clone(), gate.to_string());
            return Err(CatalogError::BadFilter { preset, gate });
        }
    }
    Ok(filters)
}

pub(crate) fn attach(preset: &CompiledPreset, filters: &[Arc<AttachedFilter>], entries: &mut [ToolEntry]) {
    if !preset.filters_on || filters.is_empty() {
        return;
    }
    for entry in entries {
        let pattern_names = entry.pattern_names();
        let attached = filters.iter().filter(|filter| {
            let id = filter.source.id();
            *id != entry.id.source && preset.filters_tool(id.name(), &pattern_names)
        });
        entry.filters = attached.cloned().collect();
    }
}

/// Removes the tools of filter gates that filter nothing: they serve stored replies, and there are none. If the preset
/// turns filters off, the tools stay for data from other sources.
pub(crate) fn remove_idle(
    preset: &CompiledPreset,
    filters: &[Arc<AttachedFilter>],
    entries: &mut Vec<ToolEntry>,
) {
    if !preset.filters_on {
        return;
    }
    for filter in filters.iter().filter(|filter| !preset.disables_filter(filter.source.id().name())) {
        let is_attached =
            |entry: &ToolEntry| entry.filters.iter().any(|attached| Arc::ptr_eq(attached, filter));
        if !entries.iter().any(is_attached) {
            entries.retain(|entry| entry.id.source != *filter.source.id());
        }
    }
}
