//! Reads files as text: in any encoding, without binary data, and with the fences of Markdown. The host and the gate
//! `converter` share it.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

#[derive(Debug, PartialEq, Eq)]
pub struct DecodedText {
    pub text: String,
    /// Tells that the encoding was guessed, or that bytes were replaced.
    pub note: Option<String>,
}

/// Bytes at the start of a file that can declare its encoding, as in HTML.
const DECLARATION_BYTES: usize = 1024;

const UTF_32: &str = "is UTF-32, which is not supported; convert it to UTF-8";

/// Decodes bytes by their byte order mark, as UTF-8 with a few wrong bytes, by the encoding that they declare, or by a
/// guess, in this order. A lone carriage return becomes a line feed. The error is the reason why the bytes are not text.
pub fn decode(bytes: &[u8]) -> Result<DecodedText, &'static str> {
    if bytes.starts_with(b"%PDF-") {
        return Err("is a PDF with another ending; name it .pdf");
    }
    if bytes.starts_with(b"\0\0\xfe\xff")
        || bytes.starts_with(b"\xff\xfe\0\0") && bytes.len().is_multiple_of(4)
    {
        return Err(UTF_32);
    }
    let mut decoded = if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        decode_as(encoding, &bytes[mark..], encoding != UTF_8)
    } else if let Some(encoding) = unmarked_utf16(bytes) {
        decode_as(encoding, bytes, true)
    } else {
        decode_unmarked(bytes)
    };
    if decoded.text.contains('\0') || is_noise(&decoded.text) {
        return Err("is binary");
    }
    if decoded.text.contains('\r') {
        decoded.text = with_line_feeds(&decoded.text);
    }
    Ok(decoded)
}

/// Returns at most `limit` bytes, cut at a character boundary.
pub fn prefix(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// Returns the character and length of the code fence on a line.
pub fn fence(line: &str) -> Option<(char, usize)> {
    let start = line.trim_start_matches(' ');
    let mark = start.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = start.chars().take_while(|c| *c == mark).count();
    // A line with a closing mark is inline code.
    let inline = mark == '`' && start[length..].contains('`');
    (length >= 3 && !inline).then_some((mark, length))
}

/// Returns whether a line ends the block of a fence.
pub fn closes_fence(line: &str, (mark, length): (char, usize)) -> bool {
    let text = line.trim();
    text.chars().count() >= length && text.chars().all(|c| c == mark)
}

fn decode_as(encoding: &'static Encoding, bytes: &[u8], is_noted: bool) -> DecodedText {
    let (text, lost) = encoding.decode_without_bom_handling(bytes);
    let replaced = if lost { "; invalid bytes were replaced" } else { "" };
    let note = (lost || is_noted).then(|| format!("was read as {}{replaced}", encoding.name()));
    DecodedText { text: text.into_owned(), note }
}

/// Returns the byte order of text in UTF-16 whose characters are mostly from Latin scripts: each second byte is NUL.
fn unmarked_utf16(bytes: &[u8]) -> Option<&'static Encoding> {
    if bytes.len() < 4 || !bytes.len().is_multiple_of(2) {
        return None;
    }
    let zeros = |first: usize| bytes.iter().skip(first).step_by(2).filter(|byte| **byte == 0).count();
    let (high, units) = ([zeros(0), zeros(1)], bytes.len() / 2);
    match high {
        [0, low] if low * 10 >= units * 7 => Some(UTF_16LE),
        [low, 0] if low * 10 >= units * 7 => Some(UTF_16BE),
        _ => None,
    }
}

fn decode_unmarked(bytes: &[u8]) -> DecodedText {
    // Its bytes are all ASCII, with an escape sequence before each change of the character set.
    let is_japanese = bytes.windows(2).any(|pair| pair == b"\x1b$");
    if is_japanese && let decoded @ DecodedText { note: None, .. } = decode_as(ISO_2022_JP, bytes, false) {
        return decoded;
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return DecodedText { text: text.to_owned(), note: None };
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let guess = detector.guess(None, Utf8Detection::Deny);
    let (valid, invalid) = utf8_sequences(bytes);
    // Sequences of UTF-8 do not occur in Western European text, but do in East Asian encodings.
    if valid >= invalid * 99 || guess == WINDOWS_1252 && valid > invalid {
        return decode_as(UTF_8, bytes, false);
    }
    match declared_encoding(bytes).map(|encoding| decode_as(encoding, bytes, false)) {
        Some(declared) if declared.note.is_none() => declared,
        _ => decode_as(guess, bytes, true),
    }
}

/// Counts the characters outside ASCII, and the runs of bytes that are not UTF-8.
fn utf8_sequences(bytes: &[u8]) -> (usize, usize) {
    let (mut valid, mut invalid, mut follows) = (0, 0, false);
    for chunk in bytes.utf8_chunks() {
        valid += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        let continues_run = follows && chunk.valid().is_empty();
        invalid += usize::from(!chunk.invalid().is_empty() && !continues_run);
        follows = true;
    }
    (valid, invalid)
}

/// Returns the encoding that a `<meta charset>`, an XML declaration, or a `coding:` line names.
fn declared_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(DECLARATION_BYTES)]).to_ascii_lowercase();
    let first_lines = head.match_indices('\n').nth(1).map_or(&*head, |(end, _)| &head[..end]);
    let in_page = head.contains("<meta").then(|| after(&head, "charset")).flatten();
    let in_xml = head.starts_with("<?xml").then(|| after(&head, "encoding")).flatten();
    let name = in_page.or(in_xml).or_else(|| after(first_lines, "coding"))?;
    let encoding = Encoding::for_label(name.as_bytes())?;
    // A declaration that could be read as ASCII is not in UTF-16.
    (encoding.is_ascii_compatible()).then_some(encoding)
}

