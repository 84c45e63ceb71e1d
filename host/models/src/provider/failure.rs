//! Maps errors of providers to faults, and retries transient ones until the deadline.

use std::time::{Duration, SystemTime};

use gatehouse_core::{Fault, FaultKind};
use gatehouse_net::{
    Error as HttpError, Response, StatusCode,
    header::{HeaderMap, RETRY_AFTER},
    http_cause,
};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::{Provider, StreamError, events};
use crate::config::{ProviderName, RetryPolicy};

const MAX_ERROR: usize = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryHint {
    Never,
    /// Retry, after this time if the provider specified one.
    After(Option<Duration>),
}

#[derive(Debug)]
pub(crate) struct AttemptFailure {
    pub(crate) fault: Fault,
    pub(crate) retry: RetryHint,
}

impl AttemptFailure {
    pub(crate) fn permanent(fault: Fault) -> Self {
        Self { fault, retry: RetryHint::Never }
    }

    /// Returns `true` if the model refused to answer, which discards its earlier text.
    pub(crate) fn is_refusal(&self) -> bool {
        self.fault.kind == FaultKind::Denied
    }

    fn transient(fault: Fault) -> Self {
        Self { fault, retry: RetryHint::After(None) }
    }

    pub(crate) fn internal(provider: &Provider, what: &str) -> Self {
        let fault = Fault::internal(format!("{} {what}", provider.subject()));
        Self::permanent(fault.hint("Check that base_url in [models] is the URL of the provider's API."))
    }

    pub(crate) fn timeout(provider: &Provider, what: &str) -> Self {
        Self::permanent(Fault::new(FaultKind::TimedOut, format!("{} {what}", provider.subject())))
    }

    /// The connection stayed open without data.
    pub(crate) fn silent(provider: &Provider) -> Self {
        let seconds = provider.timeout().as_secs_f32();
        Self::transient(
            Fault::new(FaultKind::TimedOut, format!("{} was silent for {seconds} s", provider.subject()))
                .hint("Raise timeout in [models], or use a faster model."),
        )
    }

    pub(crate) fn broken(provider: &Provider, broken: &StreamError) -> Self {
        match broken {
            StreamError::Deadline => Self::timeout(provider, "did not finish in time"),
            StreamError::Silent => Self::silent(provider),
            StreamError::TooLong => Self::internal(provider, "sent a line that is too long"),
            StreamError::Connection(reason) => {
                let (subject, reason) = (provider.subject(), provider.quote(reason));
                Self::transient(Fault::unavailable(format!("{subject} ended the response early: {reason}")))
            }
        }
    }

    pub(crate) fn unreachable(provider: &Provider, error: HttpError) -> Self {
        let reason = provider.quote(&http_cause(error));
        let hint = match provider.name() {
            ProviderName::Ollama => "Start Ollama, or correct OLLAMA_HOST.",
            _ => "Check the network and base_url in [models].",
        };
        Self::transient(
            Fault::unavailable(format!("{} cannot be reached: {reason}", provider.subject())).hint(hint),
        )
    }

    pub(crate) fn refused(provider: &Provider, reason: &str) -> Self {
        let reason = provider.quote(reason);
        let colon = if reason.is_empty() { "" } else { ": " };
        let message = format!("{} refused to answer{colon}{reason}", provider.subject());
        Self::permanent(
            Fault::denied(message.trim_end())
                .hint("Rephrase the prompt, or choose another model in [models]."),
        )
    }

    pub(crate) async fn from_response(provider: &Provider, response: Response, deadline: Instant) -> Self {
        let status = response.status();
        let retry_delay = retry_after(response.headers(), SystemTime::now());
        let body = events::read_body(response, deadline, MAX_ERROR).await.unwrap_or_default();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        Self::from_error_body(provider, status.as_u16(), &body, retry_delay)
    }

