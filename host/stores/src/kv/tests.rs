//! Test of a full disk.

use super::*;

struct Noon;

impl Clock for Noon {
    fn now_ms(&self) -> u64 {
        1_767_960_000_000
    }
}

#[tokio::test]
async fn a_full_disk_is_reported_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let kv = KvTables::sqlite(dir.path().join("kv.db"), Arc::new(Noon));
    kv.set("a", "k", b"old".to_vec(), None, KvQuota::of_gate(1 << 30)).await.unwrap();
    // SQLite treats a database that may not grow like a full disk.
    let bound = |db: &rusqlite::Transaction<'_>| {
        let pages: i64 = db.query_row("PRAGMA page_count", [], |row| row.get(0))?;
        db.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
        Ok(())
    };
    let Database::Sqlite(db) = &kv.db else { panic!("a file") };
    db.write(bound).await.unwrap();
    let fault = kv.set("a", "k", vec![1; 1 << 20], None, KvQuota::of_gate(1 << 30)).await.unwrap_err();
    assert!(fault.message.contains("kv.db: the disk is full"), "{}", fault.message);
    assert!(fault.message.starts_with("key-value store of the gates at "), "{}", fault.message);
    assert_eq!(kv.get("a", "k").await, Ok(Some(b"old".to_vec())));
}
