//! Values of gates on PostgreSQL.

use std::{sync::Arc, time::Duration};

use gatehouse_core::{
    outcome::FaultKind,
    ports::{Clock, KvStore as _, kv::KvQuota},
};
use gatehouse_stores::{KvTables, PostgresConfig};

use super::{Postgres, server::Database};
use crate::{
    engines::{Fixture as _, KvFixture},
    kv_behaviours::kv_behaviours,
    support::clock,
};

impl KvFixture for Postgres {
    fn open_kv(&self, clock: Arc<dyn Clock>) -> KvTables {
        KvTables::postgres(PostgresConfig::parse(&self.database.url()).unwrap(), clock)
    }

    async fn fill_kv(&self, keys: u64) {
        let rows = "INSERT INTO gatehouse.kv_entry (gate, key, owner, size, value)
             SELECT 'a', 'k' || i, '', 8, '' FROM generate_series(1, ";
        self.database.run(&format!("{rows}{keys}) AS n (i)")).await;
    }
}

kv_behaviours!(Postgres);

#[tokio::test]
async fn reading_makes_no_table() {
    let Some(place) = Postgres::fresh().await else { return };
    let kv = place.open_kv(clock());
    assert_eq!((kv.owners().await, kv.owner_bytes("ann").await), (Ok(vec![]), Ok(0)));
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = 'gatehouse'";
    assert_eq!(place.database.number(schemas).await, 0);
}

#[tokio::test]
async fn values_survive_a_crash_of_the_server_which_is_named_meanwhile() {
    let Some(mut database) = Database::breakable().await else { return };
    let mut server = PostgresConfig::parse(&database.url()).unwrap();
    (server.times.first_pause, server.times.longest_pause) = (Duration::ZERO, Duration::ZERO);
    let kv = KvTables::postgres(server, clock());
    let quota = KvQuota::of_gate(1 << 20);
    assert_eq!(kv.add("g", "n", 1, None, quota).await, Ok(1));
    database.server.as_mut().unwrap().crash();
    let fault = kv.add("g", "n", 1, None, quota).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unavailable);
    assert!(fault.message.starts_with("key-value store 'postgres' at 127.0.0.1"), "{fault}");
    database.server.as_mut().unwrap().run();
    assert_eq!(kv.add("g", "n", 1, None, quota).await, Ok(2));
}
