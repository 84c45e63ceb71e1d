//! Which resources of a server are followed on one connection: the server is asked once for each, however many clients want to
//! know, and told when none does any more.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex},
};

use gatehouse_core::lock;
use tokio::sync::watch;

/// What is followed, by the server's own address: each change is counted.
#[derive(Clone, Default)]
pub(super) struct UpstreamSubscriptions(Arc<Mutex<HashMap<String, watch::Sender<u64>>>>);

/// How somebody comes to follow a resource.
pub(super) enum FollowOutcome {
    /// As another one does already.
    Joined(watch::Receiver<u64>),
    /// As the first, who has to ask the server.
    First(FirstFollower),
}

/// The first to follow a resource. Where the server does not agree, nobody follows it.
pub(super) struct FirstFollower {
    followed: UpstreamSubscriptions,
    uri: String,
    sender: watch::Sender<u64>,
}

impl UpstreamSubscriptions {
    /// Follows a resource.
    pub(super) fn follow(&self, uri: &str) -> FollowOutcome {
        match lock(&self.0).entry(uri.to_owned()) {
            Entry::Occupied(known) => FollowOutcome::Joined(known.get().subscribe()),
            Entry::Vacant(vacant) => {
                let sender = vacant.insert(watch::Sender::new(0)).clone();
                FollowOutcome::First(FirstFollower { followed: self.clone(), uri: uri.to_owned(), sender })
            }
        }
    }

    /// The server says that this changed, which may be a part of what is followed. What nobody follows is no news.
    pub(super) fn changed(&self, uri: &str) {
        for (followed, count) in lock(&self.0).iter() {
            let is_part =
                |rest: &str| rest.is_empty() || rest.starts_with(['/', '#']) || followed.ends_with('/');
            if uri.strip_prefix(followed.as_str()).is_some_and(is_part) {
                count.send_modify(|count| *count = count.wrapping_add(1));
            }
        }
    }

    /// Whether anybody follows anything.
    pub(super) fn has_followers(&self) -> bool {
        !lock(&self.0).is_empty()
    }
}

impl FirstFollower {
    /// What the first follows it by, and what tells all who follow it.
    pub(super) fn receiver(&self) -> watch::Receiver<u64> {
        self.sender.subscribe()
    }

    /// It changed.
    pub(super) fn changed(&self) {
        self.sender.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Waits until nobody follows it, and lets go of it then.
    pub(super) async fn wait_until_unfollowed(&self) {
        loop {
            self.sender.closed().await;
            let mut followed = lock(&self.followed.0);
            // Somebody may have joined meanwhile.
            if self.sender.receiver_count() == 0 {
                followed.remove(&self.uri);
                return;
            }
        }
    }
}

impl Drop for FirstFollower {
    fn drop(&mut self) {
        let mut followed = lock(&self.followed.0);
        // After `nobody` another one may have begun anew.
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
            FollowOutcome::Joined(_) => panic!("somebody follows {uri}"),
        }
    }

    fn joined(followed: &UpstreamSubscriptions, uri: &str) -> watch::Receiver<u64> {
        match followed.follow(uri) {
            FollowOutcome::Joined(receiver) => receiver,
            FollowOutcome::First(_) => panic!("nobody follows {uri}"),
        }
    }

    #[tokio::test]
    async fn the_server_is_asked_once_and_until_the_last_has_gone() {
        let followed = UpstreamSubscriptions::default();
        let task = first(&followed, "memo://1");
        let (one, two) = (task.receiver(), joined(&followed, "memo://1"));
        drop(one);
        drop(two);
        task.wait_until_unfollowed().await;
        assert!(!followed.has_followers());
        let again = first(&followed, "memo://1");
        drop(task);
        assert!(followed.has_followers(), "whoever began anew is not forgotten");
        drop(again);
        assert!(!followed.has_followers(), "the connection is gone");
    }

    #[test]
    fn a_change_is_told_to_whom_it_concerns() {
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
