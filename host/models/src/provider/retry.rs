//! Retries of transient failures until the deadline, with exponential backoff and full jitter or after the time that
//! the provider specifies.

use std::time::{Duration, SystemTime};

use gatehouse_core::{Fault, FaultKind};
use gatehouse_net::header::{HeaderMap, RETRY_AFTER};
use tokio::time::{Instant, sleep_until};

use super::{AttemptFailure, Provider, RetryHint};
use crate::config::RetryPolicy;

impl Provider {
    /// Repeats an attempt until it succeeds, fails permanently or runs out of retries or time.
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
            let RetryHint::After(asked) = retry else { return Err(fault) };
            failed += 1;
            let wait = wait(&self.retry, failed, asked);
            let end = Instant::now() + wait;
            if failed > self.retry.times || end >= deadline {
                return Err(given_up(fault, failed, asked.filter(|_| end >= deadline)));
            }
            tracing::debug!(target: "models", provider = self.name.id(), failed, ?wait, %fault, "retrying");
            sleep_until(end).await;
        }
    }
}

fn wait(retry: &RetryPolicy, failed: u32, asked: Option<Duration>) -> Duration {
    match asked {
        // Add jitter, so that clients rejected together do not return together.
        Some(asked) => asked.saturating_add(retry.backoff.jittered_pause(1)),
        None => retry.backoff.jittered_pause(failed),
    }
}

fn given_up(mut fault: Fault, failed: u32, asked: Option<Duration>) -> Fault {
    if let Some(asked) = asked {
        fault
            .message
            .push_str(&format!("; it asks to wait {} s, longer than the time left", asked.as_secs().max(1)));
    } else if failed > 1 {
        fault.message.push_str(&format!("; tried {failed} times"));
    }
    fault.retryable =
        matches!(fault.kind, FaultKind::Unavailable | FaultKind::Exhausted | FaultKind::TimedOut);
    fault
}

/// Parses `Retry-After`, in seconds or as a date (RFC 9110 section 10.2.3), or OpenAI's variant in milliseconds.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
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
