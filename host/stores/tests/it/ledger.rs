//! The ledger in a file: calls do not wait for it, and it survives kills.

mod killed;
mod trouble;

use std::{path::PathBuf, sync::Arc};

use gatehouse_core::{
    FaultKind,
    ports::{
        CallLedger as _, Clock as _,
        ledger::{CallSample, MetricsFilter, SampleEnding},
    },
};
use gatehouse_stores::LedgerTables;

use crate::{
    ledger_behaviours::{self, DAY, RETENTION, all},
    support::{TestClock, clock},
};

struct Place {
    _dir: tempfile::TempDir,
    path: PathBuf,
    clock: Arc<TestClock>,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { path: dir.path().join("state/ledger.db"), _dir: dir, clock: clock() }
    }

    fn ledger(&self) -> LedgerTables {
        LedgerTables::sqlite(self.path.clone(), RETENTION, Arc::clone(&self.clock) as _)
    }

    fn call(&self, tool: &str, ending: SampleEnding) -> CallSample {
        ledger_behaviours::call(self.clock.now_ms(), tool, ending)
    }

    fn rows(&self, table: &str) -> i64 {
        let db = rusqlite::Connection::open(&self.path).unwrap();
        db.query_row(&format!("SELECT count(*) FROM ledger_{table}"), [], |row| row.get(0)).unwrap()
    }
}
