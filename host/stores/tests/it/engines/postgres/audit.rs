//! The audit on PostgreSQL.

use std::{sync::Arc, time::Duration};

use gatehouse_core::{
    FaultKind,
    ports::{AuditLog as _, Clock},
};
use gatehouse_stores::{AuditFilter, AuditTables, PostgresConfig};

use super::{Postgres, server::Database};
use crate::{
    audit_behaviours::{NAME, audit_behaviours, entry},
    engines::AuditFixture,
    support::{
        clock,
        proxy::{Network, Proxy},
    },
};

impl AuditFixture for Postgres {
    fn open_audit(&self, clock: Arc<dyn Clock>) -> AuditTables {
        AuditTables::postgres(PostgresConfig::parse(&self.database.url()).unwrap(), 10, clock)
    }

    async fn unprotect_audit(&self) {
        for table in ["audit_entry", "audit_principal"] {
            self.change_audit(&format!("ALTER TABLE {table} DISABLE TRIGGER USER")).await.unwrap();
        }
    }

    async fn change_audit(&self, sql: &str) -> Result<(), String> {
        let client = self.database.connect().await;
        let changed = client.batch_execute(&format!("SET search_path = gatehouse; {sql}")).await;
        changed.map_err(|error| error.as_db_error().unwrap().message().to_owned())
    }
}

audit_behaviours!(Postgres);

#[tokio::test]
async fn entries_wait_while_the_server_is_gone() {
    let Some(mut database) = Database::breakable().await else { return };
    let mut server = PostgresConfig::parse(&database.url()).unwrap();
    (server.times.first_pause, server.times.longest_pause) = (Duration::ZERO, Duration::ZERO);
    let audit = AuditTables::postgres(server, 10, clock());
    audit.commit(entry(NAME, "before")).await.unwrap();
    database.server.as_mut().unwrap().crash();
    let fault = audit.commit(entry(NAME, "meanwhile")).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unavailable);
    assert!(fault.message.starts_with("audit 'postgres' at 127.0.0.1"), "{fault}");
    assert!(audit.check().await.is_err(), "calls that change something are refused");
    database.server.as_mut().unwrap().run();
    assert_eq!(audit.check().await, Ok(()));
    let report = audit.verify().await.unwrap();
    assert_eq!((report.entries, report.broken), (2, None));
}

#[tokio::test]
async fn entries_whose_commit_was_not_confirmed_are_there_once() {
    let Some(database) = Database::breakable().await else { return };
    let proxy = Proxy::to(database.server.as_ref().unwrap().port, Network::Whole).await;
    let mut server = PostgresConfig::parse(&database.url_at(proxy.port())).unwrap();
    (server.times.first_pause, server.times.longest_pause) = (Duration::ZERO, Duration::ZERO);
    let audit = AuditTables::postgres(server, 10, clock());
    audit.commit(entry(NAME, "before")).await.unwrap();
    proxy.turn(Network::CutsCommits);
    assert_eq!(audit.commit(entry(NAME, "meanwhile")).await.unwrap_err().kind, FaultKind::Unavailable);
    proxy.turn(Network::Whole);
    audit.commit(entry(NAME, "after")).await.unwrap();
    let entries = audit.search(&AuditFilter { limit: 10, ..AuditFilter::default() }).await.unwrap();
    let tools: Vec<_> = entries.into_iter().filter_map(|entry| entry.tool).collect();
    assert_eq!(tools, ["before", "meanwhile", "after"]);
    assert_eq!(audit.verify().await.unwrap().broken, None);
}
