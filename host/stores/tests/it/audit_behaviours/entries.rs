//! Entries: how they are found, what an erasure leaves, and the use of quotas.

use std::sync::Arc;

use gatehouse_core::{
    FaultKind, Principal,
    ports::{
        AuditLog as _, Clock as _, QuotaStore as _,
        audit::AuditEntry,
        quota::{StoredUsage, WindowUsage},
    },
};
use gatehouse_stores::AuditFilter;

use super::{NAME, Opened, entry};
use crate::engines::AuditFixture;

pub(crate) async fn entries_are_found_by_their_facts<F: AuditFixture>(engine: F) {
    let opened = Opened::filled(engine, 4).await;
    let refused =
        AuditEntry { outcome: "denied", rule: Some("line 7".into()), ..entry(NAME, "secret__read") };
    let before = opened.clock.now_ms() as i64;
    opened.clock.advance(1_000);
    opened.audit.commit(refused).await.unwrap();
    let tools = async |filter| -> Vec<String> {
        opened.matches(filter).await.into_iter().filter_map(|one| one.tool).collect()
    };
    let all = AuditFilter::default;
    assert_eq!(tools(all()).await, ["tool_0", "tool_1", "tool_2", "tool_3", "secret__read"]);
    assert_eq!(tools(AuditFilter { principal: Some("key:ci".into()), ..all() }).await, ["tool_1", "tool_3"]);
    assert!(tools(AuditFilter { principal: Some("key:c".into()), ..all() }).await.is_empty());
    assert_eq!(tools(AuditFilter { tool: Some("secret__*".into()), ..all() }).await, ["secret__read"]);
    assert_eq!(tools(AuditFilter { tool: Some("tool_[12]".into()), ..all() }).await, ["tool_1", "tool_2"]);
    assert_eq!(tools(AuditFilter { outcome: Some("denied".into()), ..all() }).await, ["secret__read"]);
    assert_eq!(tools(AuditFilter { since: before + 1, ..all() }).await, ["secret__read"]);
    let every = AuditFilter {
        principal: Some(NAME.into()),
        tool: Some("*".into()),
        since: before,
        outcome: Some("ok".into()),
        limit: 0,
    };
    assert_eq!(tools(every).await, ["tool_0", "tool_2"]);
    let invalid = AuditFilter { tool: Some("tool_[".into()), limit: 9, ..all() };
    assert_eq!(opened.audit.search(&invalid).await.unwrap_err().kind, FaultKind::InvalidArguments);
    let last = opened.audit.search(&AuditFilter { limit: 1, ..all() }).await.unwrap();
    let record = &last[0];
    assert_eq!((record.principal.as_deref(), record.rule.as_deref()), (Some(NAME), Some("line 7")));
    assert_eq!(record.credential, format!("token of {NAME}"));
    assert_eq!((&*record.client, &*record.address), ("tester 1.0", "192.0.2.77"));
    for digits in [&record.pseudonym[..8], &record.pseudonym[..11].to_uppercase(), &record.pseudonym] {
        let by_pseudonym = AuditFilter { principal: Some(digits.into()), ..all() };
        assert_eq!(tools(by_pseudonym).await, ["tool_0", "tool_2", "secret__read"], "{digits}");
    }
    for digits in [&record.pseudonym[..7], "ffffffffz", &record.pseudonym.repeat(2)] {
        assert!(tools(AuditFilter { principal: Some(digits.into()), ..all() }).await.is_empty(), "{digits}");
    }
}

/// PostgreSQL cannot store NUL in texts (khora#1528, loopover#6728), and a digest covers what is stored.
pub(crate) async fn entries_with_any_character_are_verified<F: AuditFixture>(engine: F) {
    let opened = Opened::new(engine);
    for text in ["\0", "a\0b", "\u{feff}", "\u{10ffff}", "it's", "\r\n", "", "é\u{301}"] {
        let odd = AuditEntry {
            preset: Some(text.into()),
            rule: Some(text.into()),
            details: Some(text.repeat(3)),
            ..entry(&format!("okta:{text}x"), text)
        };
        assert_eq!(opened.audit.commit(odd).await, Ok(()), "{text:?}");
        let name = Some(format!("okta:{text}x"));
        let found = opened.matches(AuditFilter { principal: name, ..AuditFilter::default() }).await;
        assert_eq!(found.len(), 1, "{text:?}");
        assert_eq!(found[0].credential, format!("token of okta:{text}x"));
    }
    assert_eq!(opened.broken().await, None);
}

