//! Decodes file bytes to text in any encoding, and rejects binary data.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DecodedText {
    pub(crate) text: String,
    pub(crate) note: Option<String>,
}

/// Decodes bytes by their byte order mark, else as UTF-8, else with a detected encoding. The error is the reason why
/// the bytes are not text.
pub(crate) fn decode(bytes: &[u8]) -> Result<DecodedText, &'static str> {
    if bytes.starts_with(b"%PDF-") {
        return Err("is a PDF, which is not supported; convert it to text first");
    }
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return decode_marked(encoding, &bytes[mark..]);
    }
    // Encodings without a byte order mark never produce NUL.
    if bytes.contains(&0) {
        return Err("is binary");
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => DecodedText { text: text.to_owned(), note: None },
        Err(_) => decode_guessed(bytes),
    };
    if is_noise(&text.text) { Err("is binary") } else { Ok(text) }
}

fn decode_marked(encoding: &'static Encoding, bytes: &[u8]) -> Result<DecodedText, &'static str> {
    let (text, lost) = encoding.decode_without_bom_handling(bytes);
    if text.contains('\0') || is_noise(&text) {
        return Err("is binary");
    }
    let note = (lost || encoding != UTF_8).then(|| encoding_note(encoding, lost));
    Ok(DecodedText { text: text.into_owned(), note })
}

fn decode_guessed(bytes: &[u8]) -> DecodedText {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let encoding = detector.guess(None, Utf8Detection::Deny);
    let (text, lost) = encoding.decode_without_bom_handling(bytes);
    DecodedText { text: text.into_owned(), note: Some(encoding_note(encoding, lost)) }
}

fn encoding_note(encoding: &'static Encoding, lost: bool) -> String {
    let lost = if lost { "; invalid bytes were replaced" } else { "" };
    format!("was read as {}{lost}", encoding.name())
}

/// Returns true if more than 1 in 20 characters is a control character. Tool output may have a few.
fn is_noise(text: &str) -> bool {
    let control = |c: &char| (c.is_control() && !c.is_whitespace() && *c != '\u{1b}') || *c == '\u{fffd}';
    let head = crate::clean::prefix(text, 64 * 1024);
    let noise = head.chars().filter(control).count();
    noise > 0 && noise * 20 > head.chars().count()
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
    fn binary_data_is_skipped() {
        for bytes in [&b"\x7fELF\0\0"[..], b"text\0text", &[0xff, 0xfe, 0, 0, 65, 0], &[1, 2, 3, 4, 5, 6]] {
            assert_eq!(decode(bytes), Err("is binary"), "{bytes:?}");
        }
        assert!(decode(b"%PDF-1.7").is_err_and(|why| why.contains("PDF")));
        assert_eq!(read(b""), (String::new(), None));
    }
}
