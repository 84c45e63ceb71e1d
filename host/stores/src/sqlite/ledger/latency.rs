//! Latencies as counts in buckets whose bounds grow by the same factor: counts of several days add up, and percentiles
//! stay when the single calls are gone. Eight buckets for each doubling, so what is told is at most 4.4 % off.

/// Buckets for each doubling.
const PER_DOUBLING: f64 = 8.0;

/// The bucket of a latency in microseconds; everything up to one is in the first.
pub(super) fn bucket(took_us: i64) -> i64 {
    ((took_us.max(1) as f64).log2() * PER_DOUBLING).floor() as i64
}

/// The percentile `share`, 0 to 1, of calls in buckets, which are in order; in milliseconds. None where there is no call.
pub(super) fn percentile(buckets: &[(i64, u64)], share: f64) -> Option<f64> {
    let calls: u64 = buckets.iter().map(|(_, calls)| calls).sum();
    let rank = ((calls as f64 * share).ceil() as u64).max(1);
    let mut before = 0;
    let found = buckets.iter().find(|(_, calls)| {
        before += calls;
        before >= rank
    });
    found.map(|(bucket, _)| ((*bucket as f64 + 0.5) / PER_DOUBLING).exp2() / 1_000.0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_percentile_is_at_most_so_much_off(mut all in prop::collection::vec(20_i64..1_000_000_000, 1..400)) {
            let mut buckets = BTreeMap::<i64, u64>::new();
            for took in &all {
                *buckets.entry(bucket(*took)).or_default() += 1;
            }
            let buckets: Vec<_> = buckets.into_iter().collect();
            all.sort_unstable();
            for share in [0.5, 0.95] {
                let rank = (all.len() as f64 * share).ceil() as usize - 1;
                let (exact, told) = (all[rank] as f64 / 1_000.0, percentile(&buckets, share).unwrap());
                prop_assert!((told / exact - 1.0).abs() < 0.0444, "{told} for {exact}");
            }
        }
    }

    #[test]
    fn no_call_has_no_percentile() {
        assert_eq!(percentile(&[], 0.5), None);
        assert_eq!((bucket(-1), bucket(0), bucket(1), bucket(2)), (0, 0, 0, 8));
    }
}
