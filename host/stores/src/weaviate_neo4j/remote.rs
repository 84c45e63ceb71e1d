//! One of the two servers behind the engine: how its failures are told, and when it is left alone after one.
//!
//! After a failure to reach it, calls fail at once with the same cause until it is time to try again. The pauses
//! grow, and end with the first success, so a server that comes back is found without a restart.

use std::time::Duration;

use gatehouse_core::{Fault, http::Redactor, names::quoted};
use gatehouse_net::{Backoff, CircuitBreaker};

/// Longest cause in a message, in characters.
const MAX_CAUSE_CHARS: usize = 300;

/// A server, its address and its last failure.
pub(super) struct RemoteServer {
    /// `neo4j` or `weaviate`.
    name: &'static str,
    /// Without credentials.
    address: String,
    /// What to do when it cannot be reached.
    hint: &'static str,
    /// Takes credentials out of what the server says.
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

    /// Where it is, without credentials.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Refuses while it is left alone.
    pub(super) fn check(&self) -> Result<(), Fault> {
        self.breaker.check().map_err(|(cause, wait)| {
            let wait = wait.as_secs_f64().ceil();
            self.unavailable(&format!("{cause}; next try in {wait} s"))
        })
    }

    /// It answered.
    pub(super) fn record_success(&self) {
        self.breaker.record_success();
    }

    /// It could not be reached; it is left alone for a while.
    pub(super) fn record_failure(&self, cause: &str) -> Fault {
        self.breaker.record_failure(self.redact(cause));
        self.unavailable(cause)
    }

    /// A fault that names this server and its address.
    pub(super) fn unavailable(&self, cause: &str) -> Fault {
        Fault::unavailable(self.error_message(cause)).hint(self.hint)
    }

    /// The same with its own next step; asking again does not help.
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
