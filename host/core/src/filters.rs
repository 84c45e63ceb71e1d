//! Attachment of filter gates to the tools whose replies they process, by the preset or by default. A filter never
//! processes replies of its own gate.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    call::CallContext,
    call_time::CallDeadline,
    catalog::{CatalogError, SourceListing, ToolEntry},
    outcome::Reply,
    preset::CompiledPreset,
    schema::with_defaults,
    source::Source,
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
    exposure: &CompiledPreset,
    offers: &[SourceListing],
) -> Result<Vec<Arc<AttachedFilter>>, CatalogError> {
    let mut filters = Vec::new();
    for offer in offers {
        let gate = offer.source.id().name();
        if offer.listing.filter {
            let params = with_defaults(&offer.listing.params_schema, &offer.params);
            let params = Value::Object(params).to_string().into();
            filters.push(Arc::new(AttachedFilter { source: Arc::clone(&offer.source), params }));
        } else if exposure.filtering_gates().any(|named| named == &**gate) {
            let (preset, gate) = (exposure.preset.clone(), gate.to_string());
            return Err(CatalogError::BadFilter { preset, gate });
        }
    }
    Ok(filters)
}

pub(crate) fn attach(exposure: &CompiledPreset, filters: &[Arc<AttachedFilter>], entries: &mut [ToolEntry]) {
    if !exposure.filters_on || filters.is_empty() {
        return;
    }
    for entry in entries {
        let known = entry.names();
        let attached = filters.iter().filter(|filter| {
            let id = filter.source.id();
            *id != entry.id.source && exposure.filters_tool(id.name(), &known)
        });
        entry.filters = attached.cloned().collect();
    }
}

/// Removes the tools of filter gates that filter nothing: they serve stored replies, and there are none. If the preset
/// turns filters off, the tools stay for data from other sources.
pub(crate) fn remove_idle(
    exposure: &CompiledPreset,
    filters: &[Arc<AttachedFilter>],
    entries: &mut Vec<ToolEntry>,
) {
    if !exposure.filters_on {
        return;
    }
    for filter in filters.iter().filter(|filter| !exposure.disables_filter(filter.source.id().name())) {
        let is_attached =
            |entry: &ToolEntry| entry.filters.iter().any(|attached| Arc::ptr_eq(attached, filter));
        if !entries.iter().any(is_attached) {
            entries.retain(|entry| entry.id.source != *filter.source.id());
        }
    }
}
