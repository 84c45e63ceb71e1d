//! Progress of a call, at a rate that a client can take.

use std::time::Duration;

use gatehouse_core::{call::ProgressSink, names::quoted};
use serde_json::{Map, Value};
use tokio::time::Instant;

/// Maximum characters of a message.
const MAX_MESSAGE_CHARS: usize = 2_000;

/// Reports that pass immediately. After them, one passes per [`INTERVAL`].
const BURST: u32 = 16;

const INTERVAL: Duration = Duration::from_millis(50);

/// Limits the reports of one call. The last one that was held back is reported when the call ends.
#[derive(Default)]
pub(super) struct ProgressLimit {
    sent: u32,
    refilled: Option<Instant>,
    held: Option<ProgressReport>,
}

struct ProgressReport {
    done: f64,
    total: Option<f64>,
    message: Option<String>,
}

impl ProgressReport {
    fn send(self, sink: &dyn ProgressSink) {
        sink.report(self.done, self.total, self.message);
    }
}

impl ProgressLimit {
    /// Passes on a report of a server, or holds it back.
    pub(super) fn report(&mut self, now: Instant, params: &Map<String, Value>, sink: &dyn ProgressSink) {
        let number = |key: &str| params.get(key).and_then(Value::as_f64);
        let Some(done) = number("progress") else { return };
        let message = params.get("message").and_then(Value::as_str);
        let message = message.map(|message| quoted(message, MAX_MESSAGE_CHARS));
        let report = ProgressReport { done, total: number("total"), message };
        let refilled = *self.refilled.get_or_insert(now);
        let intervals = now.duration_since(refilled).as_millis() / INTERVAL.as_millis();
        let intervals = u32::try_from(intervals).unwrap_or(u32::MAX);
        if intervals > 0 {
            self.sent = self.sent.saturating_sub(intervals);
            self.refilled = Some(now);
        }
        if self.sent < BURST {
            self.sent += 1;
            self.held = None;
            report.send(sink);
        } else {
            self.held = Some(report);
        }
    }

    pub(super) fn flush(&mut self, sink: &dyn ProgressSink) {
        if let Some(report) = self.held.take() {
            report.send(sink);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use gatehouse_core::lock;
    use serde_json::json;

    use super::*;

    #[derive(Default)]
    struct Reports(Mutex<Vec<(f64, Option<String>)>>);

    impl ProgressSink for Reports {
        fn report(&self, done: f64, _: Option<f64>, message: Option<String>) {
            lock(&self.0).push((done, message));
        }
    }

    #[test]
    fn a_flood_of_reports_is_thinned_and_ends_with_the_last() {
        let (mut limit, reports, begin) = (ProgressLimit::default(), Reports::default(), Instant::now());
        let mut report = |at: u64, done: u32| {
            let params = json!({"progress": done, "message": "m".repeat(9_000)});
            let params = params.as_object().expect("an object");
            limit.report(begin + Duration::from_millis(at), params, &reports);
        };
        (0..1_000).for_each(|done| report(0, done));
        report(60, 1_000);
        (1_001..2_000).for_each(|done| report(60, done));
        limit.flush(&reports);
        let reports = lock(&reports.0);
        let numbers: Vec<f64> = reports.iter().map(|(done, _)| *done).collect();
        assert_eq!(numbers, (0..16).chain([1_000, 1_999]).map(f64::from).collect::<Vec<_>>());
        assert!(
            reports.iter().all(|(_, message)| message.as_ref().expect("a message").chars().count() <= 2_001)
        );
    }

    #[test]
    fn a_few_reports_pass_at_once() {
        let (mut limit, reports, now) = (ProgressLimit::default(), Reports::default(), Instant::now());
        for params in [json!({"progress": 0.25, "total": 1}), json!({"total": 3}), json!({"progress": 2})] {
            limit.report(now, params.as_object().expect("an object"), &reports);
        }
        assert_eq!(*lock(&reports.0), [(0.25, None), (2.0, None)]);
    }
}
