//! Request to one host: the gate's request with the headers of that host's rule.

use std::str::FromStr;

use bytes::Bytes;
use gatehouse_core::{
    Fault, Principal,
    http::{AllowedUrl, header},
    names::quoted,
    ports::http::{HttpRequest, MAX_REQUEST_BODY, MAX_REQUEST_HEADERS},
};
use gatehouse_net::{
    Body, Method, Request, StatusCode, Url,
    header::{ACCEPT_ENCODING, HeaderMap, HeaderName, HeaderValue, LOCATION},
};

/// Part of a request that is the same for all hops.
pub(super) struct HopRequest {
    pub(super) principal: Principal,
    pub(super) method: Method,
    headers: HeaderMap,
    body: Option<Bytes>,
}

impl HopRequest {
    pub(super) fn new(request: HttpRequest) -> Result<Self, Fault> {
        let method = method(&request.method)?;
        let size: usize = request.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        if size > MAX_REQUEST_HEADERS {
            return Err(Fault::exhausted(format!(
                "request headers are {size} bytes; the limit is {MAX_REQUEST_HEADERS}"
            )));
        }
        let body = request.body.unwrap_or_default();
        if body.len() > MAX_REQUEST_BODY {
            return Err(Fault::exhausted(format!(
                "request body is {} bytes; the limit is {MAX_REQUEST_BODY}",
                body.len()
            )));
        }
        let mut headers = HeaderMap::new();
        for (name, value) in request.headers.iter().filter(|(name, _)| !header::is_framing(name)) {
            let bad =
                |part: &str| Fault::invalid(format!("invalid {part} for header '{}'", quoted(name, 64)));
            let name = HeaderName::from_str(name).map_err(|_| bad("name"))?;
            headers.append(name, HeaderValue::from_bytes(value).map_err(|_| bad("value"))?);
        }
        Ok(Self {
            principal: request.principal,
            method,
            headers,
            body: (!body.is_empty()).then(|| body.into()),
        })
    }

    pub(super) fn request(&self, allowed: &AllowedUrl<'_>) -> Result<Request, Fault> {
        let mut request = Request::new(self.method.clone(), allowed.url.clone());
        *request.body_mut() = self.body.clone().map(Body::from);
        *request.headers_mut() = self.headers.clone();
        // Secrets are redacted from the response, which compression would hide.
        request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let mut added = HeaderMap::new();
        for (name, value) in &allowed.headers {
            let bad = || {
                let (quoted_name, host) = (quoted(name, 64), &allowed.host);
                Fault::internal(format!("cannot send the configured header '{quoted_name}' to {host}"))
            };
            let name = HeaderName::from_str(name).map_err(|_| bad())?;
            let mut value = HeaderValue::from_str(value.reveal()).map_err(|_| bad())?;
            value.set_sensitive(true);
            added.append(name, value);
        }
        // Rule headers replace all gate headers of the same name.
        request.headers_mut().extend(added);
        Ok(request)
    }

    /// Changes the request for a redirect (Fetch standard, "HTTP-redirect fetch"): drops the body if the method becomes
    /// GET, and credentials if the origin changes.
    pub(super) fn redirected(mut self, status: StatusCode, same_origin: bool) -> Self {
        let harmless = [Method::GET, Method::HEAD].contains(&self.method);
        let becomes_get = match status.as_u16() {
            301 | 302 => self.method == Method::POST,
            303 => !harmless,
            _ => false,
        };
        if becomes_get {
            self.method = Method::GET;
            self.body = None;
        }
        let is_removed = |name: &HeaderName| {
            let of_body = becomes_get && name.as_str().starts_with("content-");
            of_body || (!same_origin && header::is_credential_header(name.as_str()))
        };
        let removed_names: Vec<HeaderName> =
            self.headers.keys().filter(|name| is_removed(name)).cloned().collect();
        for name in removed_names {
            self.headers.remove(name);
        }
        self
    }
}

pub(super) fn redirect(
    status: StatusCode,
    headers: &HeaderMap,
    allowed: &AllowedUrl<'_>,
) -> Result<Option<Url>, Fault> {
    let location = headers.get(LOCATION).filter(|_| matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308));
    let Some(location) = location else { return Ok(None) };
    let target = std::str::from_utf8(location.as_bytes()).ok().and_then(|text| allowed.url.join(text).ok());
    let nowhere =
        || Fault::unavailable(format!("{} answered with a redirect to an invalid URL", allowed.host));
    target.map(Some).ok_or_else(nowhere)
}

/// Parses the method. CONNECT would open a tunnel, and TRACE echoes all headers.
fn method(text: &str) -> Result<Method, Fault> {
    let method = Method::from_str(&text.to_ascii_uppercase()).ok();
    method.filter(|method| ![Method::CONNECT, Method::TRACE].contains(method) && text.len() <= 32).ok_or_else(
        || {
            let quoted_method = quoted(text, 32);
            Fault::invalid(format!("unsupported method '{quoted_method}'; use a method such as GET or POST"))
        },
    )
}

#[cfg(test)]
mod tests;
