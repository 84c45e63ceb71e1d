//! The words of SQL, as far as a reader of dumps needs them: names, texts, words and marks. Comments are left out.

use std::ops::Range;

/// A part of a statement, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SqlToken {
    /// A word or number, with the dots in it.
    Word(Range<usize>),
    /// A name in quotation marks or backticks, without them.
    Name(Range<usize>),
    /// A text in quotes, without them: doubled quotes and escapes stand as they are.
    Text(Range<usize>),
    Mark(u8, usize),
}

impl SqlToken {
    /// Where it stands, with its quotes.
    pub(super) fn range(&self) -> Range<usize> {
        match self {
            Self::Word(at) => at.clone(),
            Self::Name(at) | Self::Text(at) => at.start - 1..at.end + 1,
            Self::Mark(_, at) => *at..at + 1,
        }
    }
}

/// Reads a text from its beginning to its end, once.
pub(super) struct SqlLexer<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    /// Whether a backslash keeps a quote from ending a text, as in the dumps of MySQL.
    escapes: bool,
}

impl<'a> SqlLexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let head = &text[..text.floor_char_boundary(64 << 10)];
        Self { text, at: 0, escapes: head.contains("INSERT INTO `") || head.contains("CREATE TABLE `") }
    }

    /// The end of what is quoted from here on; that of the text where nothing ends it.
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

    /// `$tag$`, where one stands here.
    fn dollars(&self, from: usize) -> Option<&'a str> {
        let tag = self.text[from + 1..].find('$')?;
        let name = &self.text[from + 1..from + 1 + tag];
        name.chars().all(|c| c.is_alphanumeric() || c == '_').then(|| &self.text[from..from + tag + 2])
    }

    /// What is left of the line, and everything behind it.
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
                // What is never closed has no quote at its end.
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
