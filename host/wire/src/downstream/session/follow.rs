//! Subscriptions to resources of a server: one request per URI before MCP 2026-07-28, then one `subscriptions/listen`
//! stream per URI. The server is asked once per resource, however many clients follow it, and unsubscribed after the
//! last.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex},
};

use gatehouse_core::lock;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{CallFailure, Request, ServerSession};

const METHOD_NOT_FOUND: i32 = -32601;

impl ServerSession {
    /// Subscribes to updates of a URI. `None` if the server does not report any.
    pub(super) async fn follow(&self, uri: &str) -> Result<Option<watch::Receiver<u64>>, CallFailure> {
        if !self.info.has_option("resources", "subscribe") {
            return Ok(None);
        }
        let first = match self.peer.subscriptions.follow(uri) {
            FollowOutcome::Joined(receiver) => return Ok(Some(receiver)),
            FollowOutcome::First(first) => first,
        };
        let receiver = first.receiver();
        let is_modern = self.info.is_since_2026();
        let subscribed =
            if is_modern { self.listen(first, uri).await } else { self.subscribe(first, uri).await };
        match subscribed {
            Ok(is_followed) => Ok(is_followed.then_some(receiver)),
            // The server declares the capability but does not implement it.
            Err(CallFailure::Refused { code: METHOD_NOT_FOUND, .. }) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    async fn subscribe(&self, first: FirstFollower, uri: &str) -> Result<bool, CallFailure> {
        self.request("resources/subscribe", json!({"uri": uri})).await?;
        let (peer, params) = (Arc::clone(&self.peer), json!({"uri": uri}));
        let unsubscribed = self.unsubscribed.clone();
        self.peer.run_until_closed(async move {
            let is_unfollowed = tokio::select! {
                () = first.wait_until_unfollowed() => true,
                () = unsubscribed.cancelled() => false,
            };
            if is_unfollowed {
                // Ignore a failure: later updates have no followers.
                let _ = peer.request(Request::new("resources/unsubscribe", params)).await;
            }
        });
        Ok(true)
    }

    /// Returns false if the server does not accept the subscription, such as for an unknown resource.
    async fn listen(&self, first: FirstFollower, uri: &str) -> Result<bool, CallFailure> {
        let mut subscription = self.peer.listen(json!({"resourceSubscriptions": [uri]})).await?;
        let accepted = subscription.accepted.get("resourceSubscriptions").and_then(Value::as_array);
        if !accepted.is_some_and(|accepted| accepted.iter().any(|accepted| accepted == uri)) {
            return Ok(false);
        }
        self.peer.run_until_closed(async move {
            tokio::select! {
                () = first.wait_until_unfollowed() => {}
                () = subscription.ended() => {}
            }
        });
        Ok(true)
    }
}

/// Update counters by the server's own URI.
#[derive(Clone, Default)]
pub(in crate::downstream) struct UpstreamSubscriptions(Arc<Mutex<HashMap<String, watch::Sender<u64>>>>);

pub(in crate::downstream) enum FollowOutcome {
    Joined(watch::Receiver<u64>),
    /// The caller has to subscribe at the server.
    First(FirstFollower),
}

/// First follower of a resource. Dropping it ends the subscription for all followers.
pub(in crate::downstream) struct FirstFollower {
    subscriptions: UpstreamSubscriptions,
    uri: String,
    sender: watch::Sender<u64>,
}

impl UpstreamSubscriptions {
    pub(in crate::downstream) fn follow(&self, uri: &str) -> FollowOutcome {
        match lock(&self.0).entry(uri.to_owned()) {
            Entry::Occupied(known) => FollowOutcome::Joined(known.get().subscribe()),
            Entry::Vacant(vacant) => {
                let sender = vacant.insert(watch::Sender::new(0)).clone();
                FollowOutcome::First(FirstFollower {
                    subscriptions: self.clone(),
                    uri: uri.to_owned(),
                    sender,
                })
            }
        }
    }

    /// Counts an update of a URI, which may be part of a followed resource. Other URIs are ignored.
    pub(in crate::downstream) fn changed(&self, uri: &str) {
        for (followed, count) in lock(&self.0).iter() {
            let is_part =
                |rest: &str| rest.is_empty() || rest.starts_with(['/', '#']) || followed.ends_with('/');
            if uri.strip_prefix(followed.as_str()).is_some_and(is_part) {
                count.send_modify(|count| *count = count.wrapping_add(1));
            }
        }
    }

    pub(in crate::downstream) fn has_followers(&self) -> bool {
        !lock(&self.0).is_empty()
    }
}

impl FirstFollower {
    pub(in crate::downstream) fn receiver(&self) -> watch::Receiver<u64> {
        self.sender.subscribe()
    }

    pub(in crate::downstream) async fn wait_until_unfollowed(&self) {
        loop {
            self.sender.closed().await;
            let mut followed = lock(&self.subscriptions.0);
            // Another client may have joined in the meantime.
            if self.sender.receiver_count() == 0 {
                followed.remove(&self.uri);
                return;
            }
        }
    }
}

impl Drop for FirstFollower {
    fn drop(&mut self) {
        let mut followed = lock(&self.subscriptions.0);
        // After [`Self::wait_until_unfollowed`], the entry may belong to a new first follower.
        if followed.get(&self.uri).is_some_and(|sender| sender.same_channel(&self.sender)) {
            followed.remove(&self.uri);
        }
    }
}

#[cfg(test)]
mod tests;
