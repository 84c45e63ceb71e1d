//! How deep a script nests, before the parser, which calls itself for each level, finds out.

use super::ScriptMistake;

/// The most levels of brackets.
const MAX_BRACKETS: usize = 200;

/// The most operators, arrows and keywords between two ends of statements, each of which may be a level.
const MAX_CHAIN: usize = 1_000;

/// Counts brackets and what else makes a parser go deeper, without telling strings from code: what is in them counts too,
/// which no script that people or models write comes near.
pub(super) fn check(source: &str) -> Result<(), ScriptMistake> {
    let bytes = source.as_bytes();
    let (mut angles, mut chain) = (0usize, 0usize);
    // The closing bracket that each open one waits for. A closing bracket of another kind closes nothing unless one of its
    // own kind is open further out: to the parser what is between them is still open.
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
                    // The parser has left a closed block, but not what is chained to other brackets.
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
                if matches!(
                    word,
                    "typeof"
                        | "void"
                        | "await"
                        | "new"
                        | "delete"
                        | "yield"
                        | "if"
                        | "else"
                        | "for"
                        | "while"
                        | "do"
                        | "with"
                        | "keyof"
                        | "readonly"
                        | "unique"
                        | "infer"
                        | "extends"
                        | "async"
                        | "in"
                        | "of"
                        | "instanceof"
                        | "as"
                        | "satisfies"
                        | "case"
                        | "label"
                ) {
                    chain += 1;
                }
            }
            _ => {}
        }
        if brackets.len() > MAX_BRACKETS || angles > MAX_BRACKETS {
            return Err(ScriptMistake::at(
                source,
                at as u32,
                format!("The script nests brackets deeper than {MAX_BRACKETS} levels."),
            ));
        }
        if chain > MAX_CHAIN {
            let message = format!(
                "More than {MAX_CHAIN} operators in one statement; put data into the script as JSON text or split the statement."
            );
            return Err(ScriptMistake::at(source, at as u32, message));
        }
        at += length;
    }
    Ok(())
}
