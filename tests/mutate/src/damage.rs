//! Turns a good input into a bad one.

use super::random::Random;

/// Bytes that often break parsers: delimiters, quotes, brackets and invalid UTF-8.
const BYTES: &[u8] = b"\0\n\r\t \"'\\{}[]():,.|#*<>=-~0x9\x7f\x80\xc3\xff";

const NUMBERS: &[&str] = &[
    "-1",
    "0",
    "1e999",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "0.1e-7",
];

/// Picks a seed and damages it one to six times. The result has at most `most` bytes.
pub(crate) fn damage(seeds: &[&[u8]], words: &[&str], most: usize, random: &mut Random) -> Vec<u8> {
    let mut input = random.one_of(seeds).unwrap_or_default().to_vec();
    for _ in 0..=random.below(6) {
        let at = random.below(input.len() + 1);
        let end = at + random.below((input.len() - at).min(64) + 1);
        match random.below(9) {
            0 => drop(input.drain(at..end)),
            1 => input.truncate(at),
            2 => insert(&mut input, at, &[BYTES[random.below(BYTES.len())]]),
            3 if at < input.len() => input[at] ^= 1 << random.below(8),
            4 => insert(&mut input, at, random.one_of(NUMBERS).unwrap_or_default().as_bytes()),
            5 => insert(&mut input, at, random.one_of(words).unwrap_or_default().as_bytes()),
            // Splice in the tail of another seed.
            6 => {
                let other = random.one_of(seeds).unwrap_or_default();
                let from = random.below(other.len() + 1);
                input.splice(at..end, other[from..].iter().copied());
            }
            // Repeat a part up to 1,024 times, for depth or length.
            7 => {
                let again = input[at..end].repeat(1 << random.below(11));
                insert(&mut input, at, &again);
            }
            _ => {
                let word = random.one_of(words).unwrap_or_default().repeat(1 << random.below(11));
                insert(&mut input, at, word.as_bytes());
            }
        }
        input.truncate(most);
    }
    input
}

fn insert(input: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    input.splice(at..at, bytes.iter().copied());
}
