//! Where an answer leads on.

use gatehouse_core::{Fault, http::Permit};
use reqwest::{
    StatusCode, Url,
    header::{HeaderMap, LOCATION},
};

/// The URL that a redirect names, not checked yet; none where the answer is the last one.
pub(super) fn target(
    status: StatusCode,
    headers: &HeaderMap,
    permit: &Permit<'_>,
) -> Result<Option<Url>, Fault> {
    let location = headers.get(LOCATION).filter(|_| matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308));
    let Some(location) = location else { return Ok(None) };
    let target = std::str::from_utf8(location.as_bytes()).ok().and_then(|text| permit.url.join(text).ok());
    let nowhere = || Fault::unavailable(format!("{} answered with a redirect that is no URL.", permit.host));
    target.map(Some).ok_or_else(nowhere)
}
