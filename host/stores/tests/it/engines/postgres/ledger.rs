//! The ledger on PostgreSQL.

use std::{sync::Arc, time::Duration};

use gatehouse_core::ports::{CallLedger as _, Clock, ledger::SampleEnding};
use gatehouse_stores::{LedgerTables, PostgresConfig};

use super::{Postgres, server::Database};
use crate::{
    engines::LedgerFixture,
    ledger_behaviours::{RETENTION, all, call, ledger_behaviours},
    support::{
        clock,
        proxy::{Network, Proxy},
    },
};

impl LedgerFixture for Postgres {
    fn open_ledger(&self, clock: Arc<dyn Clock>) -> LedgerTables {
        LedgerTables::postgres(PostgresConfig::parse(&self.database.url()).unwrap(), RETENTION, clock)
    }

    async fn ledger_rows(&self, table: &str) -> i64 {
        self.database.number(&format!("SELECT count(*) FROM gatehouse.ledger_{table}")).await
    }
}

ledger_behaviours!(Postgres);

#[tokio::test]
async fn calls_wait_while_the_server_is_gone() {
    let Some(mut database) = Database::breakable().await else { return };
    let mut server = PostgresConfig::parse(&database.url()).unwrap();
    (server.times.first_pause, server.times.longest_pause) = (Duration::ZERO, Duration::ZERO);
    let (clock, ledger) = (clock(), LedgerTables::postgres(server, RETENTION, clock()));
    let record = || ledger.record(call(clock.now_ms(), "read", SampleEnding::Replied));
    record();
    ledger.flush().await.unwrap();
    database.server.as_mut().unwrap().crash();
    record();
    assert!(ledger.flush().await.is_err());
    assert!(ledger.health().borrow().trouble.clone().unwrap().contains("ledger 'postgres' at 127.0.0.1"));
    database.server.as_mut().unwrap().run();
    record();
    ledger.flush().await.unwrap();
    assert_eq!((all(&ledger).await[0].calls, ledger.health().borrow().lost), (3, 0));
}

#[tokio::test]
async fn calls_whose_commit_was_not_confirmed_count_once() {
    let Some(database) = Database::breakable().await else { return };
    let proxy = Proxy::to(database.server.as_ref().unwrap().port, Network::Whole).await;
    let mut server = PostgresConfig::parse(&database.url_at(proxy.port())).unwrap();
    (server.times.first_pause, server.times.longest_pause) = (Duration::ZERO, Duration::ZERO);
    let (clock, ledger) = (clock(), LedgerTables::postgres(server, RETENTION, clock()));
    let record = || ledger.record(call(clock.now_ms(), "read", SampleEnding::Replied));
    record();
    ledger.flush().await.unwrap();
    proxy.turn(Network::CutsCommits);
    record();
    record();
    assert!(ledger.flush().await.is_err());
    proxy.turn(Network::Whole);
    record();
    ledger.flush().await.unwrap();
    assert_eq!((all(&ledger).await[0].calls, ledger.health().borrow().lost), (4, 0));
}
