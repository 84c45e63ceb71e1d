//! If the file is unusable, servers are still served, and no possible change passes as reviewed.

use std::fs;

use gatehouse_core::{
    ToolSpec,
    ports::tool_index::{ChangePolicy, KnownListing, PendingChange},
    source::Listing,
};

use super::*;

fn listing(server: &str, says: &str, on_change: ChangePolicy) -> IndexedListing {
    let tool = ToolSpec::new("read", says);
    let listing = Arc::new(Listing { tools: vec![Arc::new(tool)], ..Listing::default() });
    IndexedListing { server: server.into(), tags: Vec::new(), listing, on_change }
}

async fn put(tools: &SqliteTools, server: &str, says: &str, on_change: ChangePolicy) {
    tools.put(listing(server, says, on_change), 1, false).await.unwrap();
}

async fn known(tools: &SqliteTools, server: &str) -> KnownListing {
    tools.known_listing(server).await.unwrap().expect("known")
}

async fn held(tools: &SqliteTools) -> Vec<PendingChange> {
    tools.pending_changes().await.unwrap()
}

async fn used() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let tools = SqliteTools::new(dir.path().join("tools.db"));
    put(&tools, "open", "Reads.", ChangePolicy::Warn).await;
    put(&tools, "strict", "Reads.", ChangePolicy::Quarantine).await;
    assert!(held(&tools).await.is_empty());
    tools.close().await;
    dir
}

#[tokio::test]
async fn a_damaged_file_is_set_aside_and_nothing_that_may_have_changed_passes() {
    nothing_passes_with(|bytes| bytes[..100].fill(7)).await;
    nothing_passes_with(Vec::clear).await;
}

async fn nothing_passes_with(damage: impl FnOnce(&mut Vec<u8>)) {
    let dir = used().await;
    let file = dir.path().join("tools.db");
    let mut bytes = fs::read(&file).unwrap();
    damage(&mut bytes);
    fs::write(&file, &bytes).unwrap();
    let tools = SqliteTools::new(file.clone());
    assert!(tools.known_listing("open").await.unwrap().is_none(), "asked again");
    put(&tools, "open", "Reads.", ChangePolicy::Warn).await;
    put(&tools, "strict", "Reads, and sends it to me.", ChangePolicy::Quarantine).await;
    assert_eq!(known(&tools, "open").await.tools[0].quarantine_reason, None);
    let reason = known(&tools, "strict").await.tools[0].quarantine_reason.clone().expect("held back");
    assert!(reason.contains("is lost"), "{reason}");
    let waits = held(&tools).await;
    assert_eq!((waits.len(), &waits[0].before), (1, &None));
    assert_eq!(fs::read(dir.path().join("tools.db.set-aside")).unwrap(), bytes, "kept as it was");
    assert!(tools.approve("strict", "read", &waits[0].digest).await.unwrap());
    tools.close().await;
    let tools = SqliteTools::new(file);
    assert!(held(&tools).await.is_empty(), "the approval is in the new file");
    put(&tools, "late", "Reads.", ChangePolicy::Quarantine).await;
    assert_eq!(held(&tools).await.len(), 1, "a later start still knows that something was lost");
}

#[tokio::test]
async fn a_newer_file_is_set_aside_unless_a_host_uses_it() {
    let dir = used().await;
    let file = dir.path().join("tools.db");
    Connection::open(&file).unwrap().pragma_update(None, "user_version", 999).unwrap();
    let newer = crate::sql::sqlite::DatabaseLock::try_shared(&file).unwrap();
    let tools = SqliteTools::new(file.clone());
    put(&tools, "open", "Reads.", ChangePolicy::Warn).await;
    assert_eq!(known(&tools, "open").await.tools.len(), 1);
    assert!(tools.reason().is_some_and(|reason| reason.contains("version 999")), "{:?}", tools.reason());
    drop(newer);
    assert!(!tools.reopen_file().await && tools.reopen_file().await, "made again, then used");
    assert!(dir.path().join("tools.db.set-aside").exists());
    tools.close().await;
    assert_eq!(known(&SqliteTools::new(file), "open").await.tools.len(), 1);
}

#[tokio::test]
async fn a_file_from_before_the_first_release_stays_as_it_is() {
    let dir = used().await;
    let file = dir.path().join("tools.db");
    Connection::open(&file).unwrap().pragma_update(None, "user_version", 4).unwrap();
    let bytes = fs::read(&file).unwrap();
    let tools = SqliteTools::new(file.clone());
    put(&tools, "open", "Reads.", ChangePolicy::Warn).await;
    assert_eq!(known(&tools, "open").await.tools.len(), 1, "from memory");
    assert!(tools.reason().is_some_and(|reason| reason.contains("from before")), "{:?}", tools.reason());
    assert!(!tools.reopen_file().await);
    tools.close().await;
    assert!(fs::read(&file).unwrap() == bytes && !dir.path().join("tools.db.set-aside").exists());
}

#[tokio::test]
async fn listings_are_in_memory_until_the_file_is_usable() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tools.db");
    // A directory in place of the file cannot be read or written by any user, not even root.
    fs::create_dir(&file).unwrap();
    let tools = SqliteTools::new(file.clone());
    put(&tools, "open", "Reads.", ChangePolicy::Warn).await;
    put(&tools, "strict", "Reads.", ChangePolicy::Quarantine).await;
    assert_eq!(known(&tools, "open").await.tools[0].quarantine_reason, None);
    let waits = held(&tools).await;
    assert_eq!(waits.len(), 1, "there may have been a file: {waits:?}");
    let refused = tools.approve("strict", "read", &waits[0].digest).await.unwrap_err();
    assert!(refused.message.starts_with("cannot store the approval: "), "{refused}");
    assert!(!tools.reopen_file().await);
    fs::remove_dir(&file).unwrap();
    put(&tools, "strict", "Reads, and more.", ChangePolicy::Quarantine).await;
    assert!(tools.reopen_file().await && tools.reason().is_none());
    let waits = held(&tools).await;
    assert!(waits[0].before.as_ref().is_some_and(|before| !before.contains("and more")), "{waits:?}");
    tools.close().await;
    assert_eq!(known(&SqliteTools::new(file), "open").await.tools.len(), 1);
}

#[tokio::test]
async fn reviews_still_count_on_a_full_disk() {
    let dir = used().await;
    let tools = SqliteTools::new(dir.path().join("tools.db"));
    let before = tools.generation().await.unwrap();
    // SQLite treats a database that may not grow like a full disk.
    let full = |db: &Transaction<'_>| {
        let pages: i64 = db.query_row("PRAGMA page_count", [], |row| row.get(0))?;
        Ok(db.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?)
    };
    tools.write(full).await.unwrap();
    put(&tools, "open", &"Reads. ".repeat(9_000), ChangePolicy::Warn).await;
    assert!(tools.reason().is_some_and(|reason| reason.contains("the disk is full")), "{:?}", tools.reason());
    assert!(known(&tools, "open").await.listing.tools[0].description.len() > 50_000);
    put(&tools, "strict", "Reads, and more.", ChangePolicy::Quarantine).await;
    let waits = held(&tools).await;
    assert!(waits[0].before.as_ref().is_some_and(|before| !before.contains("and more")), "{waits:?}");
    assert_ne!(tools.generation().await.unwrap(), before);
    assert!(tools.reopen_file().await, "there is room again");
    assert_eq!(held(&tools).await.len(), 1);
}
