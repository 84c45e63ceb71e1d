//! Dot products of byte rows: the inner loop of the vector scan, and the only unsafe code in this crate.
//!
//! Both implementations return the same number. AVX2 is detected at run time; the portable code is four to seven times
//! slower.

/// Row lengths are a multiple of this number of bytes.
pub(super) const LANE: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DotProduct {
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl DotProduct {
    pub(super) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            return Self::Avx2;
        }
        Self::Portable
    }

    /// Calls `visit` with the number and dot product of each row of `block` that `accept` accepts. Values must be in
    /// -127..=127, and the row length a multiple of [`LANE`].
    pub(super) fn scan(
        self,
        query: &[i8],
        block: &[i8],
        accept: impl Fn(usize) -> bool,
        mut visit: impl FnMut(usize, i32),
    ) {
        let rows = block.chunks_exact(query.len().max(1)).enumerate().filter(|(row, _)| accept(*row));
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => rows.for_each(|(row, values)| visit(row, avx2::product(query, values))),
            Self::Portable => rows.for_each(|(row, values)| visit(row, portable(query, values))),
        }
    }
}

fn portable(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "vector instructions; callers check for CPU support")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_shuffle_epi32, _mm256_abs_epi8, _mm256_add_epi32,
        _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_madd_epi16,
        _mm256_maddubs_epi16, _mm256_set1_epi16, _mm256_setzero_si256, _mm256_sign_epi8,
    };

    use super::LANE;

    #[inline]
    pub(super) fn product(a: &[i8], b: &[i8]) -> i32 {
        // SAFETY: only `DotProduct::detect` constructs `DotProduct::Avx2`, after it detected AVX2.
        unsafe { sum(a, b) }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn sum(a: &[i8], b: &[i8]) -> i32 {
        let mut total = _mm256_setzero_si256();
        let ones = _mm256_set1_epi16(1);
        for (a, b) in a.chunks_exact(LANE).zip(b.chunks_exact(LANE)) {
            // SAFETY: both chunks are 32 bytes long, and the load is unaligned.
            let (a, b) = unsafe {
                (
                    _mm256_loadu_si256(a.as_ptr().cast::<__m256i>()),
                    _mm256_loadu_si256(b.as_ptr().cast::<__m256i>()),
                )
            };
            // |a| times b with the sign of a. A pair adds up to 2 · 127 · 127 at most, which fits in 16 bits.
            let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(b, a));
            total = _mm256_add_epi32(total, _mm256_madd_epi16(pairs, ones));
        }
        let half = _mm_add_epi32(_mm256_castsi256_si128(total), _mm256_extracti128_si256::<1>(total));
        let quarter = _mm_add_epi32(half, _mm_shuffle_epi32::<0b01_00_11_10>(half));
        _mm_cvtsi128_si32(_mm_add_epi32(quarter, _mm_shuffle_epi32::<0b10_11_00_01>(quarter)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn products(dot: DotProduct, query: &[i8], block: &[i8]) -> Vec<i32> {
        let mut found = Vec::new();
        dot.scan(query, block, |_| true, |_, product| found.push(product));
        found
    }

    #[test]
    fn largest_values_do_not_overflow() {
        for sign in [1, -1] {
            let (a, b) = (vec![127_i8; 4096], vec![127 * sign; 4096]);
            assert_eq!(products(DotProduct::detect(), &a, &b), [127 * 127 * 4096 * i32::from(sign)]);
        }
    }

    #[test]
    fn skipped_rows_are_not_visited() {
        let block: Vec<i8> = (0..10).flat_map(|row| [row; LANE]).collect();
        let mut visited = Vec::new();
        DotProduct::detect().scan(
            &[1; LANE],
            &block,
            |row| row % 3 == 0,
            |row, product| visited.push((row, product)),
        );
        assert_eq!(visited, [(0, 0), (3, 96), (6, 192), (9, 288)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn avx2_and_portable_agree(
            lanes in 1_usize..12,
            values in proptest::collection::vec(-127_i8..=127, 12 * LANE * 5),
        ) {
            let (query, block) = values.split_at(lanes * LANE);
            let block = &block[..block.len() / query.len() * query.len()];
            prop_assert_eq!(products(DotProduct::Portable, query, block), products(DotProduct::detect(), query, block));
        }
    }
}
