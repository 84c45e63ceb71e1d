//! Limits of sharers.

use super::SharerKey;

/// Limits of all sharers at a moment.
#[derive(Clone, Copy)]
pub(super) struct ShareLimits {
    pub(super) free: usize,
    pub(super) max_per_sharer: usize,
    pub(super) weight: usize,
}

impl ShareLimits {
    /// Returns true if a sharer with `held` permits may get `wanted` more for a gate that has `of_gate` of them.
    pub(super) fn have_room(self, sharer: &SharerKey, held: usize, of_gate: usize, wanted: usize) -> bool {
        let Self { free, max_per_sharer, weight } = self;
        let after = held + wanted;
        let is_within_share = match sharer {
            SharerKey::Gate(_) if weight > 1 => true,
            SharerKey::Gate(_) => after <= free,
            SharerKey::Principal(_) if weight > 1 => after <= free.saturating_mul(weight),
            SharerKey::Principal(_) => after <= free && of_gate <= free - held,
        };
        wanted <= free && after <= max_per_sharer && is_within_share
    }
}
