//! Related tools are reported only if they are statistically significant.

use gatehouse_core::{
    SourceId, ToolId,
    ports::{
        CallLedger as _,
        ledger::{CallSample, SampleEnding},
    },
};

use super::{MINUTE, Place, id};
use crate::engines::LedgerFixture;

pub(crate) async fn following_tools_are_related_if_significant<F: LedgerFixture>(engine: F) {
    let place = Place::new(engine);
    let ledger = place.ledger();
    let session = || {
        for tool in ["find", "read", "noise", "noise", "noise", "noise"] {
            ledger.record(place.call(tool, SampleEnding::Replied));
            place.clock.advance(MINUTE);
        }
        place.clock.advance(20 * MINUTE);
        for _ in 0..20 {
            ledger.record(place.call("noise", SampleEnding::Replied));
        }
        place.clock.advance(20 * MINUTE);
    };
    (0..9).for_each(|_| session());
    ledger.flush().await.unwrap();
    assert!(ledger.related(&id("find"), 9).await.unwrap().is_empty(), "too little was seen");
    session();
    ledger.flush().await.unwrap();
    let related = ledger.related(&id("find"), 9).await.unwrap();
    let summary: Vec<_> = related.iter().map(|one| (&*one.tool, one.follows, one.together, one.of)).collect();
    assert_eq!(summary, [("read", true, 10, 10)]);
    assert!(related[0].lift > 5.0, "{related:?}");
    assert!(ledger.related(&id("unknown"), 9).await.unwrap().is_empty());
}

pub(crate) async fn other_tools_of_the_same_callers_are_related<F: LedgerFixture>(engine: F) {
    let place = Place::new(engine);
    let ledger = place.ledger();
    for caller in 0..20 {
        let tools: &[&str] = if caller < 6 { &["find", "read", "all"] } else { &["other", "all"] };
        for tool in tools {
            place.clock.advance(11 * MINUTE);
            ledger.record(CallSample { caller, ..place.call(tool, SampleEnding::Replied) });
        }
    }
    ledger.flush().await.unwrap();
    let related = ledger.related(&id("find"), 9).await.unwrap();
    let summary: Vec<_> = related.iter().map(|one| (&*one.tool, one.follows, one.together, one.of)).collect();
    assert_eq!(summary, [("read", false, 6, 6)], "tools that all callers use are not related");
}

pub(crate) async fn a_gates_own_calls_between_those_of_servers_do_not_count<F: LedgerFixture>(engine: F) {
    let place = Place::new(engine);
    let ledger = place.ledger();
    let through_a_gate = |tool: &str, gate: &[&str]| {
        ledger.record(place.call(tool, SampleEnding::Replied));
        for name in gate {
            let tool = ToolId { source: SourceId::Gate("proxy".into()), name: (*name).into() };
            ledger.record(CallSample { tool, ..place.call("", SampleEnding::Replied) });
        }
        place.clock.advance(1_000);
    };
    for _ in 0..10 {
        through_a_gate(
            "find",
            &["call_tool", "search_tools", "search_tools", "search_tools", "search_tools"],
        );
        through_a_gate("read", &["call_tool"]);
        place.clock.advance(20 * MINUTE);
        through_a_gate("noise", &["call_tool"]);
        through_a_gate("noise", &["call_tool"]);
        place.clock.advance(20 * MINUTE);
    }
    ledger.flush().await.unwrap();
    let related = ledger.related(&id("find"), 9).await.unwrap();
    let summary: Vec<_> = related.iter().map(|one| (one.source.kind(), &*one.tool, one.together)).collect();
    assert_eq!(summary, [("server", "read", 10)]);
    assert!((related[0].lift - 4.0).abs() < 1e-9, "one call of four: {related:?}");
}
