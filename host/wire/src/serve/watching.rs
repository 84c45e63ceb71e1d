//! Clients that watch resources: told when what stands at an address changes by itself, as far as its source knows when. With a
//! session they ask for it address by address; since 2026-07-28 a subscription names the addresses.

use std::{collections::HashMap, sync::Mutex, time::Duration};

use gatehouse_core::{Fault, Principal, lock, names::quoted};
use rmcp::{ErrorData, RoleServer, model::ResourceUpdatedNotificationParam, service::Peer};
use tokio::task::AbortHandle;

use super::{handler::Handler, resources};

/// The most addresses that one client watches.
pub(super) const MOST: usize = 256;

/// The least time between two looks at one address, whatever its source says.
const LEAST: Duration = Duration::from_millis(100);

/// What one client with a session watches.
#[derive(Default)]
pub(super) struct Watched(Mutex<HashMap<String, AbortHandle>>);

impl Watched {
    /// Watches an address until the client takes that back or is gone.
    pub(super) async fn begin(
        &self,
        handler: &Handler,
        principal: Principal,
        peer: Peer<RoleServer>,
        uri: String,
    ) -> Result<(), ErrorData> {
        // Nobody watches what they cannot read.
        handler.changes_in(&principal, &uri).await.map_err(|fault| resources::refused(&uri, &fault))?;
        let mut watched = lock(&self.0);
        watched.retain(|_, task| !task.is_finished());
        if watched.len() >= MOST && !watched.contains_key(&uri) {
            let fault = Fault::exhausted(format!("A client watches at most {MOST} resources."));
            return Err(resources::refused(&uri, &fault));
        }
        let (handler, watching) = (handler.for_another_client(), uri.clone());
        let task = tokio::spawn(async move {
            while handler.changed(&principal, &watching).await {
                let updated = ResourceUpdatedNotificationParam::new(watching.clone());
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

impl Drop for Watched {
    fn drop(&mut self) {
        lock(&self.0).values().for_each(AbortHandle::abort);
    }
}

impl Handler {
    /// Waits until what stands at an address has changed; false where nobody knows when it will, or nothing is there.
    pub(super) async fn changed(&self, principal: &Principal, uri: &str) -> bool {
        match self.changes_in(principal, uri).await {
            Ok(Some(time)) => {
                tokio::time::sleep(time.max(LEAST)).await;
                true
            }
            Ok(None) => false,
            Err(fault) => {
                tracing::debug!(uri = quoted(uri, 128), "watched no more: {}", fault.in_one_line());
                false
            }
        }
    }
}
