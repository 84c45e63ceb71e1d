//! Tests of the counts, over windows, restarts and concurrent calls.

use std::sync::atomic::AtomicU64;

use async_trait::async_trait;

use super::*;
use crate::{FaultKind, caller_patterns::CallerPatterns};

const HOUR: u64 = 3_600_000;

/// A clock that tests set.
#[derive(Default)]
struct SetClock(AtomicU64);

impl Clock for SetClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Default)]
struct SavedUsage(Mutex<Vec<StoredUsage>>);

#[async_trait]
impl QuotaStore for SavedUsage {
    async fn load(&self, since: u64) -> Result<Vec<StoredUsage>, Fault> {
        Ok(lock(&self.0).iter().filter(|one| one.calls.start >= since).cloned().collect())
    }

    async fn save(&self, usage: Vec<StoredUsage>, _: u64) -> Result<(), Fault> {
        lock(&self.0).extend(usage);
        Ok(())
    }
}

fn rule(name: &str, who: &str, calls: Option<&str>, tokens: Option<&str>) -> QuotaRule {
    let allowance = |text: Option<&str>| text.map(|text| text.parse().expect("an allowance"));
    QuotaRule {
        name: name.into(),
        who: CallerPatterns::new(vec![who.to_owned()]).expect("a pattern"),
        calls: allowance(calls),
        tokens: allowance(tokens),
        concurrency: None,
        stored: None,
    }
}

fn meter(clock: &Arc<SetClock>, store: Option<Arc<SavedUsage>>, rules: Vec<QuotaRule>) -> Arc<QuotaMeter> {
    let meter = Arc::new(QuotaMeter::new(Arc::clone(clock) as _, store.map(|store| store as _)));
    meter.set_rules(rules);
    meter
}

async fn admitted(meter: &Arc<QuotaMeter>, caller: &Arc<Caller>) -> Result<(), Fault> {
    meter.admit(caller, true).await.map(drop)
}

