//! The client of all providers: base URL, secret key, concurrency limit, timeouts, retries and errors.

mod events;
mod failure;

use std::{str::FromStr, sync::Arc, time::Duration};

use bytes::Bytes;
use gatehouse_core::{
    Fault,
    http::{Redactor, Secret},
    names::quoted,
};
use gatehouse_net::{
    HttpClients, Method, Request, Response,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use serde_json::Value;
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout_at},
};
use url::Url;

pub(crate) use events::{ResponseEvents, StreamError, StreamFraming};
pub(crate) use failure::AttemptFailure;

use crate::{
    config::{BadSetting, ProviderName, ProviderSettings, RetryPolicy},
    no_model::key_hint,
};

/// Maximum bytes of a response that is read whole: the vectors of a batch.
const MAX_BODY: usize = 16 << 20;

pub(crate) struct Provider {
    name: ProviderName,
    /// Without a trailing slash.
    base: String,
    headers: HeaderMap,
    key_hint: String,
    redactor: Redactor,
    slots: Semaphore,
    timeout: Duration,
    retry: RetryPolicy,
    clients: Arc<HttpClients>,
}

impl Provider {
    /// `header` returns name and value of the header for the key.
    pub(crate) fn new(
        name: ProviderName,
        settings: &ProviderSettings,
        header: impl FnOnce(&Secret) -> (&'static str, String),
        retry: RetryPolicy,
        clients: Arc<HttpClients>,
    ) -> Result<Self, BadSetting> {
        let bad = |message: String| BadSetting::new(name, message);
        let base = settings.base_url.as_deref().unwrap_or(name.address());
        let base = address(name, base).map_err(bad)?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some((name, value)) = settings.key.as_ref().map(header) {
            let mut value = HeaderValue::from_str(&value)
                .map_err(|_| bad("the key contains invalid characters".to_owned()))?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        if !(1..=64).contains(&settings.concurrency) {
            return Err(bad("concurrency must be from 1 to 64".to_owned()));
        }
        if settings.timeout.is_zero() {
            return Err(bad("timeout must be longer than 0 s".to_owned()));
        }
        Ok(Self {
            name,
            base,
            headers,
            key_hint: match settings.keyless {
                true => format!("No key was sent. Set {}.", key_hint(name, settings)),
                false => format!("Check {} and the permissions of the key.", key_hint(name, settings)),
            },
            redactor: Redactor::new(settings.key.as_ref()),
            slots: Semaphore::new(settings.concurrency),
            timeout: settings.timeout,
            retry,
            clients,
        })
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Result<Self, BadSetting> {
        let value = HeaderValue::from_str(value).map_err(|_| {
            BadSetting::new(self.name, format!("invalid value '{}' for header {name}", quoted(value, 64)))
        })?;
        self.headers.insert(HeaderName::from_static(name), value);
        Ok(self)
    }

    pub(crate) fn name(&self) -> ProviderName {
        self.name
    }

    pub(crate) fn key_hint(&self) -> &str {
        &self.key_hint
    }

    pub(crate) fn model(&self, model: &str) -> String {
        format!("{}/{model}", self.name.id())
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Returns the subject for messages: `OpenAI (https://api.openai.com/v1)`.
    pub(crate) fn subject(&self) -> String {
        format!("{} ({})", self.name, self.base)
    }

    /// Returns `true` if the base URL has this host.
    pub(crate) fn is_at(&self, host: &str) -> bool {
        Url::from_str(&self.base).is_ok_and(|url| url.host_str() == Some(host))
    }

    /// Makes text from the provider safe for a message.
    pub(crate) fn quote(&self, text: &str) -> String {
        quoted(self.redactor.redact_text(text.to_owned()).trim(), 300)
    }

    /// Sends a request and returns a successful response. The permit counts toward the concurrency limit until it is
    /// dropped.
    pub(crate) async fn post(
        &self,
        path: &str,
        body: &Bytes,
        deadline: Instant,
    ) -> Result<(Response, tokio::sync::SemaphorePermit<'_>), AttemptFailure> {
        let slot = match timeout_at(deadline, self.slots.acquire()).await {
            Ok(Ok(slot)) => slot,
            Ok(Err(_)) => return Err(AttemptFailure::internal(self, "is shutting down")),
            Err(_) => return Err(AttemptFailure::timeout(self, "is busy with other requests")),
        };
        let url = format!("{}/{}", self.base, path.trim_start_matches('/'));
        let url = Url::from_str(&url).map_err(|_| AttemptFailure::internal(self, "has an invalid URL"))?;
        let client = self.clients.for_url(&url).map_err(AttemptFailure::permanent)?;
        let mut request = Request::new(Method::POST, url);
        *request.headers_mut() = self.headers.clone();
        *request.body_mut() = Some(body.clone().into());
        let silent = Instant::now() + self.timeout;
        let response = match timeout_at(deadline.min(silent), client.execute(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(AttemptFailure::unreachable(self, error)),
            Err(_) if silent < deadline => return Err(AttemptFailure::silent(self)),
            Err(_) => return Err(AttemptFailure::timeout(self, "did not answer in time")),
        };
        if response.status().is_success() {
            return Ok((response, slot));
        }
        Err(AttemptFailure::from_response(self, response, deadline.min(silent)).await)
    }

    /// Sends a request, with retries, and parses the response as JSON.
    pub(crate) async fn ask(&self, path: &str, body: &Value, deadline: Instant) -> Result<Value, Fault> {
        let body = Bytes::from(body.to_string());
        self.with_retries(deadline, || async {
            let (response, _slot) = self.post(path, &body, deadline).await?;
            let bytes =
                events::read_body(response, deadline, MAX_BODY).await.map_err(|broken| match broken {
                    StreamError::Deadline => AttemptFailure::timeout(self, "did not answer in time"),
                    StreamError::TooLong => AttemptFailure::internal(self, "sent more than 16 MiB"),
                    broken => AttemptFailure::broken(self, &broken),
                })?;
            serde_json::from_slice(&bytes)
                .map_err(|_| AttemptFailure::internal(self, "did not answer with JSON"))
        })
        .await
    }
}

impl std::fmt::Debug for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.subject())
    }
}

/// Checks a base URL and removes the trailing slash. For Ollama, scheme and port are optional.
fn address(name: ProviderName, text: &str) -> Result<String, String> {
    let text = text.trim().trim_end_matches('/');
    let full = match name {
        ProviderName::Ollama if !text.contains("://") => format!("http://{text}"),
        _ => text.to_owned(),
    };
    let display_url = quoted(text, 100);
    let mut url = Url::from_str(&full).map_err(|_| format!("'{display_url}' is not a URL"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(format!("'{display_url}' is not an http or https URL"));
    }
    // Messages contain the URL.
    if !url.username().is_empty() || url.password().is_some() {
        return Err("base URL must not contain a user or a password".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(format!("base URL '{display_url}' must not contain '?' or '#'"));
    }
    if name == ProviderName::Ollama && !text.contains("://") {
        if url.port().is_none() {
            let _ = url.set_port(Some(11434));
        }
        // A server may listen on all addresses, but clients connect to this machine.
        if url.host_str() == Some("0.0.0.0") {
            let _ = url.set_host(Some("127.0.0.1"));
        }
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests;
