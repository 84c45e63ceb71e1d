//! The chain of digests: every change is found, and several processes continue one chain.

use std::sync::Arc;

use gatehouse_core::ports::AuditLog as _;
use gatehouse_stores::AuditFilter;
use tokio::task::JoinSet;

use super::{DAY, NAME, Opened, entry};
use crate::engines::AuditFixture;

pub(crate) async fn an_intact_chain_is_verified_and_every_change_is_found<F: AuditFixture>(engine: F) {
    let opened = Opened::filled(engine, 5).await;
    let report = opened.audit.verify().await.unwrap();
    assert_eq!((report.entries, report.last, &report.broken), (5, 5, &None));
    assert_eq!(opened.audit.contains(&report.digest).await, Ok(true));
    assert_eq!(opened.audit.contains(&"0f".repeat(32)).await, Ok(false));
    assert_eq!(opened.audit.contains("no digest").await, Ok(false));
    for (sql, first) in [
        ("UPDATE audit_entry SET outcome = 'oK' WHERE seq = 3", 3),
        ("UPDATE audit_entry SET digest = (SELECT digest FROM audit_entry WHERE seq = 1) WHERE seq = 2", 2),
        ("UPDATE audit_entry SET sealed = (SELECT digest FROM audit_entry WHERE seq = 1) WHERE seq = 4", 4),
        ("DELETE FROM audit_entry WHERE seq = 3", 3),
        ("DELETE FROM audit_entry WHERE seq = 1", 1),
        ("DELETE FROM audit_entry WHERE seq = 5", 5),
        ("DELETE FROM audit_entry", 1),
        (
            "UPDATE audit_entry SET seq = 100 WHERE seq = 2; UPDATE audit_entry SET seq = 2 WHERE seq = 3;
             UPDATE audit_entry SET seq = 3 WHERE seq = 100",
            2,
        ),
        (
            "UPDATE audit_anchor SET seq = 2, digest = (SELECT digest FROM audit_entry WHERE seq = 2);
             DELETE FROM audit_entry WHERE seq <= 2",
            2,
        ),
        ("UPDATE audit_principal SET name = name || '2'", 2),
    ] {
        let opened = Opened::filled(F::fresh().await.unwrap(), 5).await;
        opened.engine.unprotect_audit().await;
        opened.engine.change_audit(sql).await.unwrap();
        assert_eq!(opened.broken().await, Some(first), "{sql}");
    }
}

pub(crate) async fn a_long_chain_is_verified_to_its_end<F: AuditFixture>(engine: F) {
    let opened = Opened::filled(engine, 2_100).await;
    let report = opened.audit.verify().await.unwrap();
    assert_eq!((report.entries, report.last, report.broken), (2_100, 2_100, None));
    opened.engine.unprotect_audit().await;
    opened.engine.change_audit("UPDATE audit_entry SET took_us = 1 WHERE seq = 2050").await.unwrap();
    assert_eq!(opened.broken().await, Some(2_050));
}

pub(crate) async fn the_database_refuses_changes<F: AuditFixture>(engine: F) {
    let opened = Opened::filled(engine, 2).await;
    for sql in [
        "UPDATE audit_entry SET outcome = 'x'",
        "DELETE FROM audit_entry",
        "UPDATE audit_anchor SET seq = -1",
        "UPDATE audit_head SET seq = 1",
        "UPDATE audit_principal SET name = 'okta:eve'",
    ] {
        let reason = opened.engine.change_audit(sql).await.unwrap_err();
        assert!(
            reason.contains("of the audit cannot") || reason.contains("audit entries cannot"),
            "{sql}: {reason}"
        );
    }
    assert_eq!(opened.broken().await, None);
}

pub(crate) async fn two_connections_continue_one_chain<F: AuditFixture>(engine: F) {
    let opened = Opened::new(engine);
    let open = || Arc::new(opened.engine.open_audit(Arc::clone(&opened.clock) as _));
    let audits = [open(), open()];
    let mut writing = JoinSet::new();
    for n in 0..40 {
        let audit = Arc::clone(&audits[n % 2]);
        // Both create the key of a principal.
        writing.spawn(async move { audit.commit(entry(&format!("okta:{}", n / 4), "x")).await });
    }
    for written in writing.join_all().await {
        assert_eq!(written, Ok(()));
    }
    let report = opened.audit.verify().await.unwrap();
    assert_eq!((report.entries, report.broken), (40, None));
    assert_eq!(opened.audit.principals().await.unwrap().len(), 10);
}

pub(crate) async fn old_entries_are_deleted_from_the_beginning_and_the_rest_is_verified<F: AuditFixture>(
    engine: F,
) {
    let opened = Opened::filled(engine, 3).await;
    opened.clock.advance(11 * DAY);
    opened.audit.commit(entry(NAME, "new")).await.unwrap();
    opened.audit.flush().await.unwrap();
    let kinds: Vec<_> =
        opened.matches(AuditFilter::default()).await.into_iter().map(|one| (one.seq, one.kind)).collect();
    assert_eq!(kinds, [(4, "call".to_owned()), (5, "retention".to_owned())]);
    assert_eq!(opened.broken().await, None);
    opened.engine.unprotect_audit().await;
    opened.engine.change_audit("DELETE FROM audit_entry WHERE seq = 4").await.unwrap();
    assert_eq!(opened.broken().await, Some(4));
}

pub(crate) async fn a_clock_that_is_ahead_deletes_one_day_at_a_time<F: AuditFixture>(engine: F) {
    let opened = Opened::filled(engine, 1).await;
    opened.clock.advance(5 * DAY);
    opened.audit.commit(entry("okta:ann", "five_days_later")).await.unwrap();
    opened.clock.advance(3_995 * DAY);
    opened.audit.commit(entry("okta:ann", "eleven_years_later")).await.unwrap();
    opened.audit.flush().await.unwrap();
    let tools: Vec<_> =
        opened.matches(AuditFilter::default()).await.into_iter().filter_map(|row| row.tool).collect();
    assert_eq!(tools, ["five_days_later", "eleven_years_later"]);
    assert_eq!(opened.broken().await, None);
}