pub(crate) async fn an_erased_principal_has_no_name_and_a_new_pseudonym_later<F: AuditFixture>(engine: F) {
    let opened = Opened::filled(engine, 40).await;
    let usage = usage(NAME, (1, 7), (0, 0));
    opened.audit.save(vec![usage.clone()], 0).await.unwrap();
    assert_eq!(opened.audit.load(0).await, Ok(vec![usage]));
    assert!(opened.audit.erase(NAME, "1 artifact").await.unwrap());
    assert!(!opened.audit.erase(NAME, "nothing").await.unwrap());
    assert_eq!(opened.broken().await, None);
    assert_eq!(opened.audit.load(0).await, Ok(Vec::new()));
    let records = opened.matches(AuditFilter::default()).await;
    let erased: Vec<_> = records.into_iter().filter(|one| one.principal.is_none()).collect();
    assert_eq!(erased.len(), 20);
    assert!(erased.iter().all(|one| one.credential.is_empty() && one.address.is_empty()));
    let names: Vec<_> = opened.audit.principals().await.unwrap().into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["key:ci", "local"]);
    opened.audit.commit(entry(NAME, "again")).await.unwrap();
    let again = opened.matches(AuditFilter { principal: Some(NAME.into()), ..AuditFilter::default() }).await;
    assert_eq!(again.len(), 1);
    assert_ne!(again[0].pseudonym, erased[0].pseudonym);
}

pub(crate) async fn refusals_of_quotas_are_counted<F: AuditFixture>(engine: F) {
    let opened = Opened::new(engine);
    let refused = |rule: &str, details: Option<&str>| AuditEntry {
        outcome: "exhausted",
        rule: Some(rule.into()),
        details: details.map(str::to_owned),
        ..entry(NAME, "x")
    };
    for entry in [
        refused("quota 'day' of line 3", None),
        refused("quota 'day' of line 3", Some("(12 refusals before this one have no entries)")),
        refused("quota 'hour' of line 9", Some("(no number)")),
        refused("deny of line 1", None),
        AuditEntry { outcome: "ok", ..refused("quota 'day' of line 3", None) },
    ] {
        opened.audit.record(entry);
    }
    opened.audit.flush().await.unwrap();
    let refusals = opened.audit.quota_refusals(0).await.unwrap();
    let refusals: Vec<_> = refusals.iter().map(|one| (&*one.principal, &*one.quota, one.calls)).collect();
    assert_eq!(refusals, [(NAME, "day", 14), (NAME, "hour", 1)]);
    let later = opened.clock.now_ms() as i64 + 1;
    assert_eq!(opened.audit.quota_refusals(later).await, Ok(Vec::new()));
}

pub(crate) async fn of_two_counts_of_a_window_the_larger_is_stored<F: AuditFixture>(engine: F) {
    let opened = Opened::new(engine);
    let other = Arc::new(opened.engine.open_audit(Arc::clone(&opened.clock) as _));
    // Each host counts on its own, and saves what it counted.
    for (here, there, stored) in [
        ((100, 7), (100, 5), (100, 7)),
        ((100, 6), (100, 9), (100, 9)),
        ((200, 1), (100, 12), (200, 1)),
        ((100, 50), (200, 3), (200, 3)),
    ] {
        let both = |window| vec![usage(NAME, window, (100, 1)), usage("key:ci", (100, 1), window)];
        let (one, two) = tokio::join!(opened.audit.save(both(here), 0), other.save(both(there), 0));
        assert_eq!((one, two), (Ok(()), Ok(())));
        let mut loaded = opened.audit.load(0).await.unwrap();
        loaded.sort_by(|a, b| a.principal.as_str().cmp(b.principal.as_str()));
        assert_eq!(loaded, [usage("key:ci", (100, 1), stored), usage(NAME, stored, (100, 1))]);
    }
    assert_eq!(opened.audit.load(201).await, Ok(Vec::new()));
    other.save(Vec::new(), 201).await.unwrap();
    assert_eq!(opened.audit.load(0).await, Ok(Vec::new()));
}

pub(crate) async fn asking_makes_no_database<F: AuditFixture>(engine: F) {
    let opened = Opened::new(engine);
    assert_eq!(opened.audit.load(0).await, Ok(Vec::new()));
    assert_eq!(opened.audit.check_readable().await, Ok(()));
    assert_eq!(opened.audit.exists().await, Ok(false));
    opened.audit.commit(entry(NAME, "x")).await.unwrap();
    assert_eq!(opened.audit.exists().await, Ok(true));
}

fn usage(name: &str, calls: (u64, u64), tokens: (u64, u64)) -> StoredUsage {
    let window = |(start, used)| WindowUsage { start, used };
    StoredUsage {
        quota: "q".into(),
        principal: Principal::Named(name.into()),
        calls: window(calls),
        tokens: window(tokens),
    }
}
