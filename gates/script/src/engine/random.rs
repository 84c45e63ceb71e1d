//! Random numbers for `Math.random`. The engine's own generator would start with the same state in each run, because
//! that state is in the snapshot.

use std::cell::Cell;

/// A generator that is seeded on first use. SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators", 2014); not for secrets.
#[derive(Default)]
pub(super) struct Random(Cell<Option<u64>>);

impl Random {
    /// Returns the next number in `0.0..1.0`.
    pub(super) fn next(&self) -> f64 {
        let state = self.0.get().unwrap_or_else(seed).wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(Some(state));
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn seed() -> u64 {
    getrandom::u64().unwrap_or_else(|_| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(0, |now| now.as_nanos() as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spread_and_differ_between_runs() {
        let (one, other) = (Random::default(), Random::default());
        let numbers: Vec<f64> = (0..10_000).map(|_| one.next()).collect();
        assert!(numbers.iter().all(|number| (0.0..1.0).contains(number)));
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        assert!((0.45..0.55).contains(&mean), "{mean}");
        assert_ne!(numbers[0], other.next());
    }
}
