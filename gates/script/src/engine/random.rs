//! Numbers for `Math.random`. The engine's own would begin alike in every run, for its state is part of the component.

use std::cell::Cell;

/// Random numbers of one run, seeded when the first is asked for. SplitMix64 (Steele, Lea, Flood: "Fast splittable
/// pseudorandom number generators", 2014): good enough for scripts, and for nothing that has to be secret.
#[derive(Default)]
pub(super) struct Random(Cell<Option<u64>>);

impl Random {
    /// The next number, from 0 up to and without 1.
    pub(super) fn next(&self) -> f64 {
        let state = self.0.get().unwrap_or_else(seed).wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(Some(state));
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // As many bits as a double has.
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Of the system; the time where that has none.
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
