//! The pipeline of this host, outermost stage first.

use std::sync::Arc;

use gatehouse_core::{
    ledger_observer::LedgerObserver,
    pipeline::{
        AdmitStage, ApproveStage, AuditStage, CallLog, CallObserver, CompactStage, ConformStage,
        DeadlineStage, ObserveStage, PermitStage, Pipeline, QuotaStage, RescueStage, RespondStage,
        SpliceStage, ValidateStage, WorkflowStage,
    },
    ports::Clock as _,
};

use super::{Composition, SystemClock, marks::FileMarks};

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
    /// Creates the pipeline that every call passes. [`gatehouse_core::pipeline`] explains the order.
    pub(crate) fn stages(&self, callers: &AnonymousCallers) -> Pipeline {
        let ledger = self.stores.ledger.clone().map(|ledger| {
            let observer = LedgerObserver::new(ledger, Arc::new(SystemClock), callers.number());
            Box::new(observer) as Box<dyn CallObserver>
        });
        let observers = std::iter::once(Box::new(CallLog) as Box<dyn CallObserver>).chain(ledger).collect();
        let audit = self.stores.audit_log();
        let marks = Arc::new(FileMarks);
        Pipeline::new(vec![
            Arc::new(RespondStage),
            Arc::new(ObserveStage::new(observers)),
            Arc::new(AuditStage::new(audit, self.config.audit.reads)),
            Arc::new(AdmitStage),
            Arc::new(QuotaStage::new(Arc::clone(&self.stores.quotas))),
            Arc::new(DeadlineStage),
            Arc::new(SpliceStage::new(Arc::clone(&self.stores.artifacts) as _)),
            Arc::new(ValidateStage),
            Arc::new(PermitStage),
            Arc::new(WorkflowStage::new(marks)),
            Arc::new(ApproveStage::default()),
            Arc::new(CompactStage::default()),
            Arc::new(RescueStage),
            Arc::new(ConformStage),
        ])
        .with_quotas(Arc::clone(&self.stores.quotas))
    }
}
