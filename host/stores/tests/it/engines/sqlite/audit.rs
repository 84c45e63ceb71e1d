//! The audit on SQLite.

use std::{path::PathBuf, sync::Arc};

use gatehouse_core::ports::Clock;
use gatehouse_stores::AuditTables;
use rusqlite::Connection;

use super::Sqlite;
use crate::{audit_behaviours::audit_behaviours, engines::AuditFixture};

fn file(place: &Sqlite) -> PathBuf {
    place.dir.path().join("state/audit.db")
}

impl AuditFixture for Sqlite {
    fn open_audit(&self, clock: Arc<dyn Clock>) -> AuditTables {
        AuditTables::sqlite(file(self), 10, clock)
    }

    async fn unprotect_audit(&self) {
        let triggers = ["entry_is_fixed", "entry_stays", "principal_is_fixed"];
        for trigger in triggers {
            self.change_audit(&format!("DROP TRIGGER {trigger}")).await.unwrap();
        }
    }

    async fn change_audit(&self, sql: &str) -> Result<(), String> {
        Connection::open(file(self)).unwrap().execute_batch(sql).map_err(|error| error.to_string())
    }
}

audit_behaviours!(Sqlite);
