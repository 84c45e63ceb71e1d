//! HTTP requests of a login: bounded in size and time, never redirected, and only to URLs that [`super::address`]
//! allows. A host that resolves to a private address is rejected on connection.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use gatehouse_core::{
    Fault, FaultKind,
    http::{Redactor, Secret},
    names::quoted,
};
use gatehouse_net::{
    BodyError, Method, Request, StatusCode, Url,
    header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue},
    plain_cause, read_body,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;

use super::address::{LoginTarget, PRIVATE_ISSUER_HINT};
use crate::{
    media_type,
    outbound::resolver::{self, ScopedClients, has_no_public_address},
};

const MAX_REQUEST_TIME: Duration = Duration::from_secs(20);

const MAX_BODY: usize = 256 << 10;

pub(super) struct LoginHttp {
    clients: ScopedClients,
}

pub(super) struct Response {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

#[derive(Default)]
pub(super) struct RequestContent {
    pub(super) body: Option<(&'static str, String)>,
    pub(super) authorization: Option<Secret>,
}

impl RequestContent {
    pub(super) fn json(body: String) -> Self {
        Self { body: Some(("application/json", body)), authorization: None }
    }
}

impl LoginHttp {
    pub(super) fn new() -> Self {
        // Logins are rare, so idle connections are useless.
        Self { clients: ScopedClients::new(&resolver::system_lookup(), 0) }
    }

    pub(super) async fn get(&self, target: &LoginTarget) -> Result<Response, Fault> {
        self.send(Method::GET, target, RequestContent::default()).await
    }

    /// Sends one request. Faults name the host, but not the rest of the URL.
    pub(super) async fn send(
        &self,
        method: Method,
        target: &LoginTarget,
        sent: RequestContent,
    ) -> Result<Response, Fault> {
        let host = target.url.host_str().unwrap_or_default().to_owned();
        let client = self.clients.for_url(target.scope, &target.url)?;
        let mut request = Request::new(method, target.url.clone());
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(authorization) = sent.authorization {
            let mut value = HeaderValue::from_str(authorization.reveal())
                .map_err(|_| Fault::internal("the credentials cannot be sent in a header"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        if let Some((media_type, body)) = sent.body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
            *request.body_mut() = Some(body.into());
        }
        let exchange = async {
            let response = client.execute(request).await.map_err(|error| failed(&host, error))?;
            let (status, headers) = (response.status(), response.headers().clone());
            // An event stream that a server opens without a login never ends; do not read it.
            let body = if media_type(&headers) == "text/event-stream" {
                Ok(Vec::new())
            } else {
                read_body(response, MAX_BODY).await
            };
            let body = body.map_err(|error| match error {
                BodyError::TooLarge | BodyError::Stopped => {
                    Fault::denied(format!("{host} answered with more than {MAX_BODY} bytes"))
                }
                BodyError::Broken(error, _) => failed(&host, error),
            })?;
            Ok(Response { status, headers, body })
        };
        timeout(MAX_REQUEST_TIME, exchange).await.unwrap_or_else(|_| {
            let seconds = MAX_REQUEST_TIME.as_secs();
            Err(Fault::new(FaultKind::TimedOut, format!("{host} did not answer within {seconds} s")))
        })
    }
}

fn failed(host: &str, error: gatehouse_net::Error) -> Fault {
    let error = error.without_url();
    if has_no_public_address(&error) {
        return Fault::denied(format!("refusing to contact {host}: it resolves to no public address"))
            .hint(PRIVATE_ISSUER_HINT);
    }
    let cause = quoted(&plain_cause(&error), 200);
    Fault::unavailable(format!("cannot reach {host}: {cause}"))
}

impl Response {
    pub(super) fn challenges(&self) -> impl Iterator<Item = &str> {
        let values = self.headers.get_all(gatehouse_net::header::WWW_AUTHENTICATE);
        values.iter().filter_map(|value| value.to_str().ok())
    }

    /// Parses the body. `subject` starts the error message.
    pub(super) fn json<T: DeserializeOwned>(&self, subject: &str) -> Result<T, Fault> {
        serde_json::from_slice(&self.body).map_err(|_| Fault::unavailable(format!("cannot parse {subject}")))
    }

    /// Returns the `error` code of the body (RFC 6749 section 5.2), if any.
    pub(super) fn error(&self) -> Option<String> {
        let value: Value = serde_json::from_slice(&self.body).ok()?;
        Some(value.get("error")?.as_str()?.to_owned())
    }

    /// Describes the error, without the secrets of the request.
    pub(super) fn error_text(&self, secrets: &[Secret]) -> String {
        let value: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let parts: Vec<String> = [text("error"), text("error_description")].into_iter().flatten().collect();
        let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
        let clean = Redactor::new(secrets).redact_text(parts);
        format!("{}{}", self.status.as_u16(), quoted(clean.trim_end_matches('.'), 300))
    }
}

pub(super) fn form(pairs: &[(&str, &str)]) -> String {
    // URL queries use the same encoding.
    let Ok(mut url) = Url::parse("http://form.invalid/") else { return String::new() };
    url.query_pairs_mut().extend_pairs(pairs);
    url.query().unwrap_or_default().to_owned()
}

/// Returns the `Authorization` value of a client (RFC 6749 section 2.3.1: both parts are form-encoded).
pub(super) fn basic(id: &str, secret: &Secret) -> Secret {
    let escaped = |text: &str| form(&[("", text)]).trim_start_matches('=').to_owned();
    let pair = STANDARD.encode(format!("{}:{}", escaped(id), escaped(secret.reveal())));
    Secret::new(format!("Basic {pair}"))
}
