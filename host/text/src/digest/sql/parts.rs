//! Parts of statements: names, name lists, values in parentheses, and the end of a statement.

use std::ops::Range;

use super::lexer::{SqlLexer, SqlToken};
use crate::digest::{document::NodeKind, measure};

pub(super) const MAX_COLUMNS: usize = 256;

pub(super) struct DumpCell {
    pub(super) kind: NodeKind,
    pub(super) at: Range<usize>,
}

/// Returns a word in upper case, empty for another token.
pub(super) fn word(text: &str, token: &SqlToken) -> String {
    match token {
        SqlToken::Word(at) if at.len() <= 32 => text[at.clone()].to_ascii_uppercase(),
        _ => String::new(),
    }
}

pub(super) fn is_end(token: &SqlToken) -> bool {
    matches!(token, SqlToken::Mark(b';', _))
}

pub(super) fn inside(token: SqlToken) -> Range<usize> {
    match token {
        SqlToken::Word(at) | SqlToken::Name(at) | SqlToken::Text(at) => at,
        SqlToken::Mark(_, at) => at..at,
    }
}

/// Skips to the end of the statement, unless `last` is its end.
pub(super) fn skip(tokens: &mut SqlLexer<'_>, last: Option<SqlToken>) {
    if last.as_ref().is_none_or(|token| !is_end(token)) {
        tokens.find(is_end);
    }
}

/// Skips a trigger, including the statements in its body.
pub(super) fn skip_body(tokens: &mut SqlLexer<'_>, last: Option<SqlToken>) {
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

/// Reads a name without its schema, and returns the token after it.
pub(super) fn name(tokens: &mut SqlLexer<'_>) -> (Option<Range<usize>>, Option<SqlToken>) {
    let text = tokens.text;
    let mut found: Option<Range<usize>> = None;
    for token in tokens.by_ref() {
        let modifier = ["IF", "NOT", "EXISTS", "ONLY", "CONCURRENTLY"].contains(&word(text, &token).as_str());
        match token {
            SqlToken::Word(_) if found.is_none() && modifier => {}
            SqlToken::Word(at) if found.as_ref().is_none_or(|found| found.is_empty()) => {
                let start = text[at.clone()].rfind('.').map_or(at.start, |dot| at.start + dot + 1);
                found = Some(start..at.end);
            }
            SqlToken::Name(at) if found.as_ref().is_none_or(|found| found.is_empty()) => found = Some(at),
            // `"schema"."name"`
            SqlToken::Mark(b'.', at) => found = Some(at..at),
            token => return (found.filter(|found| !found.is_empty()), Some(token)),
        }
    }
    (found.filter(|found| !found.is_empty()), None)
}

pub(super) fn name_list(tokens: &mut SqlLexer<'_>) -> Vec<Range<usize>> {
    let names = tokens.take_while(|token| !matches!(token, SqlToken::Mark(b')' | b';', _)));
    let names = names.filter(|token| matches!(token, SqlToken::Word(_) | SqlToken::Name(_)));
    names.take(MAX_COLUMNS).map(inside).collect()
}

/// Reads the values of a row after its opening parenthesis, and returns its end.
pub(super) fn cells(tokens: &mut SqlLexer<'_>) -> (Vec<DumpCell>, usize) {
    let text = tokens.text;
    let (mut depth, mut cells) = (1, Vec::new());
    let mut value: Vec<Range<usize>> = Vec::new();
    let mut only: Option<SqlToken> = None;
    for token in tokens.by_ref() {
        let at = token.range();
        match token {
            SqlToken::Mark(b'(', _) => depth += 1,
            SqlToken::Mark(b')', _) => depth -= 1,
            _ => {}
        }
        let ends = depth == 0 || depth == 1 && matches!(token, SqlToken::Mark(b',', _));
        if !ends {
            only = if value.is_empty() { Some(token) } else { None };
            value.push(at);
            value.drain(1..value.len().saturating_sub(1).max(1));
            continue;
        }
        let whole = value.first().zip(value.last()).map(|(first, last)| first.start..last.end);
        value.clear();
        if let Some(whole) = whole.filter(|_| cells.len() < MAX_COLUMNS) {
            let cell = match only.take() {
                Some(SqlToken::Text(inner)) => DumpCell { kind: NodeKind::String, at: inner },
                _ => DumpCell { kind: kind(&text[whole.clone()]), at: whole },
            };
            cells.push(cell);
        }
        if depth == 0 {
            return (cells, at.end);
        }
    }
    (cells, text.len())
}

pub(super) fn kind(value: &str) -> NodeKind {
    match value.to_ascii_uppercase().as_str() {
        "NULL" => NodeKind::Null,
        "TRUE" | "FALSE" => NodeKind::Bool,
        _ if measure::number(value).is_some() => NodeKind::Number,
        _ => NodeKind::String,
    }
}
