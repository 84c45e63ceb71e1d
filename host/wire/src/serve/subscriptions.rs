//! Clients that watch resources: told when what stands at an address changes, as far as its source knows when, or tells. With a
//! session they ask for it address by address; since 2026-07-28 a subscription names the addresses.

use std::{collections::HashMap, sync::Mutex, time::Duration};

use gatehouse_core::{Fault, FaultKind, Principal, lock, names::quoted};
use rmcp::{ErrorData, RoleServer, model::ResourceUpdatedNotificationParam, service::Peer};
use tokio::{sync::watch, task::AbortHandle, time::Instant};

use super::{handler::Handler, resources};

/// The most addresses that one client watches.
pub(super) const MAX_SUBSCRIPTIONS: usize = 256;

/// The least time between two looks at one address, and between two news of it, whatever its source says.
const MIN_UPDATE_INTERVAL: Duration = Duration::from_millis(100);

/// The waits before a source that is gone is asked again: doubling from the first to the longest.
const MIN_RETRY_WAIT: Duration = Duration::from_secs(1);
const MAX_RETRY_WAIT: Duration = Duration::from_secs(60);

/// What one client with a session watches.
#[derive(Default)]
pub(super) struct ResourceSubscriptions(Mutex<HashMap<String, AbortHandle>>);

impl ResourceSubscriptions {
    /// Watches an address until the client takes that back or is gone.
    pub(super) async fn begin(
        &self,
        handler: &Handler,
        principal: Principal,
        peer: Peer<RoleServer>,
        uri: String,
    ) -> Result<(), ErrorData> {
        // Nobody watches what they cannot read.
        let mut watch = ResourceWatch::new(uri.clone());
        watch.begin(handler, &principal).await.map_err(|fault| resources::refused(&uri, &fault))?;
        let mut watched = lock(&self.0);
        watched.retain(|_, task| !task.is_finished());
        if watched.len() >= MAX_SUBSCRIPTIONS && !watched.contains_key(&uri) {
            let fault = Fault::exhausted(format!("A client watches at most {MAX_SUBSCRIPTIONS} resources."));
            return Err(resources::refused(&uri, &fault));
        }
        let handler = handler.for_another_client();
        let task = tokio::spawn(async move {
            while let Some(changed) = watch.changed(&handler, &principal).await {
                watch = changed;
                let updated = ResourceUpdatedNotificationParam::new(watch.uri.clone());
                if peer.notify_resource_updated(updated).await.is_err() {
                    return;
                }
            }
        });
        if let Some(before) = watched.insert(uri, task.abort_handle()) {
            before.abort();
        }
        Ok(())
    }

    /// Watches it no more; nothing where it did not.
    pub(super) fn end(&self, uri: &str) {
        if let Some(task) = lock(&self.0).remove(uri) {
            task.abort();
        }
    }
}

impl Drop for ResourceSubscriptions {
    fn drop(&mut self) {
        lock(&self.0).values().for_each(AbortHandle::abort);
    }
}

/// One address that one client watches.
pub(super) struct ResourceWatch {
    uri: String,
    /// Counts what its source tells.
    told: Option<watch::Receiver<u64>>,
    /// The earliest time for the next news.
    next: Instant,
    /// Set where the source is gone that told: what happens meanwhile nobody tells.
    missed: bool,
}

impl ResourceWatch {
    /// Nobody has been asked yet.
    pub(super) fn new(uri: String) -> Self {
        Self { uri, told: None, next: Instant::now(), missed: false }
    }

    pub(super) fn uri(&self) -> &str {
        &self.uri
    }

    /// Has the source tell, where it does, and gives in how long it knows of a change.
    async fn begin(&mut self, handler: &Handler, principal: &Principal) -> Result<Option<Duration>, Fault> {
        let known = handler.next_change(principal, &self.uri).await?;
        if self.told.is_none() {
            self.told = handler.follow(principal, &self.uri).await?;
        }
        Ok(known)
    }

    /// Waits until what stands there has changed; none where nobody will know, or nothing is there.
    pub(super) async fn changed(mut self, handler: &Handler, principal: &Principal) -> Option<Self> {
        let mut wait = MIN_RETRY_WAIT;
        loop {
            let known = match self.begin(handler, principal).await {
                Ok(known) => known,
                Err(fault) if self.missed && fault.kind == FaultKind::Unavailable => {
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(MAX_RETRY_WAIT);
                    continue;
                }
                Err(fault) => {
                    tracing::debug!(uri = quoted(&self.uri, 128), "watched no more: {}", fault.in_one_line());
                    return None;
                }
            };
            if known.is_none() && self.told.is_none() && !self.missed {
                return None;
            }
            if std::mem::take(&mut self.missed) || self.wait_for_update(known).await {
                tokio::time::sleep_until(self.next).await;
                if let Some(told) = &mut self.told {
                    // What was told meanwhile is the same news.
                    told.borrow_and_update();
                }
                self.next = Instant::now() + MIN_UPDATE_INTERVAL;
                return Some(self);
            }
            (self.told, self.missed) = (None, true);
        }
    }

    /// Waits for the known time, or until the source tells; false where it is gone.
    async fn wait_for_update(&mut self, known: Option<Duration>) -> bool {
        let by_itself = async {
            match known {
                Some(time) => tokio::time::sleep(time.max(MIN_UPDATE_INTERVAL)).await,
                None => std::future::pending().await,
            }
        };
        match &mut self.told {
            None => {
                by_itself.await;
                true
            }
            Some(told) => tokio::select! {
                told = told.changed() => told.is_ok(),
                () = by_itself => true,
            },
        }
    }
}
