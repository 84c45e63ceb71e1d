//! Checks the nesting of a script before the recursive parser runs.

use super::CompileError;

const MAX_BRACKETS: usize = 200;

/// Maximum operators, arrows and keywords between ends of statements, because each can be a level.
const MAX_CHAIN: usize = 1_000;

/// Keywords before which or in which the parser can recurse.
const KEYWORDS: &str = "\
    typeof void await new delete yield if else for while do with keyof readonly unique infer extends async in of \
    instanceof as satisfies case label";

/// Counts tokens that make the parser recurse, also in strings, because this does not parse strings. Real scripts are
/// far below the limits.
pub(super) fn check(source: &str) -> Result<(), CompileError> {
    let bytes = source.as_bytes();
    let (mut angles, mut chain) = (0usize, 0usize);
    // Expected closing brackets. A mismatched one is ignored unless its match is open further out, as in the parser.
    let mut brackets: Vec<u8> = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at).copied() {
        let mut length = 1;
        match byte {
            b'(' => brackets.push(b')'),
            b'[' => brackets.push(b']'),
            b'{' => brackets.push(b'}'),
            b')' | b']' | b'}' => {
                if let Some(open) = brackets.iter().rposition(|closing| *closing == byte) {
                    brackets.truncate(open);
                    // The end of a block ends its chain; other brackets can continue one.
                    if byte == b'}' {
                        chain = 0;
                    }
                }
            }
            b';' => (chain, angles) = (0, 0),
            b'<' => angles += 1,
            b'>' => angles = angles.saturating_sub(1),
            b'!' | b'~' | b'+' | b'-' | b'?' | b'=' | b'*' | b'/' | b'%' | b'&' | b'|' | b'^' | b'.'
            | b':' | b'`' => {
                chain += 1;
            }
            b',' => chain = 0,
            byte if byte.is_ascii_alphabetic() => {
                length = bytes[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
                let word = &source[at..at + length];
                if KEYWORDS.split_whitespace().any(|keyword| keyword == word) {
                    chain += 1;
                }
            }
            _ => {}
        }
        if brackets.len() > MAX_BRACKETS || angles > MAX_BRACKETS {
            let message = format!("the script nests brackets deeper than {MAX_BRACKETS} levels");
            return Err(CompileError::at(source, at as u32, message));
        }
        if chain > MAX_CHAIN {
            let message = format!(
                "more than {MAX_CHAIN} operators in one statement; put data into the script as JSON text, or split \
                the statement"
            );
            return Err(CompileError::at(source, at as u32, message));
        }
        at += length;
    }
    Ok(())
}
