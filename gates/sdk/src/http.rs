//! HTTP requests, only to the hosts that `[gates.<name>.http]` in presets.toml names. The host also adds the
//! credentials configured there; the gate never sees them.
//!
//! ```
//! use gatehouse_sdk::{Fault, http::{Request, Response}, testing};
//!
//! fn temperature(place: &str) -> Result<f64, Fault> {
//!     let url = format!("https://api.weather.gov/points/{place}");
//!     let answer = Request::get(url).header("accept", "application/json").send()?.ok()?;
//!     let forecast: serde_json::Value = answer.json()?;
//!     forecast["temperature"].as_f64().ok_or_else(|| Fault::not_found(format!("no weather for '{place}'")))
//! }
//!
//! // In a test:
//! let host = testing::Fake::new().fetch(|request| {
//!     assert_eq!(request.url, "https://api.weather.gov/points/39,-97");
//!     Ok(Response::new(200, r#"{"temperature": 21.5}"#))
//! });
//! assert_eq!(host.run(|| temperature("39,-97")), Ok(21.5));
//! ```

use serde::{Serialize, de::DeserializeOwned};

pub use crate::bindings::gatehouse::gate::http::{Header, Request, Response};
use crate::{Fault, FaultKind};

host_functions! {
    http:

    /// Sends one request and follows redirects. Returns responses with any status; [`Response::ok`] turns error
    /// statuses into faults.
    fn fetch(request: &Request) -> Response;
}

/// Sends up to 16 requests concurrently and returns the responses in the same order.
pub fn fetch_many(requests: &[Request]) -> Vec<Result<Response, Fault>> {
    #[cfg(target_family = "wasm")]
    return crate::bindings::gatehouse::gate::http::fetch_many(requests);
    #[cfg(not(target_family = "wasm"))]
    requests.iter().map(fetch).collect()
}

impl Request {
    /// Creates a request with any method.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self { method: method.into(), url: url.into(), headers: Vec::new(), body: None, timeout_ms: None }
    }

    /// Creates a GET request.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url)
    }

    /// Creates a POST request.
    pub fn post(url: impl Into<String>) -> Self {
        Self::new("POST", url)
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push(Header { name: name.into(), value: value.into() });
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Sets the body to this data as JSON, with its content type.
    pub fn json(self, data: &impl Serialize) -> Result<Self, Fault> {
        let body = serde_json::to_vec(data)
            .map_err(|e| Fault::internal(format!("cannot serialize the request body as JSON: {e}")))?;
        Ok(self.header("content-type", "application/json").body(body))
    }

    /// Sets the timeout. The call's deadline still applies.
    #[must_use]
    pub fn timeout_ms(mut self, ms: u32) -> Self {
        self.timeout_ms = Some(ms);
        self
    }

    /// Sends the request, as [`fetch`] does.
    pub fn send(&self) -> Result<Response, Fault> {
        fetch(self)
    }
}

impl Response {
    /// Creates a response without headers, for tests.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, url: String::new(), headers: Vec::new(), body: body.into() }
    }

    /// Returns the response if its status is 200 to 299, else a fault with the status.
    pub fn ok(self) -> Result<Self, Fault> {
        let kind = match self.status {
            200..=299 => return Ok(self),
            404 | 410 => FaultKind::NotFound,
            401 | 403 => FaultKind::Denied,
            _ => FaultKind::Unavailable,
        };
        let fault = Fault::new(kind, format!("{} answered with status {}", self.url, self.status));
        // Client errors other than a timeout (408) or too many requests (429) stay errors on retry.
        Err(Fault { retryable: matches!(self.status, 408 | 429 | 500..), ..fault })
    }

    /// Returns the first header with this name, ignoring case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let line = self.headers.iter().find(|line| line.name.eq_ignore_ascii_case(name));
        line.map(|line| line.value.as_str())
    }

    /// Returns the body as text, with replacement characters for invalid UTF-8.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Parses the body as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        let bad = |e| Fault::unavailable(format!("{} returned invalid JSON: {e}", self.url));
        serde_json::from_slice(&self.body).map_err(bad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fake;

    #[test]
    fn a_built_request_is_sent() {
        let host = Fake::new().fetch(|request| {
            assert_eq!((request.method.as_str(), request.timeout_ms), ("POST", Some(5)));
            assert_eq!(request.headers.len(), 2);
            Ok(Response {
                url: request.url.clone(),
                ..Response::new(500, request.body.clone().unwrap_or_default())
            })
        });
        let request = Request::post("https://a.example/").header("x", "y").timeout_ms(5);
        let answer = host.run(|| request.json(&[1, 2])?.send()).unwrap();
        assert_eq!(answer.text(), "[1,2]");
        assert_eq!(answer.json::<Vec<u8>>().unwrap(), [1, 2]);
        let fault = answer.ok().unwrap_err();
        assert_eq!((fault.kind, fault.retryable), (FaultKind::Unavailable, true));
        assert_eq!(fault.message, "https://a.example/ answered with status 500");
    }

    #[test]
    fn fetch_many_keeps_the_order() {
        let host = Fake::new().fetch(|request| match request.url.as_str() {
            "bad" => Err(Fault::denied("no")),
            url => Ok(Response::new(200, url)),
        });
        let requests = ["a", "bad", "b"].map(Request::get);
        let answers = host.run(|| fetch_many(&requests));
        let texts: Vec<String> =
            answers.into_iter().map(|a| a.map_or_else(|f| f.message, |r| r.text())).collect();
        assert_eq!(texts, ["a", "no", "b"]);
        assert_eq!(fetch(&requests[0]).unwrap_err().kind, FaultKind::Internal, "no host, no answer");
    }

    #[test]
    fn only_statuses_that_can_pass_are_retryable() {
        for (status, retryable) in
            [(301, false), (400, false), (404, false), (408, true), (409, false), (429, true), (500, true)]
        {
            let fault = Response::new(status, "").ok().unwrap_err();
            assert_eq!(fault.retryable, retryable, "{status}");
        }
    }

    #[test]
    fn headers_are_found_in_any_case() {
        let line = Header { name: "content-type".into(), value: "text/plain".into() };
        let answer = Response { headers: vec![line], ..Response::new(404, "") };
        assert_eq!(answer.header("Content-Type"), Some("text/plain"));
        assert_eq!(answer.ok().unwrap_err().kind, FaultKind::NotFound);
    }
}