#[tokio::test]
async fn every_quota_holds_and_a_refusal_says_when_it_resets() {
    let clock = Arc::new(SetClock(AtomicU64::new(10 * HOUR + 1_500)));
    let rules = vec![
        rule("people", "okta:*", Some("3 per hour"), None),
        rule("ann", "okta:ann", Some("2 per day"), None),
    ];
    let meter = meter(&clock, None, rules);
    let (ann, bob) = (Caller::named("okta:ann"), Caller::named("okta:bob"));
    for _ in 0..2 {
        admitted(&meter, &ann).await.expect("admitted");
    }
    let fault = admitted(&meter, &ann).await.expect_err("refused");
    assert_eq!((fault.kind, fault.retryable), (FaultKind::Exhausted, true));
    assert_eq!(fault.message, "quota 'ann' is used up: 2 calls per day");
    let hint = fault.hint.expect("a hint");
    assert!(hint.contains("1970-01-02T00:00:00Z, in 50399 s"), "{hint}");
    for _ in 0..3 {
        admitted(&meter, &bob).await.expect("bob has his own window");
    }
    assert!(admitted(&meter, &bob).await.is_err());
    assert!(admitted(&meter, &Caller::local()).await.is_ok(), "no quota names the local user");
    clock.0.store(11 * HOUR, Ordering::Relaxed);
    assert!(admitted(&meter, &bob).await.is_ok(), "the next hour");
    assert!(admitted(&meter, &ann).await.is_err(), "the same day");
    assert_eq!(
        meter.usage(&ann.principal).iter().map(|one| one.calls.used).max(),
        Some(2),
        "refusals use nothing"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_calls_are_counted_exactly() {
    let clock = Arc::new(SetClock(AtomicU64::new(HOUR)));
    let meter = meter(&clock, None, vec![rule("q", "*", Some("1000 per hour"), None)]);
    let ann = Caller::named("ann");
    let tasks: Vec<_> = (0..64)
        .map(|_| {
            let (meter, ann) = (Arc::clone(&meter), Arc::clone(&ann));
            tokio::spawn(async move {
                let mut calls = 0;
                for _ in 0..50 {
                    calls += u32::from(admitted(&meter, &ann).await.is_ok());
                    tokio::task::yield_now().await;
                }
                calls
            })
        })
        .collect();
    let mut calls = 0;
    for task in tasks {
        calls += task.await.expect("a task");
    }
    assert_eq!(calls, 1_000);
}

#[tokio::test]
async fn concurrency_counts_calls_of_clients_until_they_end() {
    let clock = Arc::new(SetClock(AtomicU64::new(HOUR)));
    let limited = QuotaRule { concurrency: Some(2), stored: Some(5), ..rule("q", "*", None, None) };
    let meter = meter(&clock, None, vec![limited]);
    let ann = Caller::named("ann");
    let first = meter.admit(&ann, true).await.expect("admitted").expect("a permit");
    assert_eq!(first.stored_limit(), Some(5));
    let _second = meter.admit(&ann, true).await.expect("admitted");
    let fault = admitted(&meter, &ann).await.expect_err("two are running");
    assert!(fault.message.contains("'q' is used up: 2 concurrent calls"), "{fault}");
    assert!(meter.admit(&ann, false).await.is_ok(), "a nested call");
    assert!(admitted(&meter, &Caller::named("bob")).await.is_ok());
    drop(first);
    assert!(admitted(&meter, &ann).await.is_ok());
}

#[tokio::test]
async fn tokens_are_charged_after_the_call_and_noted_once() {
    let clock = Arc::new(SetClock(AtomicU64::new(HOUR)));
    let meter = meter(&clock, None, vec![rule("q", "*", None, Some("100 per hour"))]);
    let ann = Caller::named("ann");
    let permit = meter.admit(&ann, true).await.expect("admitted").expect("a permit");
    permit.charge_bytes(4 * 79);
    assert_eq!(permit.take_notes(), Vec::<String>::new());
    meter.charge_bytes(&ann, 2);
    assert_eq!(
        permit.take_notes(),
        ["[quota 'q': 80 % of 100 tokens per hour used; resets at 1970-01-01T02:00:00Z]"]
    );
    assert!(permit.take_notes().is_empty(), "once per window");
    permit.charge_tokens(1_000);
    let fault = admitted(&meter, &ann).await.expect_err("refused");
    assert_eq!(fault.message, "quota 'q' is used up: 100 tokens per hour");
    clock.0.store(2 * HOUR, Ordering::Relaxed);
    assert!(admitted(&meter, &ann).await.is_ok());
}

#[tokio::test]
async fn a_restart_does_not_reset_a_window() {
    let clock = Arc::new(SetClock(AtomicU64::new(30 * HOUR)));
    let store = Arc::new(SavedUsage::default());
    let rules = || vec![rule("q", "*", Some("2 per day"), None)];
    let ann = Caller::named("ann");
    let before = meter(&clock, Some(Arc::clone(&store)), rules());
    admitted(&before, &ann).await.expect("admitted");
    admitted(&before, &ann).await.expect("admitted");
    before.save().await.expect("saved");
    before.save().await.expect("saved");
    assert_eq!(lock(&store.0).len(), 1, "only changes are stored");
    let after = meter(&clock, Some(Arc::clone(&store)), rules());
    assert!(admitted(&after, &ann).await.is_err());
    clock.0.store(50 * HOUR, Ordering::Relaxed);
    let next_day = meter(&clock, Some(store), rules());
    assert!(admitted(&next_day, &ann).await.is_ok());
}

#[tokio::test]
async fn new_rules_apply_to_known_callers_and_continue_the_counts() {
    let clock = Arc::new(SetClock(AtomicU64::new(HOUR)));
    let meter = meter(&clock, None, vec![rule("q", "*", Some("9 per hour"), None)]);
    let ann = Caller::named("ann");
    admitted(&meter, &ann).await.expect("admitted");
    meter.set_rules(vec![rule("q", "ann", Some("1 per hour"), None)]);
    assert!(admitted(&meter, &ann).await.is_err());
    meter.set_rules(Vec::new());
    assert!(admitted(&meter, &ann).await.is_ok());
}
