//! Resources that are followed on one connection. The server is asked once per resource, however many clients follow
//! it, and unsubscribed after the last.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex},
};

use gatehouse_core::lock;
use tokio::sync::watch;

/// Update counters by the server's own URI.
#[derive(Clone, Default)]
pub(super) struct UpstreamSubscriptions(Arc<Mutex<HashMap<String, watch::Sender<u64>>>>);

pub(super) enum FollowOutcome {
    Joined(watch::Receiver<u64>),
    /// The caller has to subscribe at the server.
    First(FirstFollower),
}

/// First follower of a resource. Dropping it ends the subscription for all followers.
pub(super) struct FirstFollower {
    subscriptions: UpstreamSubscriptions,
    uri: String,
    sender: watch::Sender<u64>,
}

impl UpstreamSubscriptions {
    pub(super) fn follow(&self, uri: &str) -> FollowOutcome {
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
    pub(super) fn changed(&self, uri: &str) {
        for (followed, count) in lock(&self.0).iter() {
            let is_part =
                |rest: &str| rest.is_empty() || rest.starts_with(['/', '#']) || followed.ends_with('/');
            if uri.strip_prefix(followed.as_str()).is_some_and(is_part) {
                count.send_modify(|count| *count = count.wrapping_add(1));
            }
        }
    }

    pub(super) fn has_followers(&self) -> bool {
        !lock(&self.0).is_empty()
    }
}

impl FirstFollower {
    pub(super) fn receiver(&self) -> watch::Receiver<u64> {
        self.sender.subscribe()
    }

    pub(super) fn notify(&self) {
        self.sender.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(super) async fn wait_until_unfollowed(&self) {
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
mod tests {
    use super::*;

    fn first(followed: &UpstreamSubscriptions, uri: &str) -> FirstFollower {
        match followed.follow(uri) {
            FollowOutcome::First(first) => first,
            FollowOutcome::Joined(_) => panic!("{uri} is already followed"),
        }
    }

    fn joined(followed: &UpstreamSubscriptions, uri: &str) -> watch::Receiver<u64> {
        match followed.follow(uri) {
            FollowOutcome::Joined(receiver) => receiver,
            FollowOutcome::First(_) => panic!("{uri} is not followed"),
        }
    }

    #[tokio::test]
    async fn one_subscription_serves_all_followers_until_the_last_leaves() {
        let followed = UpstreamSubscriptions::default();
        let task = first(&followed, "memo://1");
        let (one, two) = (task.receiver(), joined(&followed, "memo://1"));
        drop(one);
        drop(two);
        task.wait_until_unfollowed().await;
        assert!(!followed.has_followers());
        let again = first(&followed, "memo://1");
        drop(task);
        assert!(followed.has_followers(), "the new follower remains");
        drop(again);
        assert!(!followed.has_followers(), "the connection is gone");
    }

    #[test]
    fn a_change_reaches_only_followers_of_that_resource() {
        let followed = UpstreamSubscriptions::default();
        let (file, folder) = (first(&followed, "file:///a"), first(&followed, "file:///b/"));
        let (file, folder) = (file.receiver(), folder.receiver());
        drop((joined(&followed, "file:///a"), joined(&followed, "file:///b/")));
        let changed = |uri: &str| {
            let before = (*file.borrow(), *folder.borrow());
            followed.changed(uri);
            (*file.borrow() - before.0, *folder.borrow() - before.1)
        };
        assert_eq!(changed("file:///a"), (1, 0));
        assert_eq!(changed("file:///a/part"), (1, 0));
        assert_eq!(changed("file:///ab"), (0, 0));
        assert_eq!(changed("file:///b/c"), (0, 1));
        assert_eq!(changed("file:///elsewhere"), (0, 0));
    }
}
