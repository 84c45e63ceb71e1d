//! Tests of the chain against changes of the file, of erasure and of a full disk.

use std::{fs, net::IpAddr, sync::atomic::AtomicU64};

use gatehouse_core::{FaultKind, ports::quota::WindowUsage};
use rusqlite::Connection;

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
    audit: SqliteAudit,
    clock: Arc<SetClock>,
    dir: tempfile::TempDir,
}

impl AuditFile {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(SetClock(AtomicU64::new(NOON)));
        let audit = SqliteAudit::new(dir.path().join("audit.db"), 10, Arc::clone(&clock) as _);
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

    /// Changes the file as somebody with access to the disk can.
    fn tamper(&self, sql: &str) {
        let db = Connection::open(self.audit.path()).unwrap();
        db.execute_batch("DROP TRIGGER entry_is_fixed; DROP TRIGGER entry_stays;").unwrap();
        db.execute_batch(sql).unwrap();
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
async fn an_intact_chain_is_verified_and_every_change_is_found() {
    let report = AuditFile::filled(5).await.audit.verify().await.unwrap();
    assert_eq!((report.entries, report.last, report.broken), (5, 5, None));
    for (sql, first) in [
        ("UPDATE entry SET outcome = 'oK' WHERE seq = 3", 3),
        ("UPDATE entry SET sealed = zeroblob(length(sealed)) WHERE seq = 4", 4),
        ("UPDATE entry SET digest = zeroblob(32) WHERE seq = 2", 2),
        ("DELETE FROM entry WHERE seq = 3", 3),
        ("DELETE FROM entry WHERE seq = 1", 1),
        ("DELETE FROM entry WHERE seq = 5", 5),
        ("DELETE FROM entry", 1),
        (
            "UPDATE entry SET seq = 100 WHERE seq = 2; UPDATE entry SET seq = 2 WHERE seq = 3;
              UPDATE entry SET seq = 3 WHERE seq = 100",
            2,
        ),
        ("UPDATE entry SET digest = (SELECT digest FROM entry WHERE seq = 1) WHERE seq = 2", 2),
        (
            "UPDATE anchor SET seq = 2, digest = (SELECT digest FROM entry WHERE seq = 2);
              DELETE FROM entry WHERE seq <= 2",
            2,
        ),
        ("DROP TRIGGER principal_is_fixed; UPDATE principal SET name = name || '2'", 2),
    ] {
        let opened = AuditFile::filled(5).await;
        opened.tamper(sql);
        assert_eq!(opened.broken().await, Some(first), "{sql}");
    }
}

#[tokio::test]
async fn a_flipped_byte_in_the_file_is_found() {
    let opened = AuditFile::filled(5).await;
    opened.audit.close().await;
    let path = opened.audit.path().to_owned();
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(6).position(|window| window == b"tool_3").unwrap();
    bytes[at] ^= 1;
    fs::write(&path, bytes).unwrap();
    let again = SqliteAudit::new(path, 10, Arc::clone(&opened.clock) as _);
    let broken = again.verify().await.unwrap().broken.unwrap();
    assert_eq!((broken.seq, &*broken.reason), (4, "the entry does not match its digest"));
    again.close().await;
}

#[tokio::test]
async fn the_database_refuses_changes() {
    let opened = AuditFile::filled(2).await;
    let db = Connection::open(opened.audit.path()).unwrap();
    for sql in [
        "UPDATE entry SET outcome = 'x'",
        "DELETE FROM entry",
        "UPDATE anchor SET seq = -1",
        "UPDATE head SET seq = 1",
        "UPDATE principal SET name = 'okta:eve'",
    ] {
        let reason = db.execute_batch(sql).unwrap_err().to_string();
        assert!(reason.contains("audit"), "{sql}: {reason}");
    }
    assert_eq!(opened.broken().await, None);
}

#[tokio::test]
async fn a_clock_that_is_ahead_deletes_one_day_at_a_time() {
    let opened = AuditFile::filled(1).await;
    opened.clock.0.store(NOON + 5 * DAY_MS as u64, Ordering::Relaxed);
    opened.audit.commit(entry("okta:ann", "five_days_later")).await.unwrap();
    opened.clock.0.store(NOON + 4_000 * DAY_MS as u64, Ordering::Relaxed);
    opened.audit.commit(entry("okta:ann", "eleven_years_later")).await.unwrap();
    opened.audit.flush().await.unwrap();
    let tools: Vec<_> =
        opened.found(AuditFilter::default()).await.into_iter().filter_map(|row| row.tool).collect();
    assert_eq!(tools, ["five_days_later", "eleven_years_later"]);
    assert_eq!(opened.broken().await, None);
}

#[tokio::test]
async fn entries_are_found_by_their_facts() {
    let opened = AuditFile::filled(4).await;
    let refused =
        AuditEntry { outcome: "denied", rule: Some("line 7".into()), ..entry(NAME, "secret__read") };
    opened.clock.0.store(NOON + 1_000, Ordering::Relaxed);
    opened.audit.commit(refused).await.unwrap();
    let tools = async |filter| -> Vec<String> {
        opened.found(filter).await.into_iter().filter_map(|one| one.tool).collect()
    };
    let all = AuditFilter::default;
    assert_eq!(tools(all()).await, ["tool_0", "tool_1", "tool_2", "tool_3", "secret__read"]);
    assert_eq!(tools(AuditFilter { principal: Some("key:ci".into()), ..all() }).await, ["tool_1", "tool_3"]);
    assert!(tools(AuditFilter { principal: Some("key:c".into()), ..all() }).await.is_empty());
    assert_eq!(tools(AuditFilter { tool: Some("secret__*".into()), ..all() }).await, ["secret__read"]);
    assert_eq!(tools(AuditFilter { outcome: Some("denied".into()), ..all() }).await, ["secret__read"]);
    assert_eq!(tools(AuditFilter { since: NOON as i64 + 1, ..all() }).await, ["secret__read"]);
    let last = opened.audit.search(&AuditFilter { limit: 1, ..all() }).await.unwrap();
    let record = &last[0];
    assert_eq!((record.principal.as_deref(), record.rule.as_deref()), (Some(NAME), Some("line 7")));
    assert_eq!(record.credential, format!("token of {NAME}"));
    assert_eq!((&*record.client, &*record.address), ("tester 1.0", "192.0.2.77"));
    let by_pseudonym = AuditFilter { principal: Some(record.pseudonym[..8].to_owned()), ..all() };
    assert_eq!(tools(by_pseudonym).await, ["tool_0", "tool_2", "secret__read"]);
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
    let bound = |pages: &'static str| {
        move |db: &rusqlite::Transaction<'_>| {
            db.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
            Ok(())
        }
    };
    opened.audit.inner.db.write(bound("1")).await.unwrap();
    let large = || AuditEntry { details: Some("x".repeat(100_000)), ..entry(NAME, "large") };
    let fault = opened.audit.commit(large()).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unavailable);
    assert!(fault.message.contains("audit.db: the disk is full"), "{fault}");
    assert!(opened.audit.check().await.is_err(), "calls that change something are refused");
    opened.audit.inner.db.write(bound("1000000")).await.unwrap();
    assert_eq!(opened.audit.check().await, Ok(()));
    let large: Vec<_> = opened.found(AuditFilter::default()).await;
    assert_eq!(large.len(), 2, "the entry that failed first is there");
    assert_eq!(opened.broken().await, None);
}

