//! Totals, their percentiles, and how long single calls stay.

use gatehouse_core::{
    FaultKind,
    ports::{
        CallLedger as _, Clock as _,
        ledger::{CallSample, MetricsFilter, SampleEnding},
    },
};
use gatehouse_stores::LedgerTables;

use super::{DAY, MINUTE, Place, all, id};
use crate::engines::LedgerFixture;

pub(crate) async fn recorded_calls_add_up_and_survive_a_restart<F: LedgerFixture>(engine: F) {
    let place = Place::new(engine);
    let ledger = place.ledger();
    ledger.close().await;
    assert_eq!(place.ledger().exists().await, Ok(false), "nothing is made before it is needed");
    let ledger = place.ledger();
    ledger.record(place.call("read", SampleEnding::Replied));
    ledger.record(place.call("read", SampleEnding::Fault(FaultKind::TimedOut)));
    ledger.record(place.call("read", SampleEnding::Fault(FaultKind::NotFound)));
    place.clock.advance(1);
    ledger.record(place.call("read", SampleEnding::ToolError));
    ledger.record(place.call("write", SampleEnding::Replied));
    ledger.close().await;

    let metrics = all(&place.ledger()).await;
    let [read, write] = &metrics[..] else { panic!("{metrics:?}") };
    assert_eq!(
        (read.calls, read.tool_errors, read.transport_errors),
        (4, 2, 1),
        "a tool that finds nothing answered"
    );
    assert_eq!((read.tokens_in, read.tokens_out, read.connecting_ms), (12, 160, 20));
    assert_eq!(read.last_error.as_deref(), Some("tool-error"));
    assert_eq!(read.last_called, Some(place.clock.now_ms()));
    assert!((read.mean_ms - 2.0).abs() < 1e-9 && (read.p95_ms.unwrap() - 2.0).abs() < 0.09, "{read:?}");
    assert_eq!((write.calls, write.last_error.as_deref(), write.success_rate()), (1, None, Some(1.0)));
}

pub(crate) async fn the_last_failure_keeps_its_text_for_a_week_and_its_kind_permanently<F: LedgerFixture>(
    engine: F,
) {
    let place = Place::new(engine);
    let failed = |text: &str| {
        let call = place.call("read", SampleEnding::Fault(FaultKind::TimedOut));
        CallSample { error: Some(text.into()), ..call }
    };
    let last = async |ledger: &LedgerTables| all(ledger).await[0].last_error.clone().unwrap();
    let ledger = place.ledger();
    ledger.record(failed("first"));
    place.clock.advance(1);
    ledger.record(failed("second"));
    ledger.record(place.call("read", SampleEnding::Replied));
    ledger.close().await;
    let ledger = place.ledger();
    assert_eq!((last(&ledger).await, place.rows("failure").await), ("second".into(), 1));
    place.clock.advance(MINUTE);
    ledger.record(place.call("read", SampleEnding::ToolError));
    assert_eq!(last(&ledger).await, "tool-error", "a failure without a text does not show an older text");
    place.clock.advance(MINUTE);
    ledger.record(failed("third"));
    assert_eq!(last(&ledger).await, "third");
    place.clock.advance(8 * DAY);
    ledger.record(place.call("read", SampleEnding::Replied));
    ledger.close().await;
    let ledger = place.ledger();
    assert_eq!((last(&ledger).await, place.rows("failure").await), ("timed-out".into(), 0));
    ledger.record(failed("fourth"));
    ledger.flush().await.unwrap();
    ledger.reset(&MetricsFilter::default()).await.unwrap();
    assert_eq!((all(&ledger).await.len(), place.rows("failure").await), (0, 0));
}

