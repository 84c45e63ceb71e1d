//! Values of gates on SQLite.

use std::{path::PathBuf, sync::Arc};

use gatehouse_core::ports::{Clock, KvStore as _};
use gatehouse_stores::KvTables;
use rusqlite::Connection;

use super::Sqlite;
use crate::{
    engines::{Fixture as _, KvFixture},
    kv_behaviours::kv_behaviours,
    support::clock,
};

fn file(place: &Sqlite) -> PathBuf {
    place.dir.path().join("state/kv.db")
}

impl KvFixture for Sqlite {
    fn open_kv(&self, clock: Arc<dyn Clock>) -> KvTables {
        KvTables::sqlite(file(self), clock)
    }

    async fn fill_kv(&self, keys: u64) {
        let rows = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
                INSERT INTO kv_entry (gate, key, owner, size, value) SELECT 'a', 'k' || i, '', 8, x'' FROM n";
        Connection::open(file(self)).unwrap().execute(rows, [keys as i64]).unwrap();
    }
}

kv_behaviours!(Sqlite);

#[tokio::test]
async fn reading_makes_no_file() {
    let place = Sqlite::fresh().await.unwrap();
    let kv = place.open_kv(clock());
    assert_eq!((kv.owners().await, kv.owner_bytes("ann").await), (Ok(vec![]), Ok(0)));
    assert_eq!(kv.erase("ann", vec!["x".into()]).await, Ok(0));
    assert!(!file(&place).exists());
}
