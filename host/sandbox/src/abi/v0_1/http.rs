//! Conversions for the interface `http`.

use gatehouse_core::ports::http::HttpResponse;

use super::gatehouse::gate::http::{Header, Response};

impl From<HttpResponse> for Response {
    fn from(response: HttpResponse) -> Self {
        // A value may be in any encoding; what is not UTF-8 is shown as well as it can be.
        let text = |value: Vec<u8>| match String::from_utf8(value) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        let header = |(name, value)| Header { name, value: text(value) };
        Self {
            status: response.status,
            url: response.url,
            headers: response.headers.into_iter().map(header).collect(),
            body: response.body,
        }
    }
}
