//! Latency histograms, whose daily counts can be added. With eight buckets per doubling, a percentile is off by 4.4 %
//! at most.

const PER_DOUBLING: f64 = 8.0;

/// Returns the bucket of a latency in microseconds. Everything up to 1 µs is in the first bucket.
pub(super) fn bucket(took_us: i64) -> i64 {
    ((took_us.max(1) as f64).log2() * PER_DOUBLING).floor() as i64
}

/// Returns a percentile in milliseconds. `buckets` are sorted, and `share` is from 0 to 1. `None` if there are no
/// calls.
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
