//! What all providers have in common: an address, a key that nobody sees, a number of requests at a time,
//! patience, and words for what went wrong.

mod events;
mod failure;
mod retry;

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
pub(crate) use failure::{AttemptFailure, RetryHint};

use crate::{
    config::{BadSetting, ProviderName, ProviderSettings, RetryPolicy},
    hints,
};

/// The most bytes of an answer that is read whole: vectors of a batch.
const MAX_BODY: usize = 16 << 20;

/// One provider as the operator set it up.
pub(crate) struct Provider {
    name: ProviderName,
    /// Without a slash at the end.
    base: String,
    headers: HeaderMap,
    /// What to do where it refuses the key.
    key_hint: String,
    redactor: Redactor,
    slots: Semaphore,
    timeout: Duration,
    retry: RetryPolicy,
    clients: Arc<HttpClients>,
}

impl Provider {
    /// `header` is the name and the value of the header that carries the key.
    pub(crate) fn new(
        name: ProviderName,
        settings: &ProviderSettings,
        header: impl FnOnce(&Secret) -> (&'static str, String),
        retry: RetryPolicy,
        clients: Arc<HttpClients>,
    ) -> Result<Self, BadSetting> {
        let bad = |message: String| BadSetting { provider: name, message };
        let base = settings.base_url.as_deref().unwrap_or(name.address());
        let base = address(name, base).map_err(bad)?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some((name, value)) = settings.key.as_ref().map(header) {
            let mut value = HeaderValue::from_str(&value)
                .map_err(|_| bad("the key has characters that no key has".to_owned()))?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        if !(1..=64).contains(&settings.concurrency) {
            return Err(bad("concurrency is from 1 to 64".to_owned()));
        }
        if settings.timeout.is_zero() {
            return Err(bad("timeout is longer than nothing".to_owned()));
        }
        Ok(Self {
            name,
            base,
            headers,
            key_hint: match settings.keyless {
                true => format!("No key was sent. Set {}.", hints::key(name, settings)),
                false => format!("Check {}, and what the key may do.", hints::key(name, settings)),
            },
            redactor: Redactor::new(settings.key.as_ref()),
            slots: Semaphore::new(settings.concurrency),
            timeout: settings.timeout,
            retry,
            clients,
        })
    }

    /// Adds a header to every request.
    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Result<Self, BadSetting> {
        let value = HeaderValue::from_str(value).map_err(|_| BadSetting {
            provider: self.name,
            message: format!("'{}' cannot be sent as {name}", quoted(value, 64)),
        })?;
        self.headers.insert(HeaderName::from_static(name), value);
        Ok(self)
    }

    pub(crate) fn name(&self) -> ProviderName {
        self.name
    }

    /// What to do where it refuses the key.
    pub(crate) fn key_hint(&self) -> &str {
        &self.key_hint
    }

    /// `provider/model`.
    pub(crate) fn model(&self, model: &str) -> String {
        format!("{}/{model}", self.name.id())
    }

    /// How long it may be silent.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// For sentences: `OpenAI (https://api.openai.com/v1)`.
    pub(crate) fn subject(&self) -> String {
        format!("{} ({})", self.name, self.base)
    }

    /// Whether this is OpenAI itself and not a server that speaks its API.
    pub(crate) fn is_at(&self, host: &str) -> bool {
        Url::from_str(&self.base).is_ok_and(|url| url.host_str() == Some(host))
    }

    /// Text of the provider's own, made fit for a message.
    pub(crate) fn quote(&self, text: &str) -> String {
        quoted(self.redactor.redact_text(text.to_owned()).trim(), 300)
    }

    /// Sends a request and comes back with an answer whose status says that it is one. The place in the
    /// queue is held as long as the guard that comes with it.
    pub(crate) async fn post(
        &self,
        path: &str,
        body: &Bytes,
        deadline: Instant,
    ) -> Result<(Response, tokio::sync::SemaphorePermit<'_>), AttemptFailure> {
        let slot = match timeout_at(deadline, self.slots.acquire()).await {
            Ok(Ok(slot)) => slot,
            Ok(Err(_)) => return Err(AttemptFailure::internal(self, "is being shut down")),
            Err(_) => return Err(AttemptFailure::timeout(self, "is busy with requests of others")),
        };
        let url = format!("{}/{}", self.base, path.trim_start_matches('/'));
        let url = Url::from_str(&url)
            .map_err(|_| AttemptFailure::internal(self, "has an address that is not a URL"))?;
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

    /// Sends a request again and again, as far as it makes sense, and reads the answer whole.
    pub(crate) async fn ask(&self, path: &str, body: &Value, deadline: Instant) -> Result<Value, Fault> {
        let body = Bytes::from(body.to_string());
        self.with_retries(deadline, || async {
            let (response, _slot) = self.post(path, &body, deadline).await?;
            let bytes =
                events::read_body(response, deadline, MAX_BODY).await.map_err(|broken| match broken {
                    StreamError::Deadline => AttemptFailure::timeout(self, "did not answer in time"),
                    StreamError::TooLong => AttemptFailure::internal(self, "answered with more than 16 MiB"),
                    broken => AttemptFailure::broken(self, &broken),
                })?;
            serde_json::from_slice(&bytes)
                .map_err(|_| AttemptFailure::internal(self, "answered with something that is not JSON"))
        })
        .await
    }
}

impl std::fmt::Debug for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.subject())
    }
}

/// Checks an address and takes the slash from its end. Ollama's may lack the scheme and the port.
fn address(name: ProviderName, text: &str) -> Result<String, String> {
    let text = text.trim().trim_end_matches('/');
    let full = match name {
        ProviderName::Ollama if !text.contains("://") => format!("http://{text}"),
        _ => text.to_owned(),
    };
    let shown = quoted(text, 100);
    let mut url = Url::from_str(&full).map_err(|_| format!("'{shown}' is no URL"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(format!("'{shown}' is no http or https URL"));
    }
    // It would be shown in messages.
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the base URL holds a user or a password; they do not belong there".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(format!("'{shown}' has a '?' or '#', which a base URL has not"));
    }
    if name == ProviderName::Ollama && !text.contains("://") {
        if url.port().is_none() {
            let _ = url.set_port(Some(11434));
        }
        // The address a server listens at when it listens at all of them; clients go to their own machine.
        if url.host_str() == Some("0.0.0.0") {
            let _ = url.set_host(Some("127.0.0.1"));
        }
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests;
