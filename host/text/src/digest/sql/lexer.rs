//! A lexer for SQL dumps (names, strings, words and punctuation, without comments), and the parts of statements.

use std::ops::Range;

use crate::digest::{document::NodeKind, measure};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SqlToken {
    /// A word or number, including dots.
    Word(Range<usize>),
    /// A name in double quotes or backticks, without them.
    Name(Range<usize>),
    /// A string without its quotes. Escapes stay as written.
    Text(Range<usize>),
    Mark(u8, usize),
}

impl SqlToken {
    pub(super) fn range(&self) -> Range<usize> {
        match self {
            Self::Word(at) => at.clone(),
            Self::Name(at) | Self::Text(at) => at.start - 1..at.end + 1,
            Self::Mark(_, at) => *at..at + 1,
        }
    }
}

pub(super) struct SqlLexer<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    /// True if a backslash escapes a quote, as in MySQL dumps.
    escapes: bool,
}

impl<'a> SqlLexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let head = &text[..text.floor_char_boundary(64 << 10)];
        Self { text, at: 0, escapes: head.contains("INSERT INTO `") || head.contains("CREATE TABLE `") }
    }

    /// Returns the end of a quoted token, or the end of the text if it is unclosed.
    fn quoted(&self, from: usize, quote: u8) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = from;
        while let Some(byte) = bytes.get(at) {
            match *byte {
                b'\\' if self.escapes && quote == b'\'' => at += 1,
                byte if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 1,
                byte if byte == quote => return at,
                _ => {}
            }
            at += 1;
        }
        bytes.len()
    }

    fn end_of(&self, from: usize, what: &str) -> usize {
        self.text[from..].find(what).map_or(self.text.len(), |at| from + at)
    }

    fn dollars(&self, from: usize) -> Option<&'a str> {
        let tag = self.text[from + 1..].find('$')?;
        let name = &self.text[from + 1..from + 1 + tag];
        name.chars().all(|c| c.is_alphanumeric() || c == '_').then(|| &self.text[from..from + tag + 2])
    }

    pub(super) fn skip_line(&mut self) {
        self.at = (self.end_of(self.at.min(self.text.len()), "\n") + 1).min(self.text.len());
    }
}

impl Iterator for SqlLexer<'_> {
    type Item = SqlToken;

    fn next(&mut self) -> Option<SqlToken> {
        let bytes = self.text.as_bytes();
        loop {
            let start = self.at;
            let byte = *bytes.get(start)?;
            let next = bytes.get(start + 1).copied().unwrap_or(0);
            let digits = next.is_ascii_digit() && matches!(byte, b'-' | b'+' | b'.');
            if byte.is_ascii_whitespace() {
                self.at += 1;
            } else if byte == b'-' && next == b'-' {
                self.at = self.end_of(start, "\n");
            } else if byte == b'/' && next == b'*' {
                self.at = (self.end_of(start + 2, "*/") + 2).min(bytes.len());
            } else if matches!(byte, b'\'' | b'"' | b'`') {
                let end = self.quoted(start + 1, byte);
                self.at = (end + 1).min(bytes.len());
                // An unclosed token has no quote at its end.
                let inside = start + 1..end.min(bytes.len() - 1).max(start + 1);
                let inside = inside.start..self.text.floor_char_boundary(inside.end).max(inside.start);
                return Some(if byte == b'\'' { SqlToken::Text(inside) } else { SqlToken::Name(inside) });
            } else if let Some(tag) = (byte == b'$').then(|| self.dollars(start)).flatten() {
                let end = self.end_of(start + tag.len(), tag);
                self.at = (end + tag.len()).min(bytes.len());
                return Some(SqlToken::Word(start..self.at));
            } else if byte >= 0x80 || byte.is_ascii_alphanumeric() || byte == b'_' || digits {
                let word =
                    |b: &u8| *b >= 0x80 || b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$');
                let more = bytes[start + 1..].iter().take_while(|b| word(b)).count();
                self.at += 1 + more;
                return Some(SqlToken::Word(start..self.at));
            } else {
                self.at += 1;
                return Some(SqlToken::Mark(byte, start));
            }
        }
    }
}

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
    let mut range: Option<Range<usize>> = None;
    for token in tokens.by_ref() {
        let modifier = ["IF", "NOT", "EXISTS", "ONLY", "CONCURRENTLY"].contains(&word(text, &token).as_str());
        match token {
            SqlToken::Word(_) if range.is_none() && modifier => {}
            SqlToken::Word(at) if range.as_ref().is_none_or(|range| range.is_empty()) => {
                let start = text[at.clone()].rfind('.').map_or(at.start, |dot| at.start + dot + 1);
                range = Some(start..at.end);
            }
            SqlToken::Name(at) if range.as_ref().is_none_or(|range| range.is_empty()) => range = Some(at),
            // `"schema"."name"`
            SqlToken::Mark(b'.', at) => range = Some(at..at),
            token => return (range.filter(|range| !range.is_empty()), Some(token)),
        }
    }
    (range.filter(|range| !range.is_empty()), None)
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
