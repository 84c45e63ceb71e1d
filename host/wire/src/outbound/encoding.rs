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
    allowed: &AllowedUrl<'_>,
) -> Result<Option<BodyEncoding>, Fault> {
    // The HTTP client decodes `chunked`, and no other transfer coding.
    let ignored = ["", "identity", "chunked"];
    let all = |name: HeaderName, prefix: &'static str| {
        let values = headers.get_all(name).iter();
        let values = values.map(|value| String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase());
        values.flat_map(move |value| {
            let codings = value.split(',').map(str::trim).filter(|coding| !ignored.contains(coding));
            codings.map(|coding| format!("{prefix}{coding}")).collect::<Vec<_>>()
        })
    };
    let codings: Vec<String> = all(CONTENT_ENCODING, "").chain(all(TRANSFER_ENCODING, "transfer ")).collect();
    match codings.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Ok(None),
        ["gzip" | "x-gzip"] => Ok(Some(BodyEncoding::Gzip)),
        ["deflate"] => Ok(Some(BodyEncoding::Deflate)),
        _ => Err(Fault::unavailable(format!(
            "{} answered with an unsupported encoding: {}",
            allowed.host,
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
mod tests;
