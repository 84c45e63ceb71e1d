//! The pipeline of this host, outermost stage first.

use std::sync::Arc;

use gatehouse_core::{
    ledger_observer::LedgerObserver,
    pipeline::{
        AdmitStage, ApproveStage, CallLog, CallObserver, CompactStage, ConformStage, DeadlineStage,
        ObserveStage, Pipeline, RescueStage, RespondStage, SpliceStage, ValidateStage, WorkflowStage,
    },
    ports::{ArtifactService, Clock as _, PortSetup},
};

use super::{Composition, SystemClock, marks};

/// Kind of unauthenticated callers.
pub(crate) enum AnonymousCallers {
    /// Clients of this host. Each host process has its own.
    HostClients,
    /// Shell commands, which are the same caller in every process.
    Commands,
}

impl AnonymousCallers {
    /// Returns the number that identifies these callers across hosts.
    fn number(&self) -> u64 {
        match self {
            Self::HostClients => (SystemClock.now_ms() << 22) | u64::from(std::process::id()),
            Self::Commands => 0,
        }
    }
}

impl Composition {
    pub(crate) fn stages(&self, callers: &AnonymousCallers) -> Pipeline {
        pipeline(Arc::clone(&self.artifacts) as _, self.observers(callers))
    }

    fn observers(&self, callers: &AnonymousCallers) -> Vec<Box<dyn CallObserver>> {
        let ledger = self.stores.ledger.clone().map(|ledger| {
            let observer = LedgerObserver::new(ledger, Arc::new(SystemClock), callers.number());
            Box::new(observer) as Box<dyn CallObserver>
        });
        std::iter::once(Box::new(CallLog) as Box<dyn CallObserver>).chain(ledger).collect()
    }
}

/// Creates the pipeline that every call passes. [`gatehouse_core::pipeline`] explains the order.
pub(crate) fn pipeline(
    artifacts: Arc<dyn PortSetup<dyn ArtifactService>>,
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
