//! How deep the brackets of a text are nested. The parser goes on after a mistake and calls itself for each bracket that opens,
//! without a bound: a text that is made for it would end the process.

use std::ops::Range;

use toml_parser::{Source, lexer::TokenKind};

use super::{ConfigError, error::ConfigText};

/// Brackets that may be open at a time; nothing here needs ten.
const MAX_OPEN_BRACKETS: usize = 64;

/// Refuses a configuration that is nested deeper than that.
pub(super) fn check(text: &ConfigText) -> Result<(), ConfigError> {
    check_nesting(&text.content).map_err(|(place, why)| text.error_at(place, why))
}

/// Refuses a text of TOML that is nested deeper than that, with the bytes where and the reason. It is read by the parser's own
/// lexer, so that both see the same brackets.
pub(crate) fn check_nesting(text: &str) -> Result<(), (Range<usize>, String)> {
    let mut open: Vec<TokenKind> = Vec::new();
    // Behind a bracket that closes nothing nobody knows what the parser takes for closed: from there on all count.
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

    fn checked(content: String) -> Result<(), String> {
        check(&ConfigText { file: Some("/p.toml".into()), content }).map_err(|error| error.to_string())
    }

    #[test]
    fn brackets_are_counted_as_the_parser_sees_them() {
        assert_eq!(checked(include_str!("../../../../presets.toml").into()), Ok(()));
        // What stands in texts and comments is none, and a table's heading closes itself.
        let many = "a = \"[[[{{{\" # {{{{{[[[\n[x]\nb = [{ c = [1] }]\n".repeat(100);
        assert_eq!(checked(many), Ok(()));
        assert_eq!(checked(format!("a = {}1{}", "[".repeat(60), "]".repeat(60))), Ok(()));
        for deep in [
            "{ a = ".repeat(5_000),
            "a = [".to_owned() + &"[\n".repeat(5_000),
            "{ a = \"}\", b = ".repeat(5_000),
        ] {
            let why = checked(deep).expect_err("refused");
            assert!(why.contains("more than 64 brackets are open here"), "{why}");
        }
        let stray = format!("a = 1\nb = }}\n{}", "{ a = ] ".repeat(5_000));
        assert_eq!(
            checked(stray).expect_err("refused"),
            "/p.toml:2:5: this bracket closes nothing that is open here"
        );
    }
}
