//! Several processes with one store, which take turns where they have to.

use std::sync::Arc;

use gatehouse_core::{
    FaultKind,
    ports::{KvStore as _, kv::KvQuota},
};
use tokio::task::JoinSet;

use super::{QUOTA, SMALL, store};
use crate::engines::KvFixture;

pub(crate) async fn two_connections_add_to_one_number<F: KvFixture>(engine: F) {
    let stores = [Arc::new(store(&engine)), Arc::new(store(&engine))];
    let mut adding = JoinSet::new();
    for number in 0..40 {
        let store = Arc::clone(&stores[number % 2]);
        adding.spawn(async move { store.kv.add("g", "n", 1, Some(1 << 40), QUOTA).await.unwrap() });
    }
    let mut sums = adding.join_all().await;
    sums.sort_unstable();
    assert_eq!(sums, (1..=40).collect::<Vec<i64>>());
}

pub(crate) async fn two_connections_cannot_exceed_a_quota_together<F: KvFixture>(engine: F) {
    let (here, there) = (store(&engine), store(&engine));
    let bounded = KvQuota { owner: Some("ann"), owner_bytes: Some(150), ..SMALL };
    for round in 0..10 {
        // What has expired is deleted by both.
        here.clock.advance(1);
        there.clock.advance(1);
        // The quota of one gate, and that of an owner over two gates.
        for (gates, quota) in [(["g", "g"], SMALL), (["a", "b"], bounded)] {
            let (first, second) = (format!("one {round}"), format!("two {round}"));
            let (one, two) = tokio::join!(
                here.kv.set(gates[0], &first, vec![1; 80], Some(1), quota),
                there.kv.set(gates[1], &second, vec![1; 80], Some(1), quota),
            );
            assert!(one.is_ok() != two.is_ok(), "{gates:?}: {one:?} {two:?}");
            assert_eq!(one.and(two).unwrap_err().kind, FaultKind::Exhausted);
        }
    }
}
