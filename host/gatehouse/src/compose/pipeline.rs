//! The stages of this host, outermost first, each with what it needs.

use std::sync::Arc;

use gatehouse_core::{
    pipeline::{
        AdmitStage, ApproveStage, CallLog, CallObserver, CompactStage, ConformStage, DeadlineStage,
        ObserveStage, Pipeline, RescueStage, RespondStage, SpliceStage, ValidateStage, WorkflowStage,
    },
    ports::{ArtifactService, Clock as _},
    ledger_observer::LedgerObserver,
};

use super::{Composition, SystemClock, marks};

/// Who calls without a name.
pub(crate) enum AnonymousCallers {
    /// The clients of this host: callers of their own.
    HostClients,
    /// People at a shell, who are the same whatever process their commands are.
    Commands,
}

impl AnonymousCallers {
    /// Their number among hosts.
    fn number(&self) -> u64 {
        match self {
            Self::HostClients => (SystemClock.now_ms() << 22) | u64::from(std::process::id()),
            Self::Commands => 0,
        }
    }
}

impl Composition {
    /// The pipeline of this composition's calls.
    pub(crate) fn stages(&self, callers: &AnonymousCallers) -> Pipeline {
        pipeline(Arc::clone(&self.artifacts) as _, self.observers(callers))
    }

    /// Who is told of every call.
    fn observers(&self, callers: &AnonymousCallers) -> Vec<Box<dyn CallObserver>> {
        let ledger = self.stores.ledger.clone().map(|ledger| {
            let observer = LedgerObserver::new(ledger, Arc::new(SystemClock), callers.number());
            Box::new(observer) as Box<dyn CallObserver>
        });
        std::iter::once(Box::new(CallLog) as Box<dyn CallObserver>).chain(ledger).collect()
    }
}

/// The pipeline that every call passes. [`gatehouse_core::pipeline`] says why in this order.
pub(crate) fn pipeline(
    artifacts: Arc<dyn ArtifactService>,
    observers: Vec<Box<dyn CallObserver>>,
) -> Pipeline {
    Pipeline::new(vec![
        Arc::new(RespondStage),
        Arc::new(ObserveStage::new(observers)),
        Arc::new(AdmitStage),
        Arc::new(DeadlineStage),
        Arc::new(SpliceStage::new(artifacts)),
        Arc::new(ValidateStage),
        Arc::new(WorkflowStage::new(marks::file_marks())),
        Arc::new(ApproveStage::default()),
        Arc::new(CompactStage::default()),
        Arc::new(RescueStage),
        Arc::new(ConformStage),
    ])
}
