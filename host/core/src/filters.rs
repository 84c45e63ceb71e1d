//! Which filters change the replies of which tools: as the preset says, or by default those of servers and of the tools
//! that run other tools. A filter never changes what its own gate replies.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    call::CallContext,
    call_time::CallDeadline,
    catalog::{CatalogError, Entry, SourceListing},
    outcome::Reply,
    preset::Exposure,
    schema::with_defaults,
    source::Source,
};

/// What a filter is attached to where the preset says nothing.
pub const DEFAULT: [&str; 3] = ["server:*", "run_code", "call_tool"];

/// A filter with what the preset gives it.
pub struct AttachedFilter {
    /// Who filters.
    pub source: Arc<dyn Source>,
    /// The preset's parameters with defaults, as JSON text.
    pub params: Arc<str>,
}

/// A reply on its way to the client, as a filter is asked about it.
#[derive(Clone)]
pub struct Filtering {
    /// The call that it is the reply of, as [`CallContext::for_filter`] gives it.
    pub context: Arc<CallContext>,
    /// The tool that was called.
    pub tool: Arc<Entry>,
    /// The arguments as the client sent them.
    pub arguments: Arc<Value>,
    /// The preset's parameters for the filter with defaults, as JSON text.
    pub params: Arc<str>,
    /// The reply.
    pub reply: Arc<Reply>,
    /// When the filter has to be done.
    pub deadline: CallDeadline,
}

/// The filters among these sources, in their order. Faults where the preset names a gate that is none.
pub(crate) fn of(
    exposure: &Exposure,
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
pub(crate) fn attach(exposure: &Exposure, filters: &[Arc<AttachedFilter>], entries: &mut [Entry]) {
    if !exposure.filters_on || filters.is_empty() {
        return;
    }
    for entry in entries {
        let known = entry.names();
        let attached = filters.iter().filter(|filter| {
            let id = filter.source.id();
            *id != entry.id.source && exposure.filtered_by(id.name(), &known)
        });
        entry.filters = attached.cloned().collect();
    }
}