    /// Parses `{"error": "…"}` or `{"error": {"message", "code", "type", "status"}}`, which Gemini's proxies put into a
    /// list.
    pub(crate) fn from_error_body(
        provider: &Provider,
        status: u16,
        body: &Value,
        retry_delay: Option<Duration>,
    ) -> Self {
        let body = body.get(0).unwrap_or(body);
        let error = body.get("error").unwrap_or(body);
        let text = |key: &str| error[key].as_str().unwrap_or_default();
        let message = error.as_str().unwrap_or(text("message"));
        let codes = [text("code"), text("type"), text("status")];
        let is = |code: &str| codes.contains(&code);
        let colon = if message.is_empty() { String::new() } else { format!(": {}", provider.quote(message)) };
        let words =
            |problem: &str| format!("{} {problem}{}", provider.subject(), colon.trim_end_matches('.'));
        // Gemini reports an invalid key with status 400.
        let key = matches!(status, 401 | 403) || body.to_string().contains("API_KEY_INVALID");
        if key || is("authentication_error") || is("permission_error") || is("invalid_api_key") {
            return Self::permanent(Fault::denied(words("rejected the key")).hint(provider.key_hint()));
        }
        if is("insufficient_quota") || is("billing_error") || status == 402 {
            let fault = Fault::exhausted(words("has no quota left for the key"));
            return Self::permanent(fault.hint("Check the plan and the billing of the account."));
        }
        if status == 429 || is("rate_limit_error") || is("rate_limit_exceeded") || is("RESOURCE_EXHAUSTED") {
            let fault = Fault::exhausted(words("rate-limited this key"));
            let fault = fault.hint("Wait a while, or lower concurrency in [models].");
            return Self { fault: Fault { retryable: true, ..fault }, retry: RetryHint::After(retry_delay) };
        }
        if status == 413 || is("context_length_exceeded") || is("request_too_large") {
            let fault = Fault::exhausted(words("rejected the prompt as too long"));
            return Self::permanent(
                fault.hint("Send less text, or choose a model with a larger context in [models]."),
            );
        }
        let passes = is("overloaded_error") || is("server_error") || is("api_error") || is("timeout_error");
        if matches!(status, 408 | 409 | 425) || status >= 500 || passes || is("UNAVAILABLE") || is("INTERNAL")
        {
            let status_text = if status >= 400 { format!(" ({status})") } else { String::new() };
            let fault = Fault::unavailable(words(&format!("reported an internal error{status_text}")));
            return Self { fault: fault.hint("Try again later."), retry: RetryHint::After(retry_delay) };
        }
        let fault = match (status, provider.name()) {
            (404, ProviderName::Ollama) => Fault::unavailable(words("has no such model or path"))
                .hint("Run `ollama pull`, or choose another model in [models]."),
            (404, _) => Fault::unavailable(words("has no such model or path"))
                .hint("Check the name of the model and base_url in [models]."),
            (300..400, _) => {
                Fault::unavailable(format!("{} redirects elsewhere ({status})", provider.subject()))
                    .hint("Set base_url in [models] to the new location; keys are not sent to redirects.")
            }
            _ => {
                let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
                let reason = reason.map(|reason| format!(" ({status} {reason})")).unwrap_or_default();
                Fault::internal(words(&format!("rejected the request{reason}")))
                    .hint("Check the name of the model in [models].")
            }
        };
        Self::permanent(Fault { retryable: false, ..fault })
    }
}

impl Provider {
    /// Repeats an attempt until it succeeds, fails permanently or runs out of retries or time. Between attempts it waits
    /// with exponential backoff and full jitter, or as long as the provider specifies.
    pub(crate) async fn with_retries<T, F, Fut>(&self, deadline: Instant, mut attempt: F) -> Result<T, Fault>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<T, AttemptFailure>>,
    {
        let mut failed = 0;
        loop {
            let AttemptFailure { fault, retry } = match attempt().await {
                Ok(done) => return Ok(done),
                Err(failure) => failure,
            };
            let RetryHint::After(retry_delay) = retry else { return Err(fault) };
            failed += 1;
            let wait = wait(&self.retry, failed, retry_delay);
            let end = Instant::now() + wait;
            if failed > self.retry.times || end >= deadline {
                return Err(given_up(fault, failed, retry_delay.filter(|_| end >= deadline)));
            }
            tracing::debug!(target: "models", provider = self.name.id(), failed, ?wait, %fault, "retrying");
            sleep_until(end).await;
        }
    }
}

fn wait(retry: &RetryPolicy, failed: u32, retry_delay: Option<Duration>) -> Duration {
    match retry_delay {
        // Add jitter, so that clients rejected together do not return together.
        Some(retry_delay) => retry_delay.saturating_add(retry.backoff.jittered_pause(1)),
        None => retry.backoff.jittered_pause(failed),
    }
}

fn given_up(mut fault: Fault, failed: u32, retry_delay: Option<Duration>) -> Fault {
    if let Some(retry_delay) = retry_delay {
        fault.message.push_str(&format!(
            "; it asks to wait {} s, longer than the time left",
            retry_delay.as_secs().max(1)
        ));
    } else if failed > 1 {
        fault.message.push_str(&format!("; tried {failed} times"));
    }
    fault.retryable =
        matches!(fault.kind, FaultKind::Unavailable | FaultKind::Exhausted | FaultKind::TimedOut);
    fault
}

/// Parses `Retry-After`, in seconds or as a date (RFC 9110 section 10.2.3), or OpenAI's variant in milliseconds.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
    if let Some(milliseconds) = text("retry-after-ms").and_then(number) {
        return Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
    }
    let value = text(RETRY_AFTER.as_str())?;
    match number(value) {
        Some(seconds) => Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)),
        None => Some(httpdate::parse_http_date(value).ok()?.duration_since(now).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn what_is_asked_for_is_read_in_every_spelling() {
        let at = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            retry_after(&headers, UNIX_EPOCH + Duration::from_secs(784_111_777 - 30))
        };
        assert_eq!(at("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(at("retry-after", " 0.5 "), Some(Duration::from_millis(500)));
        assert_eq!(at("retry-after-ms", "1500"), Some(Duration::from_millis(1500)));
        // 784,111,777 seconds after 1970.
        assert_eq!(at("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::from_secs(30)));
        assert_eq!(at("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"), Some(Duration::ZERO));
        assert_eq!(at("retry-after", "1e300"), Some(Duration::MAX));
        for nonsense in ["", "soon", "-1", "NaN", "inf"] {
            assert_eq!(at("retry-after", nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn who_is_asked_to_wait_waits_a_little_longer() {
        let asked = wait(&RetryPolicy::default(), 1, Some(Duration::from_secs(60)));
        assert!((Duration::from_secs(60)..Duration::from_secs(61)).contains(&asked), "{asked:?}");
        assert_eq!(wait(&RetryPolicy::default(), 1, Some(Duration::MAX)), Duration::MAX);
    }
}
