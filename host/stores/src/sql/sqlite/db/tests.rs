//! Tests of a database file without an engine.

use super::{writer::open_writer, *};
use crate::{
    engine::VectorStore as _,
    engine::{NewVector, VectorItem, VectorModel},
    sql::sqlite::statements::CachedStatements as _,
};

fn database(path: PathBuf) -> Database {
    Database::new(&crate::knowledge::pages::schema::FILE, path)
}

async fn count(db: &Database) -> Result<i64, Fault> {
    db.read(|c| Ok(c.query_row("SELECT count(*) FROM domain", [], |row| row.get(0))?)).await
}

fn insert(page: i64) -> impl FnOnce(&Transaction<'_>) -> Result<()> + Send + 'static {
    move |t| {
        t.execute(
            "INSERT INTO page VALUES (?1, ?1, ?1, '', '', '', '', NULL, NULL, NULL, '', '')",
            [page.to_string()],
        )?;
        t.execute("INSERT INTO domain (key, page) VALUES ('x', ?1)", [page])?;
        Ok(())
    }
}

fn put_item(db: &Connection, corpus: &str, key: &str) -> Result<()> {
    db.run("INSERT INTO item (corpus, key, version) VALUES (?1, ?2, '1')", [corpus, key]).map(drop)
}

#[tokio::test]
async fn work_that_fails_or_panics_changes_nothing_and_the_next_succeeds() {
    let dir = tempfile::tempdir().unwrap();
    let db = database(dir.path().join("a/b/k.db"));
    db.write(insert(1)).await.unwrap();
    let failed = |t: &Transaction<'_>| {
        insert(2)(t)?;
        Err::<(), _>(StoreError::Fault(Fault::invalid("no")))
    };
    assert_eq!(db.write(failed).await.unwrap_err().message, "no");
    let panics = |t: &Transaction<'_>| -> Result<()> {
        insert(3)(t)?;
        panic!("a mistake")
    };
    assert!(db.write(panics).await.is_err());
    db.write(insert(4)).await.unwrap();
    assert_eq!(count(&db).await.unwrap(), 2);
}

#[tokio::test]
async fn an_empty_file_is_a_lost_database_and_not_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("k.db");
    std::fs::write(&path, "").unwrap();
    let db = database(path.clone());
    let fault = count(&db).await.unwrap_err();
    assert!(fault.message.contains("the file is empty"), "{}", fault.message);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(count(&db).await.unwrap(), 0);
    assert!(std::fs::metadata(&path).unwrap().len() > 0);
    db.close().await;
    let names: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "the database and its lock: {names:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn the_folder_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    count(&database(dir.path().join("state/k.db"))).await.unwrap();
    let mode = std::fs::metadata(dir.path().join("state")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[tokio::test]
async fn an_opening_that_failed_is_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let blocked = dir.path().join("state");
    std::fs::write(&blocked, "a file").unwrap();
    let db = database(blocked.join("k.db"));
    let fault = count(&db).await.unwrap_err();
    assert!(fault.message.starts_with("knowledge engine 'sqlite' at "), "{}", fault.message);
    std::fs::remove_file(&blocked).unwrap();
    assert_eq!(count(&db).await.unwrap(), 0);
}

