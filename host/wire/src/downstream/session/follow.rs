//! Subscriptions to resources of a server: one request per URI before MCP 2026-07-28, then one `subscriptions/listen`
//! stream per URI.

// rmcp deprecates these, but servers of earlier versions need them.
#[allow(deprecated)]
use rmcp::model::{SubscribeRequest, UnsubscribeRequest};
use rmcp::{
    model::{ErrorCode, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams},
    service::Subscription,
};
use tokio::sync::watch;

use super::{
    super::upstream_subscriptions::{FirstFollower, FollowOutcome},
    CallFailure, ServerSession,
};

impl ServerSession {
    /// Subscribes to updates of a URI. `None` if the server does not report any.
    pub(super) async fn follow(&self, uri: &str) -> Result<Option<watch::Receiver<u64>>, CallFailure> {
        let info = self.peer.peer_info();
        let reports_updates = info.and_then(|info| info.capabilities.resources.clone()?.subscribe);
        if reports_updates != Some(true) {
            return Ok(None);
        }
        let first = match self.subscriptions.follow(uri) {
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
                () = forward_updates(&mut subscription, &first) => {}
            }
            let _ = subscription.cancel().await;
        });
        Ok(true)
    }
}

async fn forward_updates(subscription: &mut Subscription, first: &FirstFollower) {
    while let Ok(Some(_)) = subscription.next().await {
        first.notify();
    }
}

#[cfg(test)]
mod tests;
