//! Token counts of short pieces of text. Most pieces have been counted before, in this text or in the one before it, so each
//! thread remembers some.

use std::cell::RefCell;

/// Slots, a power of two: 256 KiB a thread, which stays in a core's cache.
const SLOTS: usize = 1 << 13;

/// The longest piece that is remembered: it and its length fit one word.
const MAX_CACHED_BYTES: usize = 15;

/// What was counted before, each piece in the one slot that its hash names.
pub(super) struct TokenCountCache(Vec<(u128, u32)>);

thread_local! {
    static MEMO: RefCell<TokenCountCache> = const { RefCell::new(TokenCountCache(Vec::new())) };
}

impl TokenCountCache {
    /// Works with what this thread remembers.
    pub(super) fn with_thread_local<T>(work: impl FnOnce(&mut Self) -> T) -> T {
        MEMO.with_borrow_mut(|memo| {
            if memo.0.is_empty() {
                memo.0 = vec![(0, 0); SLOTS];
            }
            work(memo)
        })
    }

    /// The tokens of a piece in the vocabulary of this number, none where `count` has none. What is remembered is counted
    /// without a limit: it has no more tokens than bytes.
    pub(super) fn count(
        &mut self,
        vocabulary: u8,
        piece: &[u8],
        limit: usize,
        mut count: impl FnMut(&[u8], usize) -> Option<usize>,
    ) -> Option<usize> {
        if piece.len() > MAX_CACHED_BYTES {
            return count(piece, limit);
        }
        let mut packed = [0_u8; 16];
        packed[..piece.len()].copy_from_slice(piece);
        // No piece is empty, so a slot that is all zeros holds none.
        packed[15] = piece.len() as u8 | vocabulary << 4;
        let packed = u128::from_le_bytes(packed);
        let mixed = (packed as u64 ^ (packed >> 64) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let slot = &mut self.0[(mixed >> 51) as usize % SLOTS];
        if slot.0 != packed {
            *slot = (packed, count(piece, MAX_CACHED_BYTES)? as u32);
        }
        Some(slot.1 as usize).filter(|tokens| *tokens <= limit)
    }
}
