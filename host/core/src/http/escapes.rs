//! Decodes JSON, HTML and URL escapes, and maps each decoded byte to its position in the original.

use std::ops::Range;

pub(super) struct UnescapedText {
    pub(super) bytes: Vec<u8>,
    /// Offset in the original of each byte, followed by the length of the original.
    starts: Vec<usize>,
}

impl UnescapedText {
    pub(super) fn from_bytes(text: &[u8]) -> Self {
        Self { bytes: text.to_vec(), starts: (0..=text.len()).collect() }
    }

    /// Removes one layer of escapes. Returns false if there was none.
    pub(super) fn unescape_layer(&mut self) -> bool {
        if memchr::memchr3(b'%', b'\\', b'&', &self.bytes).is_none() {
            return false;
        }
        let mut bytes = Vec::with_capacity(self.bytes.len());
        let mut starts = Vec::with_capacity(self.starts.len());
        let mut position = 0;
        let mut escaped = false;
        while let Some(&byte) = self.bytes.get(position) {
            let (length, text) = match parse_escape(&self.bytes[position..]) {
                Some((length, c)) => (length, Some(c)),
                None => (1, None),
            };
            escaped |= text.is_some();
            let mut buffer = [byte, 0, 0, 0];
            let text = match text {
                Some(DecodedEscape::Char(c)) => c.encode_utf8(&mut buffer).as_bytes(),
                Some(DecodedEscape::Byte(byte)) => {
                    buffer[0] = byte;
                    &buffer[..1]
                }
                None => &buffer[..1],
            };
            bytes.extend_from_slice(text);
            starts.extend(text.iter().map(|_| self.starts[position]));
            position += length;
        }
        starts.extend(self.starts.last());
        *self = Self { bytes, starts };
        escaped
    }

    pub(super) fn original_range(&self, range: Range<usize>) -> Range<usize> {
        self.starts[range.start]..self.starts[range.end]
    }
}

enum DecodedEscape {
    Char(char),
    Byte(u8),
}

/// Parses the escape at the start of `text`. Returns its length and the decoded value.
fn parse_escape(text: &[u8]) -> Option<(usize, DecodedEscape)> {
    match text.first()? {
        b'%' => {
            let byte = hex(text.get(1..3)?)?;
            Some((3, DecodedEscape::Byte(byte as u8)))
        }
        b'\\' => match text.get(1)? {
            b'u' => {
                let (length, unit) = (6, hex(text.get(2..6)?)?);
                // Characters beyond U+FFFF are escaped as a surrogate pair.
                let low = text.get(6..8).filter(|next| *next == b"\\u").and(text.get(8..12)).and_then(hex);
                match (char::from_u32(unit), low) {
                    (Some(c), _) => Some((length, DecodedEscape::Char(c))),
                    (None, Some(low @ 0xdc00..=0xdfff)) if unit < 0xdc00 => {
                        let c = char::from_u32(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00))?;
                        Some((12, DecodedEscape::Char(c)))
                    }
                    _ => None,
                }
            }
            b'x' => Some((4, DecodedEscape::Byte(hex(text.get(2..4)?)? as u8))),
            escaped @ (b'"' | b'\'' | b'\\' | b'/') => Some((2, DecodedEscape::Byte(*escaped))),
            _ => None,
        },
        b'&' => parse_html_reference(&text[1..text.len().min(12)]),
        _ => None,
    }
}

/// Parses an HTML character reference after its `&`. Knows only the names that escaping functions produce.
fn parse_html_reference(text: &[u8]) -> Option<(usize, DecodedEscape)> {
    let end = memchr::memchr(b';', text)?;
    let name = &text[..end];
    let c = match name {
        [b'#', b'x' | b'X', digits @ ..] => char::from_u32(hex(digits)?)?,
        [b'#', digits @ ..] => char::from_u32(std::str::from_utf8(digits).ok()?.parse().ok()?)?,
        b"amp" => '&',
        b"lt" => '<',
        b"gt" => '>',
        b"quot" => '"',
        b"apos" => '\'',
        b"sol" => '/',
        b"plus" => '+',
        b"equals" => '=',
        _ => return None,
    };
    Some((end + 2, DecodedEscape::Char(c)))
}

fn hex(digits: &[u8]) -> Option<u32> {
    let digits = digits.iter().all(u8::is_ascii_hexdigit).then_some(digits)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_as_their_readers_read_them() {
        for (escaped, plain) in [
            ("a%2Fb%2fc", "a/b/c"),
            (r#"\"\/\\\u002b\u00e9\ud83d\ude00\x2b"#, "\"/\\+é😀+"),
            ("&amp;&lt;&#43;&#x2B;&quot;&apos;", "&<++\"'"),
            (
                "100% \\n & &nosuch; %zz \\u12 \\ud83d &#xffffffffff; %",
                "100% \\n & &nosuch; %zz \\u12 \\ud83d &#xffffffffff; %",
            ),
        ] {
            let mut text = UnescapedText::from_bytes(escaped.as_bytes());
            assert_eq!(text.unescape_layer(), escaped != plain, "{escaped}");
            assert_eq!(String::from_utf8_lossy(&text.bytes), plain);
            assert_eq!(text.original_range(0..text.bytes.len()), 0..escaped.len());
        }
    }

    #[test]
    fn layers_come_off_one_after_the_other() {
        let mut text = UnescapedText::from_bytes(b"x%26amp%3By");
        assert!(text.unescape_layer() && text.unescape_layer() && !text.unescape_layer());
        assert_eq!(text.bytes, b"x&y");
        assert_eq!(text.original_range(1..2), 1..10);
    }
}
