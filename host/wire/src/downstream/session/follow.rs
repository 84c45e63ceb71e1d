//! Subscriptions to resources of a server: one request per URI before MCP 2026-07-28, then one `subscriptions/listen`
//! stream per URI. The server is asked once per resource, however many clients follow it, and unsubscribed after the
//! last.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex},
};

use gatehouse_core::lock;
// rmcp deprecates these, but servers of earlier versions need them.
use rmcp::model::{ErrorCode, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams};
#[allow(deprecated)]
use rmcp::model::{SubscribeRequest, UnsubscribeRequest};
use tokio::sync::watch;

use super::{CallFailure, ServerSession};

impl ServerSession {
    /// Subscribes to updates of a URI. `None` if the server does not report any.
    pub(super) async fn follow(&self, uri: &str) -> Result<Option<watch::Receiver<u64>>, CallFailure> {
        let info = self.peer.peer_info();
        let reports_updates = info.and_then(|info| info.capabilities.resources.clone()?.subscribe);
        if reports_updates != Some(true) {
            return Ok(None);
        }
        let first = match self.host.subscriptions.follow(uri) {
            FollowOutcome::Joined(receiver) => return Ok(Some(receiver)),
            FollowOutcome::First(first) => first,
        };
        let receiver = first.receiver();
        let subscribed =
            if self.since_2026 { self.listen(first, uri).await } else { self.subscribe(first, uri).await };
        match subscribed {
            Ok(is_followed) => Ok(is_followed.then_some(receiver)),
            // The server declares the capability but does not implement it.
            Err(CallFailure::Refused { code, .. }) if code == ErrorCode::METHOD_NOT_FOUND.0 => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    #[allow(deprecated)]
    async fn subscribe(&self, first: FirstFollower, uri: &str) -> Result<bool, CallFailure> {
        let request = SubscribeRequest::new(SubscribeRequestParams::new(uri));
        self.request(request.into(), None).await?;
        let (peer, uri, mut end) = (self.peer.clone(), uri.to_owned(), self.end.clone());
        let unsubscribed = self.unsubscribed.clone();
        tokio::spawn(async move {
            let is_unfollowed = tokio::select! {
                () = first.wait_until_unfollowed() => true,
                _ = end.wait_for(Option::is_some) => false,
                () = unsubscribed.cancelled() => false,
            };
            if is_unfollowed {
                let request = UnsubscribeRequest::new(UnsubscribeRequestParams::new(uri));
                // Ignore a failure: later updates have no followers.
                let _ = peer.send_request(request.into()).await;
            }
        });
        Ok(true)
    }

    /// Returns false if the server does not accept the subscription, such as for an unknown resource.
    async fn listen(&self, first: FirstFollower, uri: &str) -> Result<bool, CallFailure> {
        let filter = SubscriptionFilter::builder().resource_subscriptions([uri]).build();
        let mut subscription = match self.peer.listen(filter).await {
            Ok(subscription) => subscription,
            Err(error) => return Err(self.failure(error).await),
        };
        let accepted = subscription.acknowledged().resource_subscriptions.as_deref().unwrap_or_default();
        if !accepted.iter().any(|accepted| accepted == uri) {
            let _ = subscription.cancel().await;
            return Ok(false);
        }
        tokio::spawn(async move {
            tokio::select! {
                () = first.wait_until_unfollowed() => {}
                () = async {
                    while let Ok(Some(_)) = subscription.next().await {
                        first.notify();
                    }
                } => {}
            }
            let _ = subscription.cancel().await;
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

    pub(in crate::downstream) fn notify(&self) {
        self.sender.send_modify(|count| *count = count.wrapping_add(1));
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
        if followed.get(&self.uri).is_some_and(|known| known.same_channel(&self.sender)) {
            followed.remove(&self.uri);
        }
    }
}

#[cfg(test)]
mod tests;
