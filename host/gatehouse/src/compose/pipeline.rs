//! The stages of this host, outermost first, each with what it needs.

use std::sync::Arc;

use gatehouse_core::{
    pipeline::{Admit, CallLog, Compact, Conform, Deadline, Observe, Pipeline, Splice, Validate},
    ports::Artifacts,
};

/// The pipeline that every call passes. [`gatehouse_core::pipeline`] says why in this order.
pub(crate) fn pipeline(artifacts: Arc<dyn Artifacts>) -> Pipeline {
    Pipeline::new(vec![
        Arc::new(Observe::new(vec![Box::new(CallLog)])),
        Arc::new(Admit),
        Arc::new(Deadline),
        Arc::new(Splice::new(artifacts)),
        Arc::new(Validate),
        Arc::new(Compact::default()),
        Arc::new(Conform),
    ])
}