pub(crate) async fn single_calls_are_deleted_after_a_week_and_totals_stay<F: LedgerFixture>(engine: F) {
    let place = Place::new(engine);
    let ledger = place.ledger();
    for _ in 0..30 {
        ledger.record(place.call("read", SampleEnding::Replied));
        ledger.flush().await.unwrap();
        place.clock.advance(DAY);
    }
    let [read] = &all(&ledger).await[..] else { panic!() };
    assert_eq!((read.calls, place.rows("call").await, place.rows("day").await), (30, 8, 30));
    assert!(read.p50_ms.is_some());
    let last = |days| MetricsFilter { days: Some(days), ..MetricsFilter::default() };
    let week = ledger.metrics(&last(7)).await.unwrap();
    assert_eq!((week[0].calls, &week[0].by_day[..]), (6, &[1, 1, 1, 1, 1, 1, 0][..]));
    assert_eq!(ledger.reset(&last(7)).await.unwrap(), 6);
    assert_eq!(all(&ledger).await[0].calls, 24);
    let other = MetricsFilter { tool: Some("write".into()), ..MetricsFilter::default() };
    assert_eq!(ledger.reset(&other).await.unwrap(), 0);
    assert_eq!(ledger.reset(&MetricsFilter::default()).await.unwrap(), 24);
    assert!(all(&ledger).await.is_empty());
}

pub(crate) async fn two_hosts_share_one_ledger<F: LedgerFixture>(engine: F) {
    let place = Place::new(engine);
    let (one, other) = (place.ledger(), place.ledger());
    for _ in 0..50 {
        one.record(place.call("read", SampleEnding::Replied));
        other.record(place.call("read", SampleEnding::Replied));
        let (a, b) = tokio::join!(one.flush(), other.flush());
        a.and(b).unwrap();
    }
    place.clock.advance(8 * DAY);
    one.record(place.call("read", SampleEnding::Replied));
    other.record(place.call("read", SampleEnding::Replied));
    let (a, b) = tokio::join!(one.flush(), other.flush());
    a.and(b).unwrap();
    assert_eq!((all(&one).await[0].calls, place.rows("call").await, place.rows("caller").await), (102, 2, 1));
}

pub(crate) async fn a_clean_up_that_runs_again_changes_nothing<F: LedgerFixture>(engine: F) {
    let place = Place::new(engine);
    let ledger = place.ledger();
    for _ in 0..20 {
        ledger.record(place.call("read", SampleEnding::Replied));
        ledger.flush().await.unwrap();
        place.clock.advance(DAY);
    }
    ledger.record(place.call("read", SampleEnding::ToolError));
    ledger.flush().await.unwrap();
    let (metrics, rows) = (all(&ledger).await, place.rows("call").await);
    assert_eq!((metrics[0].calls, rows), (21, 8));
    // A host cleans up at its first call, even if another host did so that day.
    for _ in 0..3 {
        let again = place.ledger();
        again.record(CallSample { tool: id("other"), ..place.call("", SampleEnding::Replied) });
        again.flush().await.unwrap();
        let read = MetricsFilter { tool: Some("read".into()), ..MetricsFilter::default() };
        assert_eq!(again.metrics(&read).await.unwrap(), metrics);
        again.close().await;
    }
    assert_eq!(place.rows("call").await, 11);
}

pub(crate) async fn percentiles_of_days_are_those_of_the_calls<F: LedgerFixture>(engine: F) {
    let place = Place::new(engine);
    let ledger = place.ledger();
    let mut took: Vec<u64> =
        (0..5_000_u64).map(|n| 50 + (n * 7_919) % 1_009 * (n % 13 + 1) * (n % 7 + 1)).collect();
    for (n, took_us) in took.iter().enumerate() {
        if n % 500 == 0 {
            place.clock.advance(DAY);
        }
        ledger.record(CallSample { took_us: *took_us, ..place.call("read", SampleEnding::Replied) });
    }
    ledger.flush().await.unwrap();
    assert!(place.rows("call").await < 5_000, "most single calls are deleted");
    took.sort_unstable();
    let [read] = &all(&ledger).await[..] else { panic!() };
    for (percentile, share) in [(read.p50_ms, 0.5), (read.p95_ms, 0.95)] {
        let exact = took[(took.len() as f64 * share).ceil() as usize - 1] as f64 / 1_000.0;
        let percentile = percentile.unwrap();
        assert!((percentile / exact - 1.0).abs() < 0.0444, "{percentile} for {exact}");
    }
    let mean = took.iter().sum::<u64>() as f64 / took.len() as f64 / 1_000.0;
    assert!((read.mean_ms - mean).abs() < 1e-6, "{} for {mean}", read.mean_ms);
}
