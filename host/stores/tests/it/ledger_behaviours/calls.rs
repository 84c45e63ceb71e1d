//! Single calls are listed as they were, with every filter, and forget whom they were of.

use gatehouse_core::{
    FaultKind,
    ports::{
        CallLedger as _,
        ledger::{
            Activity, ActivityFilter, CallBodies, CallDetails, CallSample, SampleEnding, StoredCall,
            StoredCallFilter,
        },
    },
};
use gatehouse_stores::LedgerTables;

use super::{MINUTE, Place, all, id};
use crate::engines::LedgerFixture;

fn of(principal: &str, call: CallSample) -> CallSample {
    let details =
        CallDetails { principal: principal.into(), client: "claude 1".into(), ..call.details.clone() };
    CallSample { details, ..call }
}

fn all_calls() -> StoredCallFilter {
    StoredCallFilter { limit: 100, ..StoredCallFilter::default() }
}

async fn tools(ledger: &LedgerTables, filter: StoredCallFilter) -> Vec<String> {
    ledger.calls(&filter).await.unwrap().into_iter().map(|call| call.tool).collect()
}

pub(crate) async fn calls_are_listed_as_they_were_with_every_filter<F: LedgerFixture>(engine: F) {
    let place = Place::new(engine);
    let ledger = place.ledger();
    assert_eq!(ledger.calls(&all_calls()).await, Ok(Vec::new()));
    ledger.record(of("key:ann", place.call("read_file", SampleEnding::Replied)));
    place.clock.advance(MINUTE);
    let details = CallDetails {
        id: "019ad6c1-0f3b-7c52-9b0e-5a1f0c6de7b2".into(),
        principal: "key:ben".into(),
        client: "codex 2".into(),
        refused: false,
        rule: Some("presets.toml:12".into()),
        approval: Some("accepted".into()),
        total_us: 9_000,
        waited_us: 70_000,
        tokens_before: 4_000,
        trace: Some("0af7651916cd43dd8448eb211c80319c".into()),
    };
    let failed = place.call("readXfile", SampleEnding::Fault(FaultKind::TimedOut));
    let failed = CallSample { error: Some("no answer\0".into()), details: details.clone(), ..failed };
    ledger.record(failed.clone());
    let read = ledger.calls(&all_calls()).await.unwrap();
    let expected = StoredCall {
        number: read[1].number,
        at: failed.at,
        source: id("").source,
        tool: "readXfile".into(),
        preset: "p".into(),
        outcome: "timed-out".into(),
        error: read[1].error.clone(),
        took_us: 2_000,
        connecting_us: 5_000,
        tokens_in: 3,
        tokens_out: 40,
        details,
    };
    assert_eq!((read.len(), &read[1]), (2, &expected));
    assert!(read[1].error.as_ref().is_some_and(|error| error.starts_with("no answer")));
    let text = |text: &str| Some(text.to_owned());
    let one = [
        StoredCallFilter { id: text("019ad6c1-0f3b-7c52-9b0e-5a1f0c6de7b2"), ..all_calls() },
        StoredCallFilter { principal: text("key:ben"), ..all_calls() },
        StoredCallFilter { outcome: text("failed"), ..all_calls() },
        StoredCallFilter { outcome: text("timed-out"), ..all_calls() },
        StoredCallFilter { tool: text("*Xfile"), ..all_calls() },
        StoredCallFilter { since: failed.at, ..all_calls() },
        StoredCallFilter { after: read[0].number, ..all_calls() },
        StoredCallFilter { limit: 1, ..all_calls() },
    ];
    let before = StoredCallFilter { before: Some(read[1].number), ..all_calls() };
    assert_eq!(tools(&ledger, before).await, ["read_file"]);
    for filter in one {
        assert_eq!(tools(&ledger, filter.clone()).await, ["readXfile"], "{filter:?}");
    }
    assert_eq!(tools(&ledger, StoredCallFilter { tool: text("read_*"), ..all_calls() }).await, ["read_file"]);
    assert_eq!(tools(&ledger, StoredCallFilter { source: text("s"), ..all_calls() }).await.len(), 2);
    for none in ["nonsense", "denied"] {
        assert!(tools(&ledger, StoredCallFilter { outcome: text(none), ..all_calls() }).await.is_empty());
    }
}

pub(crate) async fn a_refused_call_is_listed_and_counts_nowhere<F: LedgerFixture>(engine: F) {
    let place = Place::new(engine);
    let ledger = place.ledger();
    let denied = place.call("erase", SampleEnding::Fault(FaultKind::Denied));
    let details = CallDetails { refused: true, rule: Some("rule 3".into()), ..CallDetails::default() };
    ledger.record(CallSample { details, ..denied });
    ledger.flush().await.unwrap();
    let listed = ledger.calls(&all_calls()).await.unwrap();
    assert_eq!((listed.len(), &*listed[0].outcome, listed[0].details.refused), (1, "denied", true));
    assert!(all(&ledger).await.is_empty());
    assert_eq!((place.rows("day").await, place.rows("caller").await), (0, 0));
}

