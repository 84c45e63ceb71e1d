//! `http`: requests to hosts that presets.toml allows.

use std::time::Duration;

use gatehouse_core::ports::http::{HttpResponse, RedirectMode};

use super::gatehouse::gate::{
    http::{Header, Host, Request, Response},
    types::Fault,
};
use crate::{capability::http::OutgoingRequest, state::State};

impl Host for State {
    async fn fetch(&mut self, request: Request) -> Result<Response, Fault> {
        Ok(self.capabilities.http.send(request.into()).await?.into())
    }

    async fn fetch_many(&mut self, requests: Vec<Request>) -> Vec<Result<Response, Fault>> {
        let answers = self.capabilities.http.send_many(requests.into_iter().map(Into::into).collect()).await;
        answers.into_iter().map(|answer| Ok(answer?.into())).collect()
    }
}

impl From<Request> for OutgoingRequest {
    fn from(request: Request) -> Self {
        Self {
            method: request.method,
            url: request.url,
            headers: request.headers.into_iter().map(|line| (line.name, line.value.into_bytes())).collect(),
            body: request.body,
            redirects: RedirectMode::Follow,
            begun: None,
            time: request.timeout_ms.map(|ms| Duration::from_millis(ms.into())),
        }
    }
}

impl From<HttpResponse> for Response {
    fn from(response: HttpResponse) -> Self {
        // Header values can have any encoding; invalid UTF-8 is replaced.
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