#[tokio::test]
async fn files_that_are_no_database_or_newer_are_refused_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("k.db");
    let garbage = vec![b'x'; 8192];
    std::fs::write(&path, &garbage).unwrap();
    let fault = count(&database(path.clone())).await.unwrap_err();
    assert!(fault.message.contains("not an intact database"), "{}", fault.message);
    assert_eq!(std::fs::read(&path).unwrap(), garbage);

    std::fs::remove_file(&path).unwrap();
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 999).unwrap();
    let before = std::fs::read(&path).unwrap();
    let fault = count(&database(path.clone())).await.unwrap_err();
    assert!(fault.message.contains("version 999") && fault.message.contains("k.db"), "{}", fault.message);
    assert!(!fault.retryable);
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn many_openings_at_once_succeed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("k.db");
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let path = path.clone();
            std::thread::spawn(move || {
                open_writer(&path, crate::knowledge::pages::schema::SCHEMA, DatabaseProfile::Temporary)
                    .map(|_| ())
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_closed_database_is_one_whole_file_and_stays_closed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("knowledge.db");
    let db = Arc::new(database(path.clone()));
    db.write(insert(1)).await.unwrap();
    assert_eq!(count(&db).await, Ok(1));
    let writes = (2..50).map(|page| {
        let db = Arc::clone(&db);
        tokio::spawn(async move { db.write(insert(page)).await })
    });
    let writes: Vec<_> = writes.collect();
    tokio::task::yield_now().await;
    db.close().await;
    let mut kept = 1;
    for write in writes {
        match write.await.unwrap() {
            Ok(()) => kept += 1,
            Err(fault) => assert!(fault.message.contains("the host is stopping"), "{}", fault.message),
        }
    }
    assert!(count(&db).await.unwrap_err().message.contains("the host is stopping"));
    let copied = dir.path().join("copied.db");
    std::fs::copy(&path, &copied).unwrap();
    assert_eq!(count(&database(copied)).await, Ok(kept), "what was acknowledged is in the one file");
}

#[tokio::test]
async fn a_database_cannot_be_used_and_replaced_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("knowledge.db");
    let db = database(path.clone());
    db.write(insert(1)).await.unwrap();
    let fault = crate::DataFile::Knowledge.lock_exclusive(&path).map(|_| ()).unwrap_err();
    assert!(fault.message.ends_with("knowledge.db: the file is in use"), "{}", fault.message);
    db.close().await;
    let alone = crate::DataFile::Knowledge.lock_exclusive(&path).unwrap();
    let other = database(path.clone());
    let fault = count(&other).await.unwrap_err();
    assert!(fault.message.contains("`gatehouse restore` is replacing it"), "{}", fault.message);
    drop(alone);
    assert_eq!(count(&other).await, Ok(1), "the next call tries again");
}

#[tokio::test]
async fn items_of_another_corpus_in_the_file_neither_wait_nor_get_vectors() {
    let dir = tempfile::tempdir().unwrap();
    let db = database(dir.path().join("k.db"));
    let put = |db: &Transaction<'_>| {
        for (corpus, key) in [("page", "a"), ("chunk", "b"), ("page", "c"), ("summary", "d")] {
            put_item(db, corpus, key)?;
        }
        Ok(())
    };
    db.write(put).await.unwrap();
    let model = VectorModel { name: "test".into(), dimension: Some(1), searched: None };
    for (after, expected) in [("", &["a", "c"][..]), ("a", &["c"]), ("c", &[])] {
        let items = db.waiting(&model, after, 9).await.unwrap();
        assert_eq!(items.into_iter().map(|item| item.key).collect::<Vec<_>>(), expected, "{after}");
    }
    let new = |key: &str| NewVector {
        item: VectorItem { key: key.into(), version: "1".into() },
        vector: Some(vec![1.0]),
    };
    db.put(&model, vec![new("a"), new("b"), new("d")]).await.unwrap();
    let items = db.waiting(&model, "", 9).await.unwrap();
    assert_eq!(items.into_iter().map(|item| item.key).collect::<Vec<_>>(), ["c"]);
    let stored = db.read(|db| db.value::<i64>("SELECT count(*) FROM vector", [])).await;
    assert_eq!(stored, Ok(1), "only the page");
}

#[tokio::test]
async fn an_old_model_that_searches_use_keeps_its_vectors() {
    let dir = tempfile::tempdir().unwrap();
    let db = database(dir.path().join("k.db"));
    db.write(|db| put_item(db, "page", "a")).await.unwrap();
    let model = |name: &str, searched: Option<&str>| VectorModel {
        name: name.into(),
        dimension: Some(1),
        searched: searched.map(str::to_owned),
    };
    let new =
        || NewVector { item: VectorItem { key: "a".into(), version: "1".into() }, vector: Some(vec![1.0]) };
    db.put(&model("first", None), vec![new()]).await.unwrap();
    db.write(|db| db.run("UPDATE model SET used = used - 40 * 86400", []).map(drop)).await.unwrap();
    let names = async || {
        let sql = "SELECT name FROM model ORDER BY name";
        db.read(move |db| db.column::<String, Vec<_>>(sql, [])).await.unwrap()
    };
    db.put(&model("second", Some("first")), vec![new()]).await.unwrap();
    assert_eq!(names().await, ["first", "second"]);
    db.put(&model("second", None), vec![new()]).await.unwrap();
    assert_eq!(names().await, ["second"]);
}
