//! One of the two servers behind the engine: how its failures are told, and when it is left alone after one.
//!
//! After a failure to reach it, calls fail at once with the same cause until it is time to try again. The pauses
//! grow, and end with the first success, so a server that comes back is found without a restart.

use std::{
    error::Error,
    io,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use gatehouse_core::{Fault, http::Redactor, names::quoted};
use tokio::time::Instant;

/// Longest cause in a message, in characters.
const SHOWN: usize = 300;

/// A server, its address and its last failure.
pub(super) struct Half {
    /// `neo4j` or `weaviate`.
    name: &'static str,
    /// Without credentials.
    address: String,
    /// What to do when it cannot be reached.
    hint: &'static str,
    /// Takes credentials out of what the server says.
    redactor: Redactor,
    first: Duration,
    longest: Duration,
    failure: Mutex<Option<Failure>>,
}

/// Why it could not be reached, and until when that is taken for granted.
struct Failure {
    cause: String,
    pause: Duration,
    until: Instant,
}

impl Half {
    pub(super) fn new(
        (name, address, hint): (&'static str, String, &'static str),
        redactor: Redactor,
        (first, longest): (Duration, Duration),
    ) -> Self {
        Self { name, address, hint, redactor, first, longest, failure: Mutex::default() }
    }

    /// Where it is, without credentials.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Refuses while it is left alone.
    pub(super) fn enter(&self) -> Result<(), Fault> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        match &*failure {
            Some(failure) if failure.until > Instant::now() => {
                let wait = (failure.until - Instant::now()).as_secs_f64().ceil();
                Err(self.unavailable(&format!("{}; next try in {wait} s", failure.cause)))
            }
            _ => Ok(()),
        }
    }

    /// It answered.
    pub(super) fn reached(&self) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// It could not be reached; it is left alone for a while.
    pub(super) fn failed(&self, cause: &str) -> Fault {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let pause = match &*failure {
            // Calls that were under way together failed together: that is one failure.
            Some(earlier) if earlier.until > now => earlier.pause,
            Some(earlier) => (earlier.pause * 2).min(self.longest),
            None => self.first,
        };
        *failure = Some(Failure { cause: self.clean(cause), pause, until: now + pause });
        drop(failure);
        self.unavailable(cause)
    }

    /// A fault that names this server and its address.
    pub(super) fn unavailable(&self, cause: &str) -> Fault {
        Fault::unavailable(self.said(cause)).hint(self.hint)
    }

    /// The same with its own next step; asking again does not help.
    pub(super) fn refused(&self, cause: &str, hint: &str) -> Fault {
        Fault { retryable: false, ..Fault::unavailable(self.said(cause)).hint(hint) }
    }

    fn said(&self, cause: &str) -> String {
        format!("knowledge engine '{}' at {}: {}", self.name, self.address, self.clean(cause))
    }

    fn clean(&self, cause: &str) -> String {
        quoted(&self.redactor.text(cause.to_owned()), SHOWN)
    }
}

/// What an error comes from, in plain words.
pub(super) fn cause(error: &(dyn Error + 'static)) -> String {
    let mut deepest = error;
    loop {
        if let Some(io) = deepest.downcast_ref::<io::Error>()
            && let Some(words) = plain(io.kind())
        {
            return words.to_owned();
        }
        match deepest.source() {
            Some(deeper) => deepest = deeper,
            None => return deepest.to_string(),
        }
    }
}

fn plain(kind: io::ErrorKind) -> Option<&'static str> {
    Some(match kind {
        io::ErrorKind::ConnectionRefused => "connection refused",
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => "the connection was cut",
        io::ErrorKind::UnexpectedEof => "the connection was closed in the middle of an answer",
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => "no route to it",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use gatehouse_core::{FaultKind, http::Secret};

    use super::*;

    fn half() -> Half {
        let pauses = (Duration::from_secs(1), Duration::from_secs(4));
        let redactor = Redactor::new([&Secret::new("s3cret-password")]);
        Half::new(("neo4j", "bolt://localhost:7687".into(), "Start it."), redactor, pauses)
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_to_a_bound_and_end_with_success() {
        let half = half();
        let mut pauses = Vec::new();
        for _ in 0..4 {
            assert!(half.enter().is_ok());
            half.failed("connection refused");
            let fault = half.enter().expect_err("left alone");
            assert_eq!(fault.kind, FaultKind::Unavailable);
            let before = Instant::now();
            while half.enter().is_err() {
                tokio::time::advance(Duration::from_millis(100)).await;
            }
            pauses.push((Instant::now() - before).as_secs_f64().round());
        }
        assert_eq!(pauses, [1.0, 2.0, 4.0, 4.0]);
        half.reached();
        half.failed("connection refused");
        let fault = half.enter().expect_err("left alone");
        assert_eq!(
            fault.message,
            "knowledge engine 'neo4j' at bolt://localhost:7687: connection refused; next try in 1 s"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn failures_at_the_same_time_are_one() {
        let half = half();
        for _ in 0..10 {
            half.failed("connection refused");
        }
        tokio::time::advance(Duration::from_millis(1001)).await;
        assert!(half.enter().is_ok());
    }

    #[test]
    fn credentials_never_show() {
        let fault = half().unavailable("login with s3cret-password\nfailed");
        assert!(fault.message.ends_with("login with [redacted] failed"), "{}", fault.message);
    }
}
