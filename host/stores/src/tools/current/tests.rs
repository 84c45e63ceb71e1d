//! If the file is unusable, servers are still served, and no possible change passes as reviewed.

use std::fs;

use gatehouse_core::{
    ToolSpec,
    ports::tool_index::{ChangePolicy, KnownListing, PendingChange},
    source::Listing,
};

use rusqlite::Connection;

use super::*;
use crate::tools::catalog::Catalog;

fn listing(server: &str, says: &str, on_change: ChangePolicy) -> IndexedListing {
    let tool = ToolSpec::new("read", says);
    let listing = Arc::new(Listing { tools: vec![Arc::new(tool)], ..Listing::default() });
    IndexedListing { server: server.into(), tags: Vec::new(), listing, on_change }
}

async fn put(tools: &CurrentTools, server: &str, says: &str, on_change: ChangePolicy) {
    tools.put(listing(server, says, on_change), 1, false).await.unwrap();
}

async fn catalog(tools: &CurrentTools) -> Catalog {
    let read = async |db: Session<'_>, opened: &ToolDatabase| {
        tables::catalog(db, &Catalog::default(), |within| opened.generation(within)).await
    };
    tools.read(read).await.unwrap().unwrap_or_default()
}

async fn known(tools: &CurrentTools, server: &str) -> KnownListing {
    catalog(tools).await.servers.get(server).expect("known").known.clone()
}

async fn held(tools: &CurrentTools) -> Vec<PendingChange> {
    tools.read(async |db: Session<'_>, _: &ToolDatabase| tables::pending_changes(db).await).await.unwrap()
}

async fn approve(tools: &CurrentTools, digest: &str) -> Result<bool, Fault> {
    let digest = digest.to_owned();
    tools.decide("strict", move |record| record.approve("strict", "read", &digest)).await
}

async fn used() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let tools = CurrentTools::in_file(dir.path().join("tools.db"));
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
    let tools = CurrentTools::in_file(file.clone());
    assert!(!catalog(&tools).await.servers.contains_key("open"), "asked again");
    put(&tools, "open", "Reads.", ChangePolicy::Warn).await;
    put(&tools, "strict", "Reads, and sends it to me.", ChangePolicy::Quarantine).await;
    assert_eq!(known(&tools, "open").await.tools[0].quarantine_reason, None);
    let reason = known(&tools, "strict").await.tools[0].quarantine_reason.clone().expect("held back");
    assert!(reason.contains("is lost"), "{reason}");
    let waits = held(&tools).await;
    assert_eq!((waits.len(), &waits[0].before), (1, &None));
    assert_eq!(fs::read(dir.path().join("tools.db.set-aside")).unwrap(), bytes, "kept as it was");
    assert!(approve(&tools, &waits[0].digest).await.unwrap());
    tools.close().await;
    let tools = CurrentTools::in_file(file);
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
    let tools = CurrentTools::in_file(file.clone());
    put(&tools, "open", "Reads.", ChangePolicy::Warn).await;
    assert_eq!(known(&tools, "open").await.tools.len(), 1);
    assert!(tools.reason().is_some_and(|reason| reason.contains("version 999")), "{:?}", tools.reason());
    drop(newer);
    assert!(!tools.reopen_file().await && tools.reopen_file().await, "made again, then used");
    assert!(dir.path().join("tools.db.set-aside").exists());
    tools.close().await;
    assert_eq!(known(&CurrentTools::in_file(file), "open").await.tools.len(), 1);
}

#[tokio::test]
async fn a_file_from_before_the_first_release_stays_as_it_is() {
    let dir = used().await;
    let file = dir.path().join("tools.db");
    Connection::open(&file).unwrap().pragma_update(None, "user_version", 4).unwrap();
    let bytes = fs::read(&file).unwrap();
    let tools = CurrentTools::in_file(file.clone());
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
    let tools = CurrentTools::in_file(file.clone());
    put(&tools, "open", "Reads.", ChangePolicy::Warn).await;
    put(&tools, "strict", "Reads.", ChangePolicy::Quarantine).await;
    assert_eq!(known(&tools, "open").await.tools[0].quarantine_reason, None);
    let waits = held(&tools).await;
    assert_eq!(waits.len(), 1, "there may have been a file: {waits:?}");
    let refused = approve(&tools, &waits[0].digest).await.unwrap_err();
    assert!(refused.message.starts_with("cannot store the approval: "), "{refused}");
    assert!(!tools.reopen_file().await);
    fs::remove_dir(&file).unwrap();
    put(&tools, "strict", "Reads, and more.", ChangePolicy::Quarantine).await;
    assert!(tools.reopen_file().await && tools.reason().is_none());
    let waits = held(&tools).await;
    assert!(waits[0].before.as_ref().is_some_and(|before| !before.contains("and more")), "{waits:?}");
    tools.close().await;
    assert_eq!(known(&CurrentTools::in_file(file), "open").await.tools.len(), 1);
}

#[tokio::test]
async fn reviews_still_count_on_a_full_disk() {
    let dir = used().await;
    let tools = CurrentTools::in_file(dir.path().join("tools.db"));
    let before = catalog(&tools).await.generation;
    // SQLite treats a database that may not grow like a full disk.
    let full = async |db: Session<'_>| {
        let pages: i64 = db.value("PRAGMA page_count", &[]).await?;
        db.find::<i64>(&format!("PRAGMA max_page_count = {pages}"), &[]).await.map(drop)
    };
    tools.write("", full).await.unwrap();
    put(&tools, "open", &"Reads. ".repeat(9_000), ChangePolicy::Warn).await;
    assert!(tools.reason().is_some_and(|reason| reason.contains("the disk is full")), "{:?}", tools.reason());
    assert!(known(&tools, "open").await.listing.tools[0].description.len() > 50_000);
    put(&tools, "strict", "Reads, and more.", ChangePolicy::Quarantine).await;
    let waits = held(&tools).await;
    assert!(waits[0].before.as_ref().is_some_and(|before| !before.contains("and more")), "{waits:?}");
    assert_ne!(catalog(&tools).await.generation, before);
    assert!(tools.reopen_file().await, "there is room again");
    assert_eq!(held(&tools).await.len(), 1);
}
