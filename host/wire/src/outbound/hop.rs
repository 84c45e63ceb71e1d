//! Request to one host: the gate's request with the headers of that host's rule.

use std::str::FromStr;

use bytes::Bytes;
use gatehouse_core::{
    Fault,
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
    method: Method,
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
                |what: &str| Fault::invalid(format!("invalid {what} for header '{}'", quoted(name, 64)));
            let name = HeaderName::from_str(name).map_err(|_| bad("name"))?;
            headers.append(name, HeaderValue::from_bytes(value).map_err(|_| bad("value"))?);
        }
        Ok(Self { method, headers, body: (!body.is_empty()).then(|| body.into()) })
    }

    pub(super) fn method(&self) -> &Method {
        &self.method
    }

    pub(super) fn request(&self, permit: &AllowedUrl<'_>) -> Result<Request, Fault> {
        let mut request = Request::new(self.method.clone(), permit.url.clone());
        *request.body_mut() = self.body.clone().map(Body::from);
        *request.headers_mut() = self.headers.clone();
        // Secrets are redacted from the response, which compression would hide.
        request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let mut added = HeaderMap::new();
        for (name, value) in &permit.headers {
            let bad = |_| {
                Fault::internal(format!(
                    "cannot send the configured header '{}' to {}",
                    quoted(name, 64),
                    permit.host
                ))
            };
            let name = HeaderName::from_str(name).map_err(|error| bad(error.to_string()))?;
            let mut value = HeaderValue::from_str(value.reveal()).map_err(|error| bad(error.to_string()))?;
            value.set_sensitive(true);
            added.append(name, value);
        }
        // Rule headers replace all gate headers of the same name.
        for name in added.keys() {
            request.headers_mut().remove(name);
        }
        for (name, value) in &added {
            request.headers_mut().append(name, value.clone());
        }
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
        let gone = |name: &HeaderName| {
            let of_body = becomes_get && name.as_str().starts_with("content-");
            of_body || (!same_origin && header::is_credential_header(name.as_str()))
        };
        let gone: Vec<HeaderName> = self.headers.keys().filter(|name| gone(name)).cloned().collect();
        for name in gone {
            self.headers.remove(name);
        }
        self
    }
}

pub(super) fn redirect(
    status: StatusCode,
    headers: &HeaderMap,
    permit: &AllowedUrl<'_>,
) -> Result<Option<Url>, Fault> {
    let location = headers.get(LOCATION).filter(|_| matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308));
    let Some(location) = location else { return Ok(None) };
    let target = std::str::from_utf8(location.as_bytes()).ok().and_then(|text| permit.url.join(text).ok());
    let nowhere =
        || Fault::unavailable(format!("{} answered with a redirect to an invalid URL", permit.host));
    target.map(Some).ok_or_else(nowhere)
}

/// Parses the method. CONNECT would open a tunnel, and TRACE echoes all headers.
fn method(text: &str) -> Result<Method, Fault> {
    let method = Method::from_str(&text.to_ascii_uppercase()).ok();
    method.filter(|method| ![Method::CONNECT, Method::TRACE].contains(method) && text.len() <= 32).ok_or_else(
        || {
            let shown = quoted(text, 32);
            Fault::invalid(format!("unsupported method '{shown}'; use a method such as GET or POST"))
        },
    )
}

#[cfg(test)]
mod tests {
    use gatehouse_core::{
        budget::ByteBudget,
        http::{HostPattern, HostRule, HttpRules, Secret, rules::AddedHeader},
        ports::http::RedirectMode,
    };

    use super::*;

    fn hop(method: &str, headers: &[(&str, &str)]) -> Result<HopRequest, Fault> {
        HopRequest::new(HttpRequest {
            method: method.into(),
            url: String::new(),
            headers: headers.iter().map(|(n, v)| ((*n).to_owned(), v.as_bytes().to_vec())).collect(),
            body: Some(b"body".to_vec()),
            redirects: RedirectMode::Follow,
            deadline: tokio::time::Instant::now(),
            budget: ByteBudget::new(0),
        })
    }

    #[test]
    fn what_frames_the_message_is_left_out_and_the_rule_wins() {
        let header = AddedHeader {
            name: "authorization".into(),
            value: Ok(Secret::new("Bearer rule")),
            variables: Vec::new(),
        };
        let key = HostPattern::parse("a.example").expect("a key");
        let rules = HttpRules::new("gate", vec![HostRule { key, headers: vec![header], private: false }], []);
        let permit = rules.check("https://a.example/").expect("allowed");
        let own = [
            ("Host", "evil"),
            ("Transfer-Encoding", "chunked"),
            ("Authorization", "Bearer gate"),
            ("Authorization", "Bearer second"),
            ("X-Kept", "1"),
        ];
        let request = hop("post", &own).and_then(|hop| hop.request(&permit)).expect("a request");
        assert_eq!(request.method(), Method::POST);
        let names: Vec<&str> = request.headers().keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["accept-encoding", "x-kept", "authorization"]);
        let all: Vec<_> = request.headers().get_all("authorization").iter().collect();
        assert_eq!(all, ["Bearer rule"]);
        assert!(!format!("{request:?}").contains("Bearer rule"));
    }

    #[test]
    fn hostile_parts_are_refused() {
        for bad in ["CONNECT", "trace", "G ET", "", "GET\r\nHost: x"] {
            assert!(hop(bad, &[]).is_err(), "{bad:?}");
        }
        assert!(hop("GET", &[("a b", "c")]).is_err());
        assert!(hop("GET", &[("a", "b\r\nc: d")]).is_err());
        assert!(hop("GET", &[("a", &"b".repeat(MAX_REQUEST_HEADERS))]).is_err());
    }

    #[test]
    fn redirects_change_what_browsers_change() {
        let own = [("Content-Type", "text/plain"), ("Cookie", "a=b"), ("X-Kept", "1")];
        let after = |status: u16, method: &str, same: bool| {
            let status = StatusCode::from_u16(status).expect("a status");
            let hop = hop(method, &own).expect("a hop").redirected(status, same);
            (
                hop.method.to_string(),
                hop.body.is_some(),
                hop.headers.contains_key("cookie"),
                hop.headers.len(),
            )
        };
        assert_eq!(after(302, "POST", true), ("GET".into(), false, true, 2));
        assert_eq!(after(303, "PUT", false), ("GET".into(), false, false, 1));
        assert_eq!(after(301, "PUT", true), ("PUT".into(), true, true, 3));
        assert_eq!(after(307, "POST", false), ("POST".into(), true, false, 2));
    }
}
