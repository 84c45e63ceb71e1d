//! A lexer for SQL dumps: names, strings, words and punctuation. Skips comments.

use std::ops::Range;

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
