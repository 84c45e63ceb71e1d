//! The ledger in `gatehouse status`.

use std::{fmt, path::PathBuf};

use gatehouse_core::ports::{CallLedger as _, ledger::MetricsFilter};
use serde::Serialize;

use crate::compose::Composition;

#[derive(Serialize)]
pub(super) struct LedgerStatus {
    enabled: bool,
    address: PathBuf,
    retention_days: u32,
    tools: usize,
    calls: u64,
}

impl LedgerStatus {
    pub(super) async fn read(composition: &Composition) -> Result<Self, String> {
        let config = &composition.config;
        let (retention_days, address) = (config.ledger.retention_days, config.state.join("ledger.db"));
        let mut shown = Self { enabled: config.ledger.enabled, address, retention_days, tools: 0, calls: 0 };
        // Reading metrics must not create the database.
        if let Some(ledger) = composition.stores.ledger.as_ref().filter(|_| shown.address.exists()) {
            let metrics = ledger.metrics(&MetricsFilter::default()).await;
            let metrics = metrics.map_err(|fault| fault.in_one_line())?;
            shown.tools = metrics.len();
            shown.calls = metrics.iter().map(|one| one.calls).sum();
        }
        Ok(shown)
    }
}

impl fmt::Display for LedgerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { enabled, address, retention_days, tools, calls } = self;
        if !enabled {
            return write!(f, "off: enabled = false under [ledger] in presets.toml");
        }
        write!(
            f,
            "{calls} calls of {tools} tools in {}, each stored for {retention_days} days",
            address.display()
        )
    }
}
