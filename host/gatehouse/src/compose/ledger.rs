//! The ledger of a host, if enabled.

use std::sync::Arc;

use gatehouse_core::ports::Clock;
use gatehouse_stores::{LedgerHealth, SqliteLedger};
use tokio::sync::watch;

use super::HostStores;
use crate::config::Config;

/// Creates the ledger, which opens its database on first use. `None` if it is disabled.
pub(super) fn from_config(config: &Config, clock: &Arc<dyn Clock>) -> Option<Arc<SqliteLedger>> {
    let path = config.state.join("ledger.db");
    let kept = config.ledger.enabled.then_some(config.ledger.retention_days)?;
    Some(Arc::new(SqliteLedger::new(path, kept, Arc::clone(clock))))
}

impl HostStores {
    /// Returns the health of the ledger, which never changes if the ledger is disabled.
    pub(crate) fn ledger_health(&self) -> watch::Receiver<LedgerHealth> {
        match &self.ledger {
            Some(ledger) => ledger.health(),
            None => watch::channel(LedgerHealth::default()).1,
        }
    }
}
