//! Limit on the nesting of brackets in TOML.
//!
//! The parser recovers from errors and recurses for each opening bracket without a limit, so a crafted text could
//! overflow the stack.

use std::ops::Range;

use toml_parser::{Source, lexer::TokenKind};

use super::{ConfigError, error::ConfigText};

/// Maximum open brackets. Real configurations need fewer than ten.
const MAX_OPEN_BRACKETS: usize = 64;

pub(super) fn check(text: &ConfigText) -> Result<(), ConfigError> {
    check_nesting(&text.content).map_err(|(place, why)| text.error_at(place, why))
}

/// Refuses a TOML text that is nested too deeply. The error is the byte range and the reason.
///
/// Uses the parser's own lexer, so that both see the same brackets.
pub(crate) fn check_nesting(text: &str) -> Result<(), (Range<usize>, String)> {
    let mut open: Vec<TokenKind> = Vec::new();
    // After a stray closing bracket it is unclear what the parser closes, so count all opening ones.
    let mut stray = None;
    for token in Source::new(text).lex() {
        let span = token.span().start()..token.span().end();
        match token.kind() {
            kind @ (TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket) => open.push(kind),
            kind @ (TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket) if stray.is_none() => {
                let fits = match kind {
                    TokenKind::RightSquareBracket => TokenKind::LeftSquareBracket,
                    _ => TokenKind::LeftCurlyBracket,
                };
                if open.last() == Some(&fits) {
                    open.pop();
                } else {
                    stray = Some(span.clone());
                }
            }
            _ => {}
        }
        if open.len() > MAX_OPEN_BRACKETS {
            let why = match &stray {
                Some(_) => "this bracket closes nothing that is open here".to_owned(),
                None => {
                    format!("more than {MAX_OPEN_BRACKETS} brackets are open here; one of them is not closed")
                }
            };
            return Err((stray.unwrap_or(span), why));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn validate(content: String) -> Result<(), String> {
        check(&ConfigText { file: Some("/p.toml".into()), content }).map_err(|error| error.to_string())
    }

    #[test]
    fn brackets_are_counted_as_the_parser_sees_them() {
        assert_eq!(validate(include_str!("../../../../presets.toml").into()), Ok(()));
        // Brackets in strings and comments do not count, and a table's heading closes itself.
        let many = "a = \"[[[{{{\" # {{{{{[[[\n[x]\nb = [{ c = [1] }]\n".repeat(100);
        assert_eq!(validate(many), Ok(()));
        assert_eq!(validate(format!("a = {}1{}", "[".repeat(60), "]".repeat(60))), Ok(()));
        for deep in [
            "{ a = ".repeat(5_000),
            "a = [".to_owned() + &"[\n".repeat(5_000),
            "{ a = \"}\", b = ".repeat(5_000),
        ] {
            let why = validate(deep).expect_err("refused");
            assert!(why.contains("more than 64 brackets are open here"), "{why}");
        }
        let stray = format!("a = 1\nb = }}\n{}", "{ a = ] ".repeat(5_000));
        assert_eq!(
            validate(stray).expect_err("refused"),
            "/p.toml:2:5: this bracket closes nothing that is open here"
        );
    }
}
