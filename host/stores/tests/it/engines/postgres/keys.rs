//! API keys on PostgreSQL.

use std::time::Duration;

use gatehouse_core::ports::KeyStore as _;
use gatehouse_stores::{KeyTables, PostgresConfig};

use super::{Postgres, server::Database};
use crate::{
    engines::{Fixture as _, KeyFixture},
    key_behaviours::{key, key_behaviours},
};

impl KeyFixture for Postgres {
    fn open_keys(&self) -> KeyTables {
        KeyTables::postgres(PostgresConfig::parse(&self.database.url()).unwrap())
    }
}

key_behaviours!(Postgres);

#[tokio::test]
async fn only_adding_makes_tables() {
    let Some(place) = Postgres::fresh().await else { return };
    let keys = place.open_keys();
    assert_eq!((keys.version().await, keys.list().await), (Ok(0), Ok(Vec::new())));
    assert!(keys.revoke("ci").await.unwrap_err().message.contains("unknown key 'ci'"));
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = 'gatehouse'";
    assert_eq!(place.database.number(schemas).await, 0);
}

#[tokio::test]
async fn without_its_server_no_key_is_known() {
    let Some(mut database) = Database::breakable().await else { return };
    let mut server = PostgresConfig::parse(&database.url()).unwrap();
    (server.times.first_pause, server.times.longest_pause) = (Duration::ZERO, Duration::ZERO);
    let keys = KeyTables::postgres(server);
    keys.add(key("ci")).await.unwrap();
    database.server.as_mut().unwrap().crash();
    for fault in [keys.list().await.unwrap_err(), keys.version().await.unwrap_err()] {
        assert!(fault.message.starts_with("API keys 'postgres' at 127.0.0.1"), "{fault}");
    }
    database.server.as_mut().unwrap().run();
    assert_eq!(keys.list().await.unwrap().len(), 1);
}
