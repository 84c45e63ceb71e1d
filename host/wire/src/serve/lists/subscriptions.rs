//! Subscriptions to resources. Sources report changes or know the time of the next one.
//!
//! Clients with a session subscribe to each URI. Since 2026-07-28, a subscription lists its URIs.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use gatehouse_core::{Caller, Fault, FaultKind, lock, names::quoted};
use rmcp::{
    ErrorData, RoleServer,
    model::ResourceUpdatedNotificationParam,
    service::{Peer, SubscriptionContext},
};
use tokio::{sync::watch, task::AbortHandle, time::Instant};

use crate::serve::{handler::Handler, requests::reply::fault_to_error};

/// Maximum subscribed resources per client.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 256;

/// Minimum interval between checks of a resource, and between notifications for it.
const MIN_UPDATE_INTERVAL: Duration = Duration::from_millis(100);

/// Backoff range while a source is unavailable. The wait doubles after each attempt.
const MIN_RETRY_WAIT: Duration = Duration::from_secs(1);
const MAX_RETRY_WAIT: Duration = Duration::from_secs(60);

/// Subscriptions of one client with a session.
#[derive(Default)]
pub(crate) struct ResourceSubscriptions(Mutex<HashMap<String, AbortHandle>>);

impl ResourceSubscriptions {
    /// Subscribes until the client unsubscribes or disconnects.
    pub(in crate::serve) async fn subscribe(
        &self,
        handler: &Handler,
        caller: Arc<Caller>,
        peer: Peer<RoleServer>,
        uri: String,
    ) -> Result<(), ErrorData> {
        // Fail now if the client cannot read the resource.
        let mut watch = ResourceWatch::new(uri.clone());
        watch.watch(handler, &caller).await.map_err(|fault| fault_to_error(&fault, Some(&uri)))?;
        let mut watched = lock(&self.0);
        watched.retain(|_, task| !task.is_finished());
        if watched.len() >= MAX_SUBSCRIPTIONS && !watched.contains_key(&uri) {
            let fault = Fault::exhausted(format!(
                "too many subscribed resources; the limit is {MAX_SUBSCRIPTIONS} per client"
            ));
            return Err(fault_to_error(&fault, Some(&uri)));
        }
        let handler = handler.for_another_client();
        let task = tokio::spawn(async move {
            while let Some(changed) = watch.next_change(&handler, &caller).await {
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

    pub(crate) fn unsubscribe(&self, uri: &str) {
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

/// A watch on one resource for one client.
pub(crate) struct ResourceWatch {
    uri: String,
    /// Changes reported by the source.
    reports: Option<watch::Receiver<u64>>,
    next_notification: Instant,
    /// True if the connection to the source was lost, so changes may have been missed.
    missed: bool,
}

impl ResourceWatch {
    pub(crate) fn new(uri: String) -> Self {
        Self { uri, reports: None, next_notification: Instant::now(), missed: false }
    }

    pub(crate) fn uri(&self) -> &str {
        &self.uri
    }

    /// Watches the source if it reports changes. Returns the time until the next change, if known.
    async fn watch(&mut self, handler: &Handler, caller: &Arc<Caller>) -> Result<Option<Duration>, Fault> {
        let ttl = handler.resource_ttl(caller, &self.uri).await?;
        if self.reports.is_none() {
            self.reports = handler.watch_resource(caller, &self.uri).await?;
        }
        Ok(ttl)
    }

    /// Waits until the resource changes. `None` if changes cannot be detected or the resource is gone.
    pub(crate) async fn next_change(mut self, handler: &Handler, caller: &Arc<Caller>) -> Option<Self> {
        let mut wait = MIN_RETRY_WAIT;
        loop {
            let ttl = match self.watch(handler, caller).await {
                Ok(ttl) => ttl,
                Err(fault) if self.missed && fault.kind == FaultKind::Unavailable => {
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(MAX_RETRY_WAIT);
                    continue;
                }
                Err(fault) => {
                    tracing::debug!(
                        uri = quoted(&self.uri, 128),
                        "subscription ended: {}",
                        fault.in_one_line()
                    );
                    return None;
                }
            };
            if ttl.is_none() && self.reports.is_none() && !self.missed {
                return None;
            }
            if std::mem::take(&mut self.missed) || self.wait_for_update(ttl).await {
                tokio::time::sleep_until(self.next_notification).await;
                if let Some(reports) = &mut self.reports {
                    // Changes up to now are part of this notification.
                    reports.borrow_and_update();
                }
                self.next_notification = Instant::now() + MIN_UPDATE_INTERVAL;
                return Some(self);
            }
            (self.reports, self.missed) = (None, true);
        }
    }

    /// Waits for the known time or a report from the source. Returns false if the source is gone.
    async fn wait_for_update(&mut self, ttl: Option<Duration>) -> bool {
        let by_itself = async {
            match ttl {
                Some(time) => tokio::time::sleep(time.max(MIN_UPDATE_INTERVAL)).await,
                None => std::future::pending().await,
            }
        };
        match &mut self.reports {
            None => {
                by_itself.await;
                true
            }
            Some(reports) => tokio::select! {
                reported = reports.changed() => reported.is_ok(),
                () = by_itself => true,
            },
        }
    }
}

/// Notifies a client of its subscription, which replaces sessions since 2026-07-28, until the client ends it.
pub(crate) async fn serve_subscription(
    handler: &Handler,
    context: &SubscriptionContext,
) -> Result<(), ErrorData> {
    let mut changes = handler.served.changes();
    changes.borrow_and_update();
    let caller = handler.caller_of(&context.request_context().extensions);
    let mut seen = handler.served.view(&caller);
    let mut watched = FuturesUnordered::new();
    for uri in context.accepted().resource_subscriptions.iter().flatten() {
        watched.push(ResourceWatch::new(uri.clone()).next_change(handler, &caller));
    }
    loop {
        tokio::select! {
            () = context.cancelled() => return Ok(()),
            Some(changed) = watched.next() => {
                if let Some(watch) = changed {
                    if context.sink().notify_resource_updated(watch.uri()).await.is_err() {
                        return Ok(());
                    }
                    watched.push(watch.next_change(handler, &caller));
                }
            }
            changed = changes.changed() => {
                let now = handler.served.view(&caller);
                for list in seen.changed_lists(&now) {
                    if !list.notify_subscriber(context.sink()).await {
                        return Ok(());
                    }
                }
                if changed.is_err() {
                    return Ok(());
                }
                seen = now;
            }
        }
    }
}
