//! Errors and circuit breaker of a remote server.
//!
//! After a connection failure, calls fail immediately with the same cause until the next try is due. The delay grows
//! with each failure and resets with a success, so a restart is not needed.

use std::time::Duration;

use gatehouse_core::{Fault, http::Redactor, names::quoted};
use gatehouse_net::{Backoff, CircuitBreaker};

const MAX_CAUSE_CHARS: usize = 300;

pub(super) struct RemoteServer {
    name: &'static str,
    address: String,
    hint: &'static str,
    redactor: Redactor,
    breaker: CircuitBreaker<String>,
}

impl RemoteServer {
    pub(super) fn new(
        (name, address, hint): (&'static str, String, &'static str),
        redactor: Redactor,
        (first, longest): (Duration, Duration),
    ) -> Self {
        let breaker = CircuitBreaker::new(Backoff { first, longest });
        Self { name, address, hint, redactor, breaker }
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Fails while the circuit breaker is open.
    pub(super) fn check(&self) -> Result<(), Fault> {
        self.breaker.check().map_err(|(cause, wait)| {
            let wait = wait.as_secs_f64().ceil();
            self.unavailable(&format!("{cause}; next try in {wait} s"))
        })
    }

    pub(super) fn record_success(&self) {
        self.breaker.record_success();
    }

    pub(super) fn record_failure(&self, cause: &str) -> Fault {
        self.breaker.record_failure(self.redact(cause));
        self.unavailable(cause)
    }

    pub(super) fn unavailable(&self, cause: &str) -> Fault {
        Fault::unavailable(self.error_message(cause)).hint(self.hint)
    }

    /// Returns a fault that must not be retried.
    pub(super) fn refused(&self, cause: &str, hint: &str) -> Fault {
        Fault { retryable: false, ..Fault::unavailable(self.error_message(cause)).hint(hint) }
    }

    fn error_message(&self, cause: &str) -> String {
        format!("knowledge engine '{}' at {}: {}", self.name, self.address, self.redact(cause))
    }

    fn redact(&self, cause: &str) -> String {
        quoted(&self.redactor.redact_text(cause.to_owned()), MAX_CAUSE_CHARS)
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_core::{FaultKind, http::Secret};

    use super::*;

    fn server() -> RemoteServer {
        let pauses = (Duration::from_secs(1), Duration::from_secs(4));
        let redactor = Redactor::new([&Secret::new("s3cret-password")]);
        RemoteServer::new(("neo4j", "bolt://localhost:7687".into(), "Start it."), redactor, pauses)
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_failure_it_is_left_alone_for_a_while() {
        let server = server();
        assert!(server.check().is_ok());
        server.record_failure("connection refused");
        let fault = server.check().expect_err("left alone");
        assert_eq!(fault.kind, FaultKind::Unavailable);
        assert_eq!(
            fault.message,
            "knowledge engine 'neo4j' at bolt://localhost:7687: connection refused; next try in 1 s"
        );
        server.record_success();
        assert!(server.check().is_ok());
    }

    #[test]
    fn credentials_never_show() {
        let fault = server().unavailable("login with s3cret-password\nfailed");
        assert!(fault.message.ends_with("login with [redacted] failed"), "{}", fault.message);
    }
}
