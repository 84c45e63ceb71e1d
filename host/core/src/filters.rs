//! Which filters change the replies of which tools: as the preset says, or by default those of servers and of the tools
//! that run other tools. A filter never changes what its own gate replies.

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

/// What a filter is attached to where the preset says nothing.
pub const DEFAULT_TARGETS: [&str; 5] = ["server:*", "run_code", "run_script", "call_tool", "request"];

/// A filter with what the preset gives it.
pub struct AttachedFilter {
    /// Who filters.
    pub source: Arc<dyn Source>,
    /// The preset's parameters with defaults, as JSON text.
    pub params: Arc<str>,
}

/// A reply on its way to the client, as a filter is asked about it.
#[derive(Clone)]
pub struct FilterRequest {
    /// The call that it is the reply of, as [`CallContext::for_filter`] gives it.
    pub context: Arc<CallContext>,
    /// The tool that was called. Of a tool that only passed one call on, the tool that it called.
    pub tool: Arc<ToolEntry>,
    /// The arguments of that call as they were sent.
    pub arguments: Arc<Value>,
    /// The preset's parameters for the filter with defaults, as JSON text.
    pub params: Arc<str>,
    /// The reply.
    pub reply: Arc<Reply>,
    /// When the filter has to be done.
    pub deadline: CallDeadline,
}

/// The filters among these sources, in their order. Faults where the preset names a gate that is none.
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

/// Attaches filters to tools.
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

/// Leaves out the tools of gates whose filter has no tool to filter: they serve what the filter keeps, and it keeps nothing.
/// Where filters are switched off, all of them or this one, the tools stay, for what is kept otherwise.
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
