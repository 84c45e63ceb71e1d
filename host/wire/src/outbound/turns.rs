//! How many requests run at the same time: to one host, so that gates do not storm it, and in all, so that
//! answers on their way do not fill the memory. Further ones wait until their time is up.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use gatehouse_core::Fault;
use reqwest::Url;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Requests to one host at the same time, over all gates; as many connections.
const PER_HOST: usize = 16;

/// Requests at the same time.
const IN_ALL: usize = 128;

/// Hosts that are remembered before those that nobody waits for are forgotten.
const REMEMBERED: usize = 256;

pub(super) struct Turns {
    all: Arc<Semaphore>,
    hosts: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// A turn, over when it is dropped.
pub(super) struct Turn {
    _host: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Turns {
    pub(super) fn new() -> Self {
        Self { all: Arc::new(Semaphore::new(IN_ALL)), hosts: Mutex::default() }
    }

    /// Waits for a turn with the host of this URL.
    pub(super) async fn take(&self, url: &Url) -> Result<Turn, Fault> {
        let closed = |_| Fault::unavailable("The HTTP client is closing.");
        // The host's turn first: who waits for a slow host must not keep others from theirs.
        let host = self.host(url).acquire_owned().await.map_err(closed)?;
        let all = Arc::clone(&self.all).acquire_owned().await.map_err(closed)?;
        Ok(Turn { _host: host, _all: all })
    }

    fn host(&self, url: &Url) -> Arc<Semaphore> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() >= REMEMBERED {
            hosts.retain(|_, turns| Arc::strong_count(turns) > 1);
        }
        let turns = hosts.entry(url.origin().ascii_serialization());
        Arc::clone(turns.or_insert_with(|| Arc::new(Semaphore::new(PER_HOST))))
    }
}
