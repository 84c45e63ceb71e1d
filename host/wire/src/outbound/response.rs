//! Responses to gates: read within bounds and redacted, or turned into a fault.
//!
//! Bodies may be compressed, although the host asks for identity. Secrets cannot be redacted from a compressed body, so it
//! is decompressed within bounds or rejected.

use std::io::Read;

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use gatehouse_core::{
    Fault,
    budget::ByteReservation,
    http::{AllowedUrl, HttpRules, header},
    names::quoted,
    ports::http::{HttpResponse, MAX_RESPONSE_BODY, MAX_RESPONSE_HEADERS},
};
use gatehouse_net::{
    BodyError, Error as HttpError, Response,
    header::{CONTENT_ENCODING, HeaderMap, HeaderName, TRANSFER_ENCODING},
    read_body_while, root_cause,
};

use super::resolver::has_no_public_address;

/// Bodies of at least this many bytes are redacted on a blocking thread, because decoding escapes takes long.
const MIN_BLOCKING_REDACTION: usize = 256 << 10;

pub(super) async fn read(
    rules: &HttpRules,
    allowed: &AllowedUrl<'_>,
    response: Response,
    mut reservation: ByteReservation,
) -> Result<HttpResponse, Fault> {
    let (status, host) = (response.status().as_u16(), &allowed.host);
    let encoding = body_encoding(response.headers(), allowed)?;
    let mut headers: Vec<(String, Vec<u8>)> = response
        .headers()
        .iter()
        // Drop framing headers, except for the length.
        .filter(|(name, _)| *name == "content-length" || !header::is_framing(name.as_str()))
        .map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()))
        .collect();
    let size: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    if size > MAX_RESPONSE_HEADERS {
        return Err(Fault::exhausted(format!(
            "{host} answered with {size} bytes of headers; the limit is {MAX_RESPONSE_HEADERS}"
        )));
    }
    let too_large = || {
        Fault::exhausted(format!("{host} answered with more than {} MiB", MAX_RESPONSE_BODY >> 20))
            .hint("Request less data, for example one page or a range.")
    };
    let too_much = || {
        Fault::exhausted("the responses that this call holds are too large in total")
            .hint("Send fewer requests at the same time.")
    };
    let body = read_body_while(response, MAX_RESPONSE_BODY, |piece| reservation.take(piece.len())).await;
    let body = body.map_err(|error| match error {
        BodyError::TooLarge => too_large(),
        BodyError::Stopped => too_much(),
        BodyError::Broken(error, _) => failed(allowed, error),
    })?;
    let body = match encoding.filter(|_| !body.is_empty()) {
        None => body,
        Some(encoding) => {
            let decoded = tokio::task::spawn_blocking(move || encoding.decode(&body)).await;
            let decoded = decoded.ok().and_then(Result::ok).ok_or_else(|| {
                Fault::unavailable(format!("{host} answered with a body that does not match its encoding"))
            })?;
            if decoded.len() > MAX_RESPONSE_BODY {
                return Err(too_large());
            }
            if !reservation.take(decoded.len()) {
                return Err(too_much());
            }
            // These headers describe the encoded body.
            headers.retain(|(name, _)| name != "content-encoding" && name != "content-length");
            decoded
        }
    };
    let redactor = rules.redactor();
    let length = body.len();
    let body = if length < MIN_BLOCKING_REDACTION {
        redactor.redact_body(body)
    } else {
        let redactor = redactor.clone();
        let cleaned = tokio::task::spawn_blocking(move || redactor.redact_body(body)).await;
        cleaned.map_err(|_| Fault::internal(format!("cannot read the response of {host}")))?
    };
    let changed = body.len() != length;
    let clean = |(name, value): (String, Vec<u8>)| (name, redactor.redact_header(value));
    let headers = headers.into_iter().filter(|(name, _)| !(changed && name == "content-length")).map(clean);
    // A header name cannot be redacted, so drop the header.
    let headers = headers.filter(|(name, _)| !redactor.name_has_secret(name));
    Ok(HttpResponse {
        status,
        url: redactor.redact_text(allowed.url.to_string()),
        headers: headers.collect(),
        body,
        reservation,
    })
}

/// Converts the error to a fault that names the host, but not the URL.
pub(super) fn failed(allowed: &AllowedUrl<'_>, error: HttpError) -> Fault {
    let error = error.without_url();
    if has_no_public_address(&error) {
        return allowed.private_address_fault();
    }
    Fault::unavailable(format!("cannot reach {}: {}", allowed.host, quoted(&root_cause(&error), 200)))
}

/// Compression of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyEncoding {
    Gzip,
    Deflate,
}

/// Returns the compression of the body. `None` if it is not compressed. Fails if the encoding is not supported.
fn body_encoding(headers: &HeaderMap, allowed: &AllowedUrl<'_>) -> Result<Option<BodyEncoding>, Fault> {
    // The HTTP client decodes `chunked`, and no other transfer coding.
    let ignored = ["", "identity", "chunked"];
    let codings_of = |name: HeaderName, prefix: &'static str| {
        let values = headers.get_all(name).iter();
        let values = values.map(|value| String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase());
        values.flat_map(move |value| {
            let codings = value.split(',').map(str::trim).filter(|coding| !ignored.contains(coding));
            codings.map(|coding| format!("{prefix}{coding}")).collect::<Vec<_>>()
        })
    };
    let codings: Vec<String> =
        codings_of(CONTENT_ENCODING, "").chain(codings_of(TRANSFER_ENCODING, "transfer ")).collect();
    match codings.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Ok(None),
        ["gzip" | "x-gzip"] => Ok(Some(BodyEncoding::Gzip)),
        ["deflate"] => Ok(Some(BodyEncoding::Deflate)),
        _ => {
            let (host, quoted_codings) = (&allowed.host, quoted(&codings.join(", "), 80));
            Err(Fault::unavailable(format!("{host} answered with an unsupported encoding: {quoted_codings}"))
                .hint("Request another form of it; the host supports gzip and deflate."))
        }
    }
}

impl BodyEncoding {
    /// Decompresses a body, up to one byte more than [`MAX_RESPONSE_BODY`], so that the caller can detect an excess.
    fn decode(self, body: &[u8]) -> std::io::Result<Vec<u8>> {
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
