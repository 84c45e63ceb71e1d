//! Compressed response bodies, although the host asks for identity. Secrets cannot be redacted from a compressed body,
//! so it is decompressed within bounds or rejected.

use std::io::Read;

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use gatehouse_core::{Fault, http::AllowedUrl, names::quoted, ports::http::MAX_RESPONSE_BODY};
use gatehouse_net::header::{CONTENT_ENCODING, HeaderMap, HeaderName, TRANSFER_ENCODING};

/// Compression of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyEncoding {
    Gzip,
    Deflate,
}

/// Returns the compression of the body. `None` if it is not compressed.
///
/// # Errors
/// If the encoding is not supported.
pub(super) fn from_headers(
    headers: &HeaderMap,
    permit: &AllowedUrl<'_>,
) -> Result<Option<BodyEncoding>, Fault> {
    let all = |name: HeaderName| {
        let values = headers
            .get_all(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase());
        let values: Vec<String> = values.collect();
        values
            .join(",")
            .split(',')
            .map(|value| value.trim().to_owned())
            .filter(|value| !value.is_empty())
            .collect::<Vec<_>>()
    };
    let content = all(CONTENT_ENCODING).into_iter().filter(|coding| coding != "identity");
    // The HTTP client decodes `chunked`, and no other transfer coding.
    let transfer =
        all(TRANSFER_ENCODING).into_iter().filter(|coding| coding != "chunked" && coding != "identity");
    let codings: Vec<String> = content.chain(transfer.map(|coding| format!("transfer {coding}"))).collect();
    match codings.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Ok(None),
        ["gzip" | "x-gzip"] => Ok(Some(BodyEncoding::Gzip)),
        ["deflate"] => Ok(Some(BodyEncoding::Deflate)),
        _ => Err(Fault::unavailable(format!(
            "{} answered with an unsupported encoding: {}",
            permit.host,
            quoted(&codings.join(", "), 80)
        ))
        .hint("Request another form of it; the host supports gzip and deflate.")),
    }
}

impl BodyEncoding {
    /// Decompresses a body, up to one byte more than [`MAX_RESPONSE_BODY`], so that the caller can detect an excess.
    pub(super) fn decode(self, body: &[u8]) -> std::io::Result<Vec<u8>> {
        let read = |reader: &mut dyn Read| {
            let mut plain = Vec::new();
            reader.take(MAX_RESPONSE_BODY as u64 + 1).read_to_end(&mut plain).map(|_| plain)
        };
        match self {
            Self::Gzip => read(&mut MultiGzDecoder::new(body)),
            // Servers use the name for both zlib and raw deflate (RFC 9110, section 8.4.1.2).
            Self::Deflate => {
                read(&mut ZlibDecoder::new(body)).or_else(|_| read(&mut DeflateDecoder::new(body)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write};
    use gatehouse_core::http::{HostPattern, HostRule, HttpRules};

    use super::*;

    fn said(headers: &[(HeaderName, &str)]) -> Result<Option<BodyEncoding>, String> {
        let rule = HostRule {
            key: HostPattern::parse("a.example").expect("a key"),
            headers: vec![],
            private: false,
        };
        let rules = HttpRules::new("gate", vec![rule], []);
        let permit = rules.check("https://a.example/").expect("allowed");
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value.parse().expect("a value"));
        }
        from_headers(&map, &permit).map_err(|fault| fault.message)
    }

    #[test]
    fn what_can_be_read_is_known_and_all_else_refused() {
        assert_eq!(said(&[(TRANSFER_ENCODING, "chunked"), (CONTENT_ENCODING, "identity")]), Ok(None));
        assert_eq!(said(&[(CONTENT_ENCODING, "GZip")]), Ok(Some(BodyEncoding::Gzip)));
        assert_eq!(said(&[(CONTENT_ENCODING, "deflate")]), Ok(Some(BodyEncoding::Deflate)));
        for bad in ["br", "zstd", "gzip, gzip", "aes128gcm"] {
            let why = said(&[(CONTENT_ENCODING, bad)]).expect_err(bad);
            assert!(
                why.starts_with("a.example answered with an unsupported encoding") && why.contains(bad),
                "{why}"
            );
        }
        assert!(said(&[(TRANSFER_ENCODING, "gzip, chunked")]).is_err());
    }

    #[test]
    fn both_meanings_of_deflate_are_read_and_bombs_are_bounded() {
        let text = b"hello".as_slice();
        let mut gzip = write::GzEncoder::new(Vec::new(), Compression::fast());
        let mut zlib = write::ZlibEncoder::new(Vec::new(), Compression::fast());
        let mut raw = write::DeflateEncoder::new(Vec::new(), Compression::fast());
        for writer in [&mut gzip as &mut dyn Write, &mut zlib, &mut raw] {
            writer.write_all(text).expect("written");
        }
        let [gzip, zlib, raw] =
            [gzip.finish(), zlib.finish(), raw.finish()].map(|bytes| bytes.expect("encoded"));
        for (encoding, bytes) in
            [(BodyEncoding::Gzip, &gzip), (BodyEncoding::Deflate, &zlib), (BodyEncoding::Deflate, &raw)]
        {
            assert_eq!(encoding.decode(bytes).expect("decoded"), text);
        }
        assert!(
            BodyEncoding::Gzip.decode(b"no gzip").is_err() && BodyEncoding::Gzip.decode(&gzip[..12]).is_err()
        );
        let mut bomb = write::GzEncoder::new(Vec::new(), Compression::best());
        bomb.write_all(&vec![0; 3 * MAX_RESPONSE_BODY]).expect("written");
        let bomb = bomb.finish().expect("encoded");
        assert_eq!(BodyEncoding::Gzip.decode(&bomb).expect("bounded").len(), MAX_RESPONSE_BODY + 1);
    }
}
