//! Token counts of short pieces that a text has repeated: most of its pieces have stood in it before.

/// Texts below this are not worth a memo.
const WORTH: usize = 2 << 10;

/// Slots, a power of two: 128 KiB, which stays in a core's cache.
const SLOTS: usize = 1 << 12;

/// The longest piece that is remembered: it and its length fit one word.
const SHORT: usize = 15;

/// What was counted before, each piece in the one slot that its hash names.
pub(super) struct Memo(Vec<(u128, u32)>);

impl Memo {
    pub(super) fn for_text(text: &str) -> Self {
        Self(if text.len() < WORTH { Vec::new() } else { vec![(0, 0); SLOTS] })
    }

    /// The tokens of a piece, none where `count` has none. What is remembered is counted without a limit: it has no
    /// more tokens than bytes.
    pub(super) fn count(
        &mut self,
        piece: &[u8],
        limit: usize,
        mut count: impl FnMut(&[u8], usize) -> Option<usize>,
    ) -> Option<usize> {
        if self.0.is_empty() || piece.len() > SHORT {
            return count(piece, limit);
        }
        let mut packed = [0_u8; 16];
        packed[..piece.len()].copy_from_slice(piece);
        packed[15] = piece.len() as u8;
        let packed = u128::from_le_bytes(packed);
        let mixed = (packed as u64 ^ (packed >> 64) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let slot = &mut self.0[(mixed >> 52) as usize % SLOTS];
        if slot.0 != packed {
            *slot = (packed, count(piece, SHORT)? as u32);
        }
        Some(slot.1 as usize).filter(|tokens| *tokens <= limit)
    }
}
