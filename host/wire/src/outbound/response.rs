//! What comes back: read whole, bounded, cleaned of secrets; or why nothing did.

use std::error::Error;

use gatehouse_core::{
    Fault,
    budget::ByteReservation,
    http::{AllowedUrl, HttpRules, header},
    names::quoted,
    ports::http::{HttpResponse, MAX_RESPONSE_BODY, MAX_RESPONSE_HEADERS},
};
use gatehouse_net::{BodyError, Error as HttpError, Response, read_body_while, root_cause};

use super::{encoding, resolver::NoPublicAddress};

/// Bytes in a mebibyte.
const MIB: usize = 1 << 20;

/// A body of this size is looked through beside the runtime: under escapes that takes its time.
const LARGE: usize = 256 << 10;

/// Reads an answer to its end.
pub(super) async fn read(
    rules: &HttpRules,
    permit: &AllowedUrl<'_>,
    response: Response,
    mut held: ByteReservation,
) -> Result<HttpResponse, Fault> {
    let status = response.status().as_u16();
    let encoding = encoding::from_headers(response.headers(), permit)?;
    let mut headers: Vec<(String, Vec<u8>)> = response
        .headers()
        .iter()
        // How it was framed is over; what is left of it is how long the body was.
        .filter(|(name, _)| *name == "content-length" || !header::is_framing(name.as_str()))
        .map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()))
        .collect();
    let size: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    if size > MAX_RESPONSE_HEADERS {
        return Err(Fault::exhausted(format!(
            "{} answered with {size} bytes of headers, the most is {MAX_RESPONSE_HEADERS}.",
            permit.host
        )));
    }
    let too_large = || {
        Fault::exhausted(format!("{} answered with more than {} MiB.", permit.host, MAX_RESPONSE_BODY / MIB))
            .hint("Ask the server for less at once, a page or a range for example.")
    };
    let too_much = || {
        Fault::exhausted("The answers that this call holds are too large together.")
            .hint("Ask for fewer at once.")
    };
    let body = read_body_while(response, MAX_RESPONSE_BODY, |piece| held.take(piece.len())).await;
    let body = body.map_err(|error| match error {
        BodyError::TooLarge => too_large(),
        BodyError::Stopped => too_much(),
        BodyError::Broken(error, _) => failed(permit, error),
    })?;
    let body = match encoding.filter(|_| !body.is_empty()) {
        None => body,
        Some(encoding) => {
            let decoded = tokio::task::spawn_blocking(move || encoding.decode(&body)).await;
            let decoded = decoded.ok().and_then(Result::ok).ok_or_else(|| {
                Fault::unavailable(format!(
                    "{} answered with a body that is not encoded as it says.",
                    permit.host
                ))
            })?;
            if decoded.len() > MAX_RESPONSE_BODY {
                return Err(too_large());
            }
            if !held.take(decoded.len()) {
                return Err(too_much());
            }
            // What is left speaks of the body as the gate gets it.
            headers.retain(|(name, _)| name != "content-encoding" && name != "content-length");
            decoded
        }
    };
    let redactor = rules.redactor();
    let length = body.len();
    let body = if length < LARGE {
        redactor.redact_body(body)
    } else {
        let redactor = redactor.clone();
        let cleaned = tokio::task::spawn_blocking(move || redactor.redact_body(body)).await;
        cleaned.map_err(|_| Fault::internal(format!("The answer of {} could not be read.", permit.host)))?
    };
    let changed = body.len() != length;
    let clean = |(name, value): (String, Vec<u8>)| (name, redactor.redact_header(value));
    let headers = headers.into_iter().filter(|(name, _)| !(changed && name == "content-length")).map(clean);
    // A secret could come back as a header's name, where nothing can stand for it.
    let headers = headers.filter(|(name, _)| !redactor.name_has_secret(name));
    Ok(HttpResponse {
        status,
        url: redactor.redact_text(permit.url.to_string()),
        headers: headers.collect(),
        body,
        reservation: held,
    })
}

/// Why there is no answer, in words that name the host and not the URL.
pub(super) fn failed(permit: &AllowedUrl<'_>, error: HttpError) -> Fault {
    let error = error.without_url();
    let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(this) = cause {
        if this.is::<NoPublicAddress>() {
            return permit.private_address_fault();
        }
        cause = this.source();
    }
    Fault::unavailable(format!("{} cannot be reached: {}.", permit.host, quoted(&root_cause(&error), 200)))
}
