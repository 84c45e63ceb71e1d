//! A cache of token counts for short pieces. Most pieces of a text repeat, so each thread caches some.

use std::cell::RefCell;

/// Number of slots, a power of two: 256 KiB per thread, which fits the CPU cache of one core.
const SLOTS: usize = 1 << 13;

/// Maximum length of a cached piece. It and its length fit one word.
const MAX_CACHED_BYTES: usize = 15;

/// Cached counts. The hash of a piece selects its only slot.
pub(super) struct TokenCountCache(Vec<(u128, u32)>);

thread_local! {
    static MEMO: RefCell<TokenCountCache> = const { RefCell::new(TokenCountCache(Vec::new())) };
}

impl TokenCountCache {
    pub(super) fn with_thread_local<T>(work: impl FnOnce(&mut Self) -> T) -> T {
        MEMO.with_borrow_mut(|memo| {
            if memo.0.is_empty() {
                memo.0 = vec![(0, 0); SLOTS];
            }
            work(memo)
        })
    }

    /// Returns the token count of a piece, `None` if it exceeds `limit`. Cached pieces are counted without a limit:
    /// they have at most one token per byte.
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
        // Pieces are never empty, so an all-zero slot is free.
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
