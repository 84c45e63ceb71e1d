//! Parts of statements: names, lists of them, values between parentheses, and where a statement ends.

use std::ops::Range;

use super::tokens::{Token, Tokens};
use crate::digest::{document::Kind, measure};

/// Columns of a table at most.
pub(super) const WIDEST: usize = 256;

/// A value of a row.
pub(super) struct Cell {
    pub(super) kind: Kind,
    pub(super) at: Range<usize>,
}

/// A word in upper case; empty for what is none.
pub(super) fn word(text: &str, token: &Token) -> String {
    match token {
        Token::Word(at) if at.len() <= 32 => text[at.clone()].to_ascii_uppercase(),
        _ => String::new(),
    }
}

pub(super) fn is_end(token: &Token) -> bool {
    matches!(token, Token::Mark(b';', _))
}

pub(super) fn inside(token: Token) -> Range<usize> {
    match token {
        Token::Word(at) | Token::Name(at) | Token::Text(at) => at,
        Token::Mark(_, at) => at..at,
    }
}

/// To the end of the statement, which may have come already.
pub(super) fn skip(tokens: &mut Tokens<'_>, last: Option<Token>) {
    if last.as_ref().is_none_or(|token| !is_end(token)) {
        tokens.find(is_end);
    }
}

/// The statements of a trigger are not the dump's.
pub(super) fn skip_body(tokens: &mut Tokens<'_>, last: Option<Token>) {
    let text = tokens.text;
    let (mut body, mut ended) = (false, false);
    let mut last = last;
    while let Some(token) = last.take().or_else(|| tokens.next()) {
        if is_end(&token) && (!body || ended) {
            return;
        }
        let word = word(text, &token);
        body |= word == "BEGIN";
        ended = word == "END";
    }
}

/// A name without its schema, and the token behind it.
pub(super) fn name(tokens: &mut Tokens<'_>) -> (Option<Range<usize>>, Option<Token>) {
    let text = tokens.text;
    let mut found: Option<Range<usize>> = None;
    for token in tokens.by_ref() {
        let modifier = ["IF", "NOT", "EXISTS", "ONLY", "CONCURRENTLY"].contains(&word(text, &token).as_str());
        match token {
            Token::Word(_) if found.is_none() && modifier => {}
            Token::Word(at) if found.as_ref().is_none_or(|found| found.is_empty()) => {
                let start = text[at.clone()].rfind('.').map_or(at.start, |dot| at.start + dot + 1);
                found = Some(start..at.end);
            }
            Token::Name(at) if found.as_ref().is_none_or(|found| found.is_empty()) => found = Some(at),
            // `"schema"."name"`
            Token::Mark(b'.', at) => found = Some(at..at),
            token => return (found.filter(|found| !found.is_empty()), Some(token)),
        }
    }
    (found.filter(|found| !found.is_empty()), None)
}

/// Names between parentheses, of which the first has been read.
pub(super) fn listed(tokens: &mut Tokens<'_>) -> Vec<Range<usize>> {
    let names = tokens.take_while(|token| !matches!(token, Token::Mark(b')' | b';', _)));
    let names = names.filter(|token| matches!(token, Token::Word(_) | Token::Name(_)));
    names.take(WIDEST).map(inside).collect()
}

/// The values of a row whose parenthesis has been read, and where it ends.
pub(super) fn cells(tokens: &mut Tokens<'_>) -> (Vec<Cell>, usize) {
    let text = tokens.text;
    let (mut depth, mut cells) = (1, Vec::new());
    let mut value: Vec<Range<usize>> = Vec::new();
    let mut only: Option<Token> = None;
    for token in tokens.by_ref() {
        let at = token.range();
        match token {
            Token::Mark(b'(', _) => depth += 1,
            Token::Mark(b')', _) => depth -= 1,
            _ => {}
        }
        let ends = depth == 0 || depth == 1 && matches!(token, Token::Mark(b',', _));
        if !ends {
            only = if value.is_empty() { Some(token) } else { None };
            value.push(at);
            value.drain(1..value.len().saturating_sub(1).max(1));
            continue;
        }
        let whole = value.first().zip(value.last()).map(|(first, last)| first.start..last.end);
        value.clear();
        if let Some(whole) = whole.filter(|_| cells.len() < WIDEST) {
            let cell = match only.take() {
                Some(Token::Text(inner)) => Cell { kind: Kind::String, at: inner },
                _ => Cell { kind: kind(&text[whole.clone()]), at: whole },
            };
            cells.push(cell);
        }
        if depth == 0 {
            return (cells, at.end);
        }
    }
    (cells, text.len())
}

pub(super) fn kind(value: &str) -> Kind {
    match value.to_ascii_uppercase().as_str() {
        "NULL" => Kind::Null,
        "TRUE" | "FALSE" => Kind::Bool,
        _ if measure::number(value).is_some() => Kind::Number,
        _ => Kind::String,
    }
}