/// Returns the name after a key and `=` or `:`.
fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split(key).skip(1).find_map(|rest| {
        let rest = rest.trim_start().strip_prefix(['=', ':'])?.trim_start().trim_start_matches(['"', '\'']);
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')));
        Some(&rest[..end.unwrap_or(rest.len())]).filter(|name| !name.is_empty())
    })
}

/// Replaces each carriage return without a line feed by one.
fn with_line_feeds(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        out.push(if c == '\r' && chars.peek() != Some(&'\n') { '\n' } else { c });
    }
    out
}

/// Controls and wrong bytes that a short text may have.
const MAX_CONTROLS: usize = 2;

/// Returns true if more than 1 in 20 characters is a control character. Tool output may have a few.
fn is_noise(text: &str) -> bool {
    let control = |c: &char| (c.is_control() && !c.is_whitespace() && *c != '\u{1b}') || *c == '\u{fffd}';
    let head = prefix(text, 64 * 1024);
    let noise = head.chars().filter(control).count();
    noise > MAX_CONTROLS && noise * 20 > head.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> (String, Option<String>) {
        let decoded = decode(bytes).expect("text");
        (decoded.text, decoded.note)
    }

    #[test]
    fn text_is_read_in_its_encoding() {
        assert_eq!(read("Grüße\r\n".as_bytes()), ("Grüße\r\n".into(), None));
        assert_eq!(read(b"\xef\xbb\xbfmarked"), ("marked".into(), None));
        let wide: Vec<u8> = "\u{feff}Größe".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(read(&wide), ("Größe".into(), Some("was read as UTF-16LE".into())));
        let wide: Vec<u8> = "\u{feff}Größe".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(read(&wide).0, "Größe");
        let latin = b"Die Gr\xf6\xdfe der Stra\xdfe ist f\xfcr alle gleich.";
        let (text, note) = read(latin);
        assert_eq!(text, "Die Größe der Straße ist für alle gleich.");
        assert!(note.is_some_and(|note| note.starts_with("was read as ")));
    }

    #[test]
    fn a_few_wrong_bytes_leave_the_rest_right() {
        let long = "Übergrößen für Ärzte. ".repeat(30);
        for wrong in [&b"\xa9 2019"[..], b"\xed\xa0\xbd\xed\xb8\x80", b"\xc3"] {
            let (text, note) = read(&[long.as_bytes(), wrong].concat());
            assert!(text.starts_with(&long), "{text}");
            assert_eq!(note.as_deref(), Some("was read as UTF-8; invalid bytes were replaced"));
        }
        let (text, _) = read(&["Größe für alle ".as_bytes(), b"\xa9"].concat());
        assert_eq!(text, "Größe für alle \u{fffd}");
    }

    #[test]
    fn declared_encodings_count_before_a_guess() {
        let russian = encoding_rs::KOI8_R.encode("Срок").0;
        let page = [&b"<html><META http-equiv=x content='text/html; charset=KOI8-R'>"[..], &russian].concat();
        assert!(read(&page).0.ends_with("Срок"));
        let turkish = encoding_rs::WINDOWS_1254.encode("İş").0;
        for head in ["<?xml version='1.0' encoding='windows-1254'?>", "#!/bin/x\n# -*- coding: cp1254 -*-\n"]
        {
            let (text, note) = read(&[head.as_bytes(), &turkish].concat());
            assert!(text.ends_with("İş") && note.is_none(), "{text} {note:?}");
        }
        let wrong = [&b"<meta charset=utf-8>"[..], &russian.repeat(20)].concat();
        assert!(read(&wrong).1.is_some_and(|note| !note.contains("UTF-8")));
        let japanese = encoding_rs::ISO_2022_JP.encode("設定を変更").0;
        assert_eq!(read(&japanese), ("設定を変更".into(), None));
        assert_eq!(read(b"\x1b[31mred\x1b[0m costs \x1b$").0, "\x1b[31mred\x1b[0m costs \x1b$");
    }

    #[test]
    fn utf16_needs_no_mark_and_a_lone_return_ends_a_line() {
        let wide: Vec<u8> = "SELECT 'Größe';\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(read(&wide), ("SELECT 'Größe';\r\n".into(), Some("was read as UTF-16LE".into())));
        let wide: Vec<u8> = "one\rtwo".encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(read(&wide), ("one\ntwo".into(), Some("was read as UTF-16BE".into())));
        assert_eq!(read(b"a\rb\r\nc\r").0, "a\nb\r\nc\n");
        let wide: Vec<u8> = "\u{feff}text".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
        assert_eq!(decode(&wide), Err(UTF_32));
    }

    #[test]
    fn binary_data_is_skipped() {
        for bytes in [&b"\x7fELF\0\0"[..], b"text\0text", &[1, 2, 3, 4, 5, 6]] {
            assert_eq!(decode(bytes), Err("is binary"), "{bytes:?}");
        }
        assert!(decode(b"%PDF-1.7").is_err_and(|reason| reason.contains("PDF")));
        assert_eq!(read(b""), (String::new(), None));
    }
}