pub(crate) async fn an_erasure_removes_whom_a_call_was_of<F: LedgerFixture>(engine: F) {
    let place = Place::new(engine);
    let ledger = place.ledger();
    let failed = place.call("read", SampleEnding::ToolError);
    ledger.record(of("key:ann", CallSample { error: Some("no file of ann".into()), ..failed }));
    ledger.record(of("key:ben", place.call("read", SampleEnding::Replied)));
    assert_eq!(ledger.erase("key:ann").await, Ok(1));
    assert_eq!(ledger.principals().await, Ok(vec![("key:ben".to_owned(), 1)]));
    let calls = ledger.calls(&all_calls()).await.unwrap();
    let [erased, other] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!((&*erased.details.principal, &*erased.details.client, &erased.error), ("", "", &None));
    assert_eq!((&*other.details.principal, &*other.details.client), ("key:ben", "claude 1"));
    assert_eq!(all(&ledger).await[0].calls, 2);
    assert_eq!(all(&ledger).await[0].last_error.as_deref(), Some("tool-error"), "its text is gone, too");
}

pub(crate) async fn bodies_are_stored_up_to_a_limit_and_erased<F: LedgerFixture>(engine: F) {
    let place = Place::new(engine);
    let ledger = place.ledger();
    let bodies = |reply: &str| CallBodies { arguments: "{\"a\":1}".into(), reply: reply.into() };
    for (call, reply) in [("first", "x".repeat(40)), ("second", "y".repeat(40)), ("third", "z\0".into())] {
        let sample = of(&format!("key:{call}"), place.call("read", SampleEnding::Replied));
        let details = CallDetails { id: call.into(), ..sample.details.clone() };
        ledger.record(CallSample { details, bodies: Some(bodies(&reply)), ..sample });
        ledger.flush().await.unwrap();
    }
    assert_eq!(ledger.bodies("first").await, Ok(None), "beyond the limit");
    assert_eq!(ledger.bodies("second").await, Ok(Some(bodies(&"y".repeat(40)))));
    let third = ledger.bodies("third").await.unwrap().expect("bodies");
    assert!(third.reply.starts_with('z'), "{third:?}");
    assert_eq!(ledger.bodies("other").await, Ok(None));
    assert_eq!(ledger.calls(&all_calls()).await.unwrap().len(), 3);
    ledger.erase("key:second").await.unwrap();
    assert_eq!(ledger.bodies("second").await, Ok(None));
}

pub(crate) async fn activity_counts_calls_by_slots_of_time<F: LedgerFixture>(engine: F) {
    let place = Place::new(engine);
    let ledger = place.ledger();
    let start = place.call("read", SampleEnding::Replied).at;
    for took_us in [9_000, 1_000, 5_000] {
        ledger.record(CallSample { took_us, ..place.call("read", SampleEnding::Replied) });
    }
    place.clock.advance(2 * MINUTE);
    let failed = place.call("write", SampleEnding::ToolError);
    let details = CallDetails { tokens_before: 1_040, ..CallDetails::default() };
    ledger.record(CallSample { details, ..failed });
    let denied = place.call("write", SampleEnding::Fault(FaultKind::Denied));
    let details = CallDetails { refused: true, ..CallDetails::default() };
    ledger.record(CallSample { details, ..denied });
    ledger.flush().await.unwrap();
    let filter = ActivityFilter { source: None, tool: None, since: start, slot_ms: MINUTE };
    let first = Activity { slot: 0, calls: 3, failed: 0, saved: 0, p50_us: 5_000, p95_us: 9_000 };
    let last = Activity { slot: 2, calls: 1, failed: 1, saved: 1_000, p50_us: 2_000, p95_us: 2_000 };
    assert_eq!(ledger.activity(&filter).await, Ok(vec![first, last.clone()]));
    let later = ActivityFilter { since: start + MINUTE, ..filter.clone() };
    assert_eq!(ledger.activity(&later).await, Ok(vec![Activity { slot: 1, ..last.clone() }]));
    let of_tool = ActivityFilter { source: Some("s".into()), tool: Some("write".into()), ..filter };
    assert_eq!(ledger.activity(&of_tool).await, Ok(vec![last]));
    assert_eq!(ledger.activity(&ActivityFilter { source: Some("t".into()), ..of_tool }).await, Ok(vec![]));
}
