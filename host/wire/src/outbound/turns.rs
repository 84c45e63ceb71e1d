//! How many requests run at the same time: of one gate, so that it leaves room for the others; to one host, so
//! that gates do not storm it; and in all, so that answers on their way do not fill the memory. Further ones
//! wait until their time is up.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use gatehouse_core::Fault;
use reqwest::Url;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Requests of one gate at the same time. Fewer than there are lookups of names, and a fraction of all, so
/// that one gate with slow hosts stands in nobody's way.
const PER_GATE: usize = 24;

/// Requests to one host at the same time, over all gates; as many connections.
const PER_HOST: usize = 16;

/// Requests at the same time.
const IN_ALL: usize = 128;

/// Names that are remembered before those that nobody waits for are forgotten.
const REMEMBERED: usize = 256;

pub(super) struct Turns {
    all: Arc<Semaphore>,
    gates: Shares,
    hosts: Shares,
}

/// A turn, over when it is dropped.
pub(super) struct Turn {
    _gate: OwnedSemaphorePermit,
    _host: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

/// As many turns for each name.
struct Shares {
    each: usize,
    names: Mutex<HashMap<String, Arc<Semaphore>>>,
}

impl Turns {
    pub(super) fn new() -> Self {
        let shares = |each| Shares { each, names: Mutex::default() };
        Self { all: Arc::new(Semaphore::new(IN_ALL)), gates: shares(PER_GATE), hosts: shares(PER_HOST) }
    }

    /// Waits for a turn of this gate with the host of this URL.
    pub(super) async fn take(&self, gate: &str, url: &Url) -> Result<Turn, Fault> {
        let closed = |_| Fault::unavailable("The HTTP client is closing.");
        // From the narrowest to the widest: who waits must not keep others from what they need.
        let gate = self.gates.of(gate.to_owned()).acquire_owned().await.map_err(closed)?;
        let host = self.hosts.of(url.origin().ascii_serialization()).acquire_owned().await.map_err(closed)?;
        let all = Arc::clone(&self.all).acquire_owned().await.map_err(closed)?;
        Ok(Turn { _gate: gate, _host: host, _all: all })
    }
}

impl Shares {
    fn of(&self, name: String) -> Arc<Semaphore> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() >= REMEMBERED {
            names.retain(|_, turns| Arc::strong_count(turns) > 1 || turns.available_permits() < self.each);
        }
        Arc::clone(names.entry(name).or_insert_with(|| Arc::new(Semaphore::new(self.each))))
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use futures_util::poll;

    use super::*;

    #[tokio::test]
    async fn a_gate_that_waits_for_slow_hosts_stands_in_nobodys_way() {
        let turns = Turns::new();
        let url = |n: usize| Url::parse(&format!("https://host-{n}.example/")).expect("a URL");
        let mut held = Vec::new();
        for n in 0..PER_GATE {
            held.push(turns.take("greedy", &url(n)).await.expect("a turn"));
        }
        let one = url(1_000);
        let mut more = Box::pin(turns.take("greedy", &one));
        assert!(poll!(&mut more).is_pending(), "its share is taken");
        assert!(matches!(poll!(Box::pin(turns.take("other", &one))), Poll::Ready(Ok(_))));
        held.pop();
        assert!(matches!(poll!(&mut more), Poll::Ready(Ok(_))), "a turn that is over is free");
    }
}
