//! Limits on concurrent requests: per host, to protect the host, and overall, to bound memory. Principals, and then
//! gates, share both fairly.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use gatehouse_core::{
    Principal,
    fair_semaphore::{FairPermit, FairSemaphore},
    lock,
};
use gatehouse_net::Url;

const MAX_PER_GATE: usize = 24;

/// Concurrent requests per host over all gates, and so connections.
const MAX_PER_HOST: usize = 16;

const MAX_REQUESTS: usize = 128;

/// Number of hosts above which idle hosts are forgotten.
const MAX_REMEMBERED_HOSTS: usize = 256;

pub(super) struct RequestSlots {
    all: FairSemaphore,
    hosts: Mutex<HashMap<String, FairSemaphore>>,
}

/// Permits for the host, and overall.
pub(super) type RequestSlot = [FairPermit; 2];

impl RequestSlots {
    pub(super) fn new() -> Self {
        Self { all: FairSemaphore::with_max_per_sharer(MAX_REQUESTS, MAX_PER_GATE), hosts: Mutex::default() }
    }

    pub(super) async fn take(&self, principal: &Principal, gate: &Arc<str>, url: &Url) -> RequestSlot {
        // Acquire the narrower limit first: a waiting request must not block requests to other hosts.
        let host = self.host(url.origin().ascii_serialization()).acquire(principal, gate).await;
        let total = self.all.acquire(principal, gate).await;
        [host, total]
    }

    fn host(&self, origin: String) -> FairSemaphore {
        let mut hosts = lock(&self.hosts);
        if hosts.len() >= MAX_REMEMBERED_HOSTS {
            hosts.retain(|_, slots| !slots.is_idle());
        }
        hosts.entry(origin).or_insert_with(|| FairSemaphore::new(MAX_PER_HOST)).clone()
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use futures_util::poll;

    use super::*;

    fn url(n: usize) -> Url {
        Url::parse(&format!("https://host-{n}.example/")).expect("a URL")
    }

    #[tokio::test]
    async fn a_gate_that_waits_for_slow_hosts_blocks_no_other_gate() {
        let slots = RequestSlots::new();
        let (greedy, other): (Arc<str>, Arc<str>) = ("greedy".into(), "other".into());
        let mut held = Vec::new();
        for n in 0..MAX_PER_GATE {
            held.push(slots.take(&Principal::Local, &greedy, &url(n)).await);
        }
        let one = url(1_000);
        let mut more = Box::pin(slots.take(&Principal::Local, &greedy, &one));
        assert!(poll!(&mut more).is_pending(), "its share is used up");
        assert!(matches!(poll!(Box::pin(slots.take(&Principal::Local, &other, &one))), Poll::Ready(_)));
        held.pop();
        assert!(matches!(poll!(&mut more), Poll::Ready(_)), "a released slot is free");
    }

    #[tokio::test]
    async fn a_gate_takes_at_most_half_of_a_hosts_slots() {
        let slots = RequestSlots::new();
        let (greedy, other): (Arc<str>, Arc<str>) = ("greedy".into(), "other".into());
        let mut held = Vec::new();
        while let Poll::Ready(slot) = poll!(Box::pin(slots.take(&Principal::Local, &greedy, &url(0)))) {
            held.push(slot);
        }
        assert_eq!(held.len(), MAX_PER_HOST / 2);
        assert!(matches!(poll!(Box::pin(slots.take(&Principal::Local, &other, &url(0)))), Poll::Ready(_)));
    }
}