#[tokio::test]
async fn concurrent_processes_share_one_chain() {
    let opened = AuditFile::filled(0).await;
    let other = SqliteAudit::new(opened.audit.path().to_owned(), 10, Arc::clone(&opened.clock) as _);
    let all = (0..20).map(|n| {
        let audit = if n % 2 == 0 { &opened.audit } else { &other };
        audit.commit(entry(NAME, "x"))
    });
    let all: Vec<_> = futures_join(all).await;
    assert!(all.iter().all(Result::is_ok), "{all:?}");
    let report = other.verify().await.unwrap();
    assert_eq!((report.entries, report.broken), (20, None));
}

async fn futures_join<T>(all: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut all: Vec<_> = all.map(Box::pin).collect();
    let mut done = Vec::new();
    std::future::poll_fn(|context| {
        all.retain_mut(|one| match one.as_mut().poll(context) {
            std::task::Poll::Ready(value) => {
                done.push(value);
                false
            }
            std::task::Poll::Pending => true,
        });
        if all.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    done
}

#[tokio::test]
async fn old_entries_are_deleted_from_the_beginning_and_the_rest_is_verified() {
    let opened = AuditFile::filled(3).await;
    opened.clock.0.store(NOON + 11 * DAY_MS as u64, Ordering::Relaxed);
    opened.audit.commit(entry(NAME, "new")).await.unwrap();
    opened.audit.flush().await.unwrap();
    let kinds: Vec<_> =
        opened.found(AuditFilter::default()).await.into_iter().map(|one| (one.seq, one.kind)).collect();
    assert_eq!(kinds, [(4, "call".to_owned()), (5, "retention".to_owned())]);
    assert_eq!(opened.broken().await, None);
    opened.tamper("DELETE FROM entry WHERE seq = 4");
    assert_eq!(opened.broken().await, Some(4));
}
