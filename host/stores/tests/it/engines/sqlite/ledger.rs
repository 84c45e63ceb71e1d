//! The ledger on SQLite.

use std::{path::PathBuf, sync::Arc};

use gatehouse_core::ports::Clock;
use gatehouse_stores::LedgerTables;
use rusqlite::Connection;

use super::Sqlite;
use crate::{
    engines::LedgerFixture,
    ledger_behaviours::{RETENTION, ledger_behaviours},
};

fn file(place: &Sqlite) -> PathBuf {
    place.dir.path().join("state/ledger.db")
}

impl LedgerFixture for Sqlite {
    fn open_ledger(&self, clock: Arc<dyn Clock>) -> LedgerTables {
        LedgerTables::sqlite(file(self), RETENTION, clock)
    }

    async fn ledger_rows(&self, table: &str) -> i64 {
        let count = format!("SELECT count(*) FROM ledger_{table}");
        Connection::open(file(self)).unwrap().query_row(&count, [], |row| row.get(0)).unwrap()
    }
}

ledger_behaviours!(Sqlite);
