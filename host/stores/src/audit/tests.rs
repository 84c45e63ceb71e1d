//! Tests of the chain against changes of the file, of erasure and of a full disk.

use std::{fs, net::IpAddr, sync::atomic::AtomicU64};

use gatehouse_core::{
    FaultKind,
    ports::{audit::AuditKind, quota::WindowUsage},
};

use super::*;
use gatehouse_core::ports::{QuotaStore as _, quota::StoredUsage};

const NAME: &str = "okta:ann.example";

const NOON: u64 = 1_767_960_000_000;

#[derive(Default)]
struct SetClock(AtomicU64);

impl Clock for SetClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

struct AuditFile {
    audit: AuditTables,
    clock: Arc<SetClock>,
    dir: tempfile::TempDir,
}

impl AuditFile {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(SetClock(AtomicU64::new(NOON)));
        let audit = AuditTables::sqlite(dir.path().join("audit.db"), 10, Arc::clone(&clock) as _);
        Self { audit, clock, dir }
    }

    /// Returns an audit with entries of two principals.
    async fn filled(entries: usize) -> Self {
        let opened = Self::new();
        for n in 0..entries {
            opened.audit.record(entry(if n % 2 == 0 { NAME } else { "key:ci" }, &format!("tool_{n}")));
        }
        opened.audit.flush().await.unwrap();
        opened
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("audit.db")
    }

    async fn broken(&self) -> Option<i64> {
        self.audit.verify().await.unwrap().broken.map(|broken| broken.seq)
    }

    async fn found(&self, filter: AuditFilter) -> Vec<AuditRecord> {
        self.audit.search(&AuditFilter { limit: 100, ..filter }).await.unwrap()
    }
}

fn entry(name: &str, tool: &str) -> AuditEntry {
    AuditEntry {
        kind: AuditKind::Call,
        principal: Principal::Named(name.into()),
        credential: format!("token of {name}").into(),
        client: "tester 1.0".into(),
        address: Some(IpAddr::from([192, 0, 2, 77])),
        preset: Some("full".into()),
        tool: Some(tool.into()),
        rule: None,
        approval: Some("given"),
        outcome: "ok",
        took_us: 12,
        tokens_in: 3,
        tokens_out: 4,
        arguments: Some([7; 32]),
        details: None,
    }
}

#[tokio::test]
async fn a_flipped_byte_in_the_file_is_found() {
    let opened = AuditFile::filled(5).await;
    opened.audit.close().await;
    let path = opened.path();
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(6).position(|window| window == b"tool_3").unwrap();
    bytes[at] ^= 1;
    fs::write(&path, bytes).unwrap();
    let again = AuditTables::sqlite(path, 10, Arc::clone(&opened.clock) as _);
    let broken = again.verify().await.unwrap().broken.unwrap();
    assert_eq!((broken.seq, &*broken.reason), (4, "the entry does not match its digest"));
    again.close().await;
}

#[tokio::test]
async fn an_erased_principal_is_nowhere_in_the_file_and_the_chain_stays_valid() {
    let opened = AuditFile::filled(400).await;
    let usage = StoredUsage {
        quota: "q".into(),
        principal: Principal::Named(NAME.into()),
        calls: WindowUsage { start: NOON, used: 7 },
        tokens: WindowUsage::default(),
    };
    opened.audit.save(vec![usage.clone()], 0).await.unwrap();
    assert_eq!(opened.audit.load(0).await, Ok(vec![usage]));
    assert!(opened.audit.erase(NAME, "1 artifact").await.unwrap());
    assert!(!opened.audit.erase(NAME, "nothing").await.unwrap());
    assert_eq!(opened.broken().await, None);
    assert_eq!(opened.audit.load(0).await, Ok(Vec::new()));
    let erased: Vec<_> = opened
        .found(AuditFilter::default())
        .await
        .into_iter()
        .filter(|one| one.principal.is_none())
        .collect();
    assert!(erased.len() > 40, "{}", erased.len());
    assert!(erased.iter().all(|one| one.credential.is_empty() && one.address.is_empty()));
    let names: Vec<_> = opened.audit.principals().await.unwrap().into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["key:ci", "local"]);
    // Somebody who comes back gets a new pseudonym.
    let before = erased[0].pseudonym.clone();
    opened.audit.commit(entry(NAME, "again")).await.unwrap();
    let again = opened.found(AuditFilter { principal: Some(NAME.into()), ..AuditFilter::default() }).await;
    assert_eq!(again.len(), 1);
    assert_ne!(again[0].pseudonym, before);
    opened.audit.erase(NAME, "nothing").await.unwrap();
    opened.audit.close().await;
    for file in fs::read_dir(opened.dir.path()).unwrap() {
        let (path, name) = (file.unwrap().path(), NAME.as_bytes());
        let bytes = fs::read(&path).unwrap();
        assert!(!bytes.windows(name.len()).any(|window| window == name), "{}", path.display());
    }
}

#[tokio::test]
async fn a_full_disk_fails_until_there_is_room_and_loses_nothing() {
    let opened = AuditFile::filled(1).await;
    assert_eq!(opened.audit.check().await, Ok(()));
    let bound = async |pages: &'static str| {
        let sql = format!("PRAGMA max_page_count = {pages}");
        let bound = async move |db: Session<'_>| db.find::<i64>(&sql, &[]).await.map(drop);
        opened.audit.inner.db.write(&[], bound).await.unwrap();
    };
    bound("1").await;
    let large = || AuditEntry { details: Some("x".repeat(100_000)), ..entry(NAME, "large") };
    let fault = opened.audit.commit(large()).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unavailable);
    assert!(fault.message.contains("audit.db: the disk is full"), "{fault}");
    assert!(opened.audit.check().await.is_err(), "calls that change something are refused");
    bound("1000000").await;
    assert_eq!(opened.audit.check().await, Ok(()));
    let large: Vec<_> = opened.found(AuditFilter::default()).await;
    assert_eq!(large.len(), 2, "the entry that failed first is there");
    assert_eq!(opened.broken().await, None);
}
