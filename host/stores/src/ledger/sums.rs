//! Totals of calls that wait to be written, and their latency histograms. Their size depends on the number of tools and
//! callers, not of calls.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use gatehouse_core::{ports::ledger::CallSample, tool::ToolId};

use super::{DAY_MS, write::ending_code};

pub(super) const MAX_TOOL_DAYS: usize = 4_096;

/// Enough for [`related`](super::read::related).
const MAX_CALLERS: usize = 1_024;

/// A year in microseconds.
const MAX_CALL_VALUE: u64 = 31_536_000_000_000;

/// Buckets of a latency histogram per doubling. With eight, a percentile is off by 4.4 % at most.
const BUCKETS_PER_DOUBLING: f64 = 8.0;

/// Totals of one tool on one day. Durations are in microseconds, times in Unix milliseconds.
#[derive(Default)]
pub(super) struct ToolDay {
    pub(super) calls: i64,
    pub(super) tool_errors: i64,
    pub(super) transport_errors: i64,
    pub(super) took: i64,
    pub(super) connecting: i64,
    pub(super) tokens_in: i64,
    pub(super) tokens_out: i64,
    pub(super) last_called: i64,
    /// Time × 16 + ending code. 0 if no call failed.
    pub(super) last_failed: i64,
    /// Time and text of the last failure that has a text.
    pub(super) failure: Option<(i64, Arc<str>)>,
    pub(super) latencies: BTreeMap<i64, i64>,
    pub(super) callers: HashMap<u64, i64>,
}

/// Unwritten calls by tool and day.
#[derive(Default)]
pub(super) struct CallSums {
    pub(super) days: HashMap<(ToolId, i64), ToolDay>,
    pub(super) calls: u64,
}

pub(super) fn bounded(value: u64) -> i64 {
    value.min(MAX_CALL_VALUE) as i64
}

impl CallSums {
    /// Returns the totals of a day. `None` if there is no room for another day.
    fn day(&mut self, tool: &ToolId, day: i64) -> Option<&mut ToolDay> {
        let key = (tool.clone(), day);
        if self.days.len() >= MAX_TOOL_DAYS && !self.days.contains_key(&key) {
            return None;
        }
        Some(self.days.entry(key).or_default())
    }

    /// Adds a call, unless it was refused. Returns false if there is no room.
    pub(super) fn add(&mut self, sample: &CallSample) -> bool {
        if sample.details.refused {
            return true;
        }
        let at = bounded(sample.at);
        let Some(day) = self.day(&sample.tool, at / DAY_MS) else { return false };
        let (ending, took) = (ending_code(sample.ending), bounded(sample.took_us));
        day.calls += 1;
        let is_answered = sample.ending.is_answered();
        day.tool_errors += i64::from(ending > 0 && is_answered);
        day.transport_errors += i64::from(!is_answered);
        day.took += took;
        day.connecting += bounded(sample.connecting_us);
        day.tokens_in += bounded(sample.tokens_in);
        day.tokens_out += bounded(sample.tokens_out);
        day.last_called = day.last_called.max(at);
        day.last_failed = day.last_failed.max(if ending == 0 { 0 } else { at * 16 + ending });
        day.record_failure(sample.error.as_ref().map(|text| (at, text)));
        *day.latencies.entry(bucket(took)).or_default() += 1;
        day.record_caller(sample.caller, at);
        self.calls += 1;
        true
    }

    /// Adds the calls of a failed write. Returns the number of calls that did not fit.
    pub(super) fn merge_back(&mut self, unwritten: &Self) -> u64 {
        let mut lost = 0;
        for ((tool, number), one) in &unwritten.days {
            let Some(day) = self.day(tool, *number) else {
                lost += one.calls.unsigned_abs();
                continue;
            };
            day.calls += one.calls;
            day.tool_errors += one.tool_errors;
            day.transport_errors += one.transport_errors;
            day.took += one.took;
            day.connecting += one.connecting;
            day.tokens_in += one.tokens_in;
            day.tokens_out += one.tokens_out;
            day.last_called = day.last_called.max(one.last_called);
            day.last_failed = day.last_failed.max(one.last_failed);
            day.record_failure(one.failure.as_ref().map(|(at, text)| (*at, text)));
            for (bucket, calls) in &one.latencies {
                *day.latencies.entry(*bucket).or_default() += calls;
            }
            for (caller, last) in &one.callers {
                day.record_caller(*caller, *last);
            }
        }
        self.calls += unwritten.calls - lost;
        lost
    }
}

impl ToolDay {
    /// Stores the text of a failure if it is the latest.
    fn record_failure(&mut self, failure: Option<(i64, &Arc<str>)>) {
        if let Some((at, text)) = failure
            && self.failure.as_ref().is_none_or(|(last, _)| at >= *last)
        {
            self.failure = Some((at, Arc::clone(text)));
        }
    }

    fn record_caller(&mut self, caller: u64, at: i64) {
        if self.callers.len() < MAX_CALLERS || self.callers.contains_key(&caller) {
            let last = self.callers.entry(caller).or_default();
            *last = at.max(*last);
        }
    }
}

/// Returns the bucket of a latency in microseconds. Everything up to 1 µs is in the first bucket.
fn bucket(took_us: i64) -> i64 {
    ((took_us.max(1) as f64).log2() * BUCKETS_PER_DOUBLING).floor() as i64
}

/// Returns a percentile in milliseconds. `buckets` are sorted, and `share` is from 0 to 1. `None` if there are no
/// calls.
pub(super) fn percentile(buckets: &[(i64, u64)], share: f64) -> Option<f64> {
    let calls: u64 = buckets.iter().map(|(_, calls)| calls).sum();
    let rank = ((calls as f64 * share).ceil() as u64).max(1);
    let mut before = 0;
    let percentile_bucket = buckets.iter().find(|(_, calls)| {
        before += calls;
        before >= rank
    });
    percentile_bucket.map(|(bucket, _)| ((*bucket as f64 + 0.5) / BUCKETS_PER_DOUBLING).exp2() / 1_000.0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn percentiles_are_off_by_less_than_five_percent(mut all in prop::collection::vec(20_i64..1_000_000_000, 1..400)) {
            let mut buckets = BTreeMap::<i64, u64>::new();
            for took in &all {
                *buckets.entry(bucket(*took)).or_default() += 1;
            }
            let buckets: Vec<_> = buckets.into_iter().collect();
            all.sort_unstable();
            for share in [0.5, 0.95] {
                let rank = (all.len() as f64 * share).ceil() as usize - 1;
                let (exact, found) = (all[rank] as f64 / 1_000.0, percentile(&buckets, share).unwrap());
                prop_assert!((found / exact - 1.0).abs() < 0.0444, "{found} for {exact}");
            }
        }
    }

    #[test]
    fn no_call_has_no_percentile() {
        assert_eq!(percentile(&[], 0.5), None);
        assert_eq!((bucket(-1), bucket(0), bucket(1), bucket(2)), (0, 0, 0, 8));
    }
}
