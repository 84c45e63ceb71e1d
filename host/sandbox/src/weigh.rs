//! How much work a component is for the compiler, read from its sections before it is compiled.
//!
//! The compiler's time grows with the number of functions far more than with bytes: five megabytes hold
//! seven hundred thousand small functions, and those take minutes.

/// The most functions of a component, over all its modules. An interpreter has some ten thousand.
pub(crate) const MAX_FUNCTIONS: u64 = 100_000;

/// Magic, version and layer.
const HEADER: usize = 8;

/// Counts the functions of a component (Component Model binary format; section 3 of a core module begins
/// with the number of its functions). What is malformed counts as far as it goes: the compiler refuses it.
pub(crate) fn functions(component: &[u8]) -> u64 {
    let mut count: u64 = 0;
    // Each with whether it is a component, which may hold modules (section 1) and components (section 4).
    let mut open = vec![(component, true)];
    while let Some((bytes, composite)) = open.pop() {
        let mut rest = bytes.get(HEADER..).unwrap_or_default();
        while let Some((id, content, after)) = section(rest) {
            match (composite, id) {
                (true, 1) => open.push((content, false)),
                (true, 4) => open.push((content, true)),
                (false, 3) => count = count.saturating_add(number(content).map_or(0, |(n, _)| u64::from(n))),
                _ => {}
            }
            rest = after;
        }
    }
    count
}

/// The first section: its id, its content, and what follows it.
fn section(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (id, rest) = bytes.split_first()?;
    let (size, rest) = number(rest)?;
    let (content, after) = rest.split_at_checked(size as usize)?;
    Some((*id, content, after))
}

/// An unsigned LEB128 number of at most 32 bits, and what follows it.
fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let mut number: u32 = 0;
    for (at, byte) in bytes.iter().enumerate().take(5) {
        number |= u32::from(byte & 0x7f).checked_shl(7 * at as u32)?;
        if byte & 0x80 == 0 {
            return Some((number, &bytes[at + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(header: [u8; 8], sections: &[(u8, &[u8])]) -> Vec<u8> {
        let mut bytes = header.to_vec();
        for (id, content) in sections {
            bytes.extend([*id, content.len() as u8]);
            bytes.extend_from_slice(content);
        }
        bytes
    }

    #[test]
    fn functions_are_counted_wherever_they_are() {
        let (module, component) = (*b"\0asm\x01\0\0\0", *b"\0asm\x0d\0\x01\0");
        let two = with(module, &[(1, &[0]), (3, &[2, 0, 0])]);
        let many = with(module, &[(3, &[0xe8, 0x07, 0])]);
        let inner = with(component, &[(1, &two), (3, &[9])]);
        let outer = with(component, &[(1, &many), (4, &inner), (1, &two)]);
        assert_eq!(functions(&outer), 1_000 + 2 + 2);
    }

    #[test]
    fn what_is_malformed_ends_the_count() {
        for bad in
            [&b""[..], b"\0asm", b"\0asm\x0d\0\x01\0\x01", b"\0asm\x0d\0\x01\0\x01\xff\xff\xff\xff\xff\xff"]
        {
            assert_eq!(functions(bad), 0);
        }
    }
}
