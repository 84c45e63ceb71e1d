//! FNV-1a with 64 bits (Fowler, Noll, Vo): a hash that is the same on every machine.

/// The usual start value.
pub(crate) const START: u64 = 0xcbf2_9ce4_8422_2325;

/// Continues a hash with further bytes.
pub(crate) fn fnv1a(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_the_published_ones() {
        assert_eq!(fnv1a(START, b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(START, b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(fnv1a(START, b"foo"), b"bar"), 0x8594_4171_f739_67e8);
    }
}
