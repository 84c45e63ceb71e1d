//! Values, counters, isolation, quotas and expiry.

use gatehouse_core::{
    FaultKind,
    ports::{
        KvStore as _,
        kv::{KvQuota, MAX_KEYS, MAX_LISTED, MAX_STORED_KEY, MAX_VALUE},
    },
};

use super::{QUOTA, SMALL, Store, set, store};
use crate::engines::KvFixture;

pub(crate) async fn a_value_stays_until_it_is_replaced_or_deleted<F: KvFixture>(engine: F) {
    let Store { kv, clock } = store(&engine);
    assert_eq!(kv.get("a", "k").await, Ok(None));
    set(&kv, "a", "k", b"one", None).await;
    set(&kv, "a", "k", &[0, 255, 10], None).await;
    set(&kv, "a", "empty", b"", None).await;
    drop(kv);
    let kv = engine.open_kv(clock);
    assert_eq!(kv.get("a", "k").await, Ok(Some(vec![0, 255, 10])));
    assert_eq!(kv.get("a", "empty").await, Ok(Some(vec![])));
    assert_eq!((kv.delete("a", "k").await, kv.delete("a", "k").await), (Ok(true), Ok(false)));
    assert_eq!(kv.get("a", "k").await, Ok(None));
}

pub(crate) async fn gates_do_not_see_each_other<F: KvFixture>(engine: F) {
    let store = store(&engine);
    set(&store.kv, "a", "k", b"a's", None).await;
    set(&store.kv, "b", "k", b"b's", None).await;
    set(&store.kv, "b", "only b", b"", None).await;
    assert_eq!(store.kv.get("a", "k").await, Ok(Some(b"a's".to_vec())));
    assert_eq!(store.kv.keys("a", "").await, Ok(vec!["k".to_owned()]));
    assert_eq!(store.kv.delete("a", "only b").await, Ok(false));
    assert_eq!(store.kv.keys("b", "").await, Ok(vec!["k".to_owned(), "only b".to_owned()]));
}

pub(crate) async fn expired_values_are_invisible_to_every_read<F: KvFixture>(engine: F) {
    let Store { kv, clock } = store(&engine);
    set(&kv, "a", "short", b"x", Some(1_000)).await;
    set(&kv, "a", "for good", b"x", Some(u64::MAX)).await;
    set(&kv, "a", "never", b"x", Some(0)).await;
    assert_eq!(kv.get("a", "never").await, Ok(None));
    clock.advance(999);
    assert_eq!(kv.get("a", "short").await, Ok(Some(b"x".to_vec())));
    clock.advance(1);
    assert_eq!(kv.get("a", "short").await, Ok(None));
    assert_eq!(kv.keys("a", "").await, Ok(vec!["for good".to_owned()]));
    assert_eq!(kv.delete("a", "short").await, Ok(false));
    // Setting it without a time to live makes it permanent.
    set(&kv, "a", "short", b"y", None).await;
    clock.advance(1 << 40);
    assert_eq!(kv.get("a", "short").await, Ok(Some(b"y".to_vec())));
}

pub(crate) async fn the_quota_counts_only_live_keys_and_values<F: KvFixture>(engine: F) {
    let Store { kv, clock } = store(&engine);
    let put =
        |key: &'static str, bytes: usize, ttl: Option<u64>| kv.set("a", key, vec![1; bytes], ttl, SMALL);
    put("four", 46, Some(10)).await.unwrap();
    put("five5", 45, None).await.unwrap();
    let fault = put("x", 0, None).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Exhausted);
    assert_eq!(fault.message, "gate 'a' would store 101 bytes; its quota is 100");
    assert!(fault.hint.unwrap().contains("limits.kv under [gates.a]"));
    // The failed write changed nothing, and the space of the old value counts as free.
    assert!(put("five5", 46, None).await.is_err());
    assert_eq!(kv.get("a", "five5").await, Ok(Some(vec![1; 45])));
    put("five5", 44, None).await.unwrap();
    put("x", 0, None).await.unwrap();
    kv.set("b", "x", vec![1; 99], None, SMALL).await.unwrap();
    clock.advance(10);
    put("again", 44, None).await.unwrap();
}

pub(crate) async fn numbers_are_added_up_in_one_step<F: KvFixture>(engine: F) {
    let Store { kv, clock } = store(&engine);
    let add = |delta: i64, ttl: Option<u64>| kv.add("a", "n", delta, ttl, QUOTA);
    assert_eq!(add(5, None).await, Ok(5));
    assert_eq!(add(-7, Some(1_000)).await, Ok(-2));
    assert_eq!(kv.get("a", "n").await, Ok(Some(b"-2".to_vec())));
    clock.advance(999);
    assert_eq!(add(0, Some(1_000)).await, Ok(-2));
    clock.advance(1_000);
    assert_eq!(add(1, None).await, Ok(1));
    // Two stores on one file, like two hosts: additions are atomic.
    let other = engine.open_kv(clock);
    for _ in 0..20 {
        let (one, two, three) = tokio::join!(
            kv.add("a", "shared", 1, None, QUOTA),
            other.add("a", "shared", 1, None, QUOTA),
            kv.add("b", "shared", 1, None, QUOTA),
        );
        assert!(one.is_ok() && two.is_ok() && three.is_ok());
    }
    assert_eq!(kv.get("a", "shared").await, Ok(Some(b"40".to_vec())));
    assert_eq!(other.get("b", "shared").await, Ok(Some(b"20".to_vec())));
}

pub(crate) async fn a_failed_add_changes_nothing<F: KvFixture>(engine: F) {
    let Store { kv, .. } = store(&engine);
    for value in [&b"many"[..], b"", b"1.5", b"+1", b"9223372036854775808", &[0xff]] {
        set(&kv, "a", "n", value, None).await;
        let fault = kv.add("a", "n", 1, None, QUOTA).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::InvalidArguments);
        assert_eq!(fault.message, "value for 'n' is not a decimal integer");
        assert_eq!(kv.get("a", "n").await, Ok(Some(value.to_vec())));
    }
    set(&kv, "a", "n", i64::MAX.to_string().as_bytes(), None).await;
    assert!(kv.add("a", "n", 1, None, QUOTA).await.unwrap_err().message.contains("does not fit in 64 bits"));
    assert_eq!(kv.add("a", "n", i64::MIN, None, QUOTA).await, Ok(-1));
    assert_eq!(
        kv.add("a", "long name", 1, None, KvQuota::of_gate(10)).await.unwrap_err().kind,
        FaultKind::Exhausted
    );
    assert_eq!(kv.get("a", "long name").await, Ok(None));
    assert_eq!(kv.add("a", "", 1, None, QUOTA).await.unwrap_err().kind, FaultKind::InvalidArguments);
}

pub(crate) async fn the_number_of_keys_is_bounded<F: KvFixture>(engine: F) {
    let Store { kv, .. } = store(&engine);
    set(&kv, "a", "one", b"", None).await;
    // Insert rows directly, because ten thousand durable writes are slow.
    engine.fill_kv(MAX_KEYS - 1).await;
    let fault = kv.set("a", "one more", vec![], None, QUOTA).await.unwrap_err();
    assert_eq!((fault.kind, fault.message.contains("10000 keys")), (FaultKind::Exhausted, true));
    set(&kv, "a", "one", b"replaced", None).await;
    assert_eq!(kv.keys("a", "").await.unwrap().len(), MAX_LISTED);
}

pub(crate) async fn keys_are_found_by_how_they_begin<F: KvFixture>(engine: F) {
    let Store { kv, .. } = store(&engine);
    for key in ["a/1", "a/2", "a0", "a", "A/1", "a/%", "a/_x", "ä/1", "\u{10ffff}"] {
        set(&kv, "a", key, b"", None).await;
    }
    assert_eq!(kv.keys("a", "a/").await.unwrap(), ["a/%", "a/1", "a/2", "a/_x"]);
    assert_eq!(kv.keys("a", "a/%").await.unwrap(), ["a/%"], "no pattern");
    assert_eq!(kv.keys("a", "ä").await.unwrap(), ["ä/1"]);
    assert_eq!(kv.keys("a", "").await.unwrap().len(), 9);
    assert!(kv.keys("a", "zzz").await.unwrap().is_empty());
    assert!(kv.keys("a", "\0").await.unwrap().is_empty());
}

pub(crate) async fn keys_and_values_have_sizes<F: KvFixture>(engine: F) {
    let Store { kv, .. } = store(&engine);
    let (longest, longer) = ("k".repeat(MAX_STORED_KEY), "k".repeat(MAX_STORED_KEY + 1));
    for bad in ["", &longer, "a\0b"] {
        assert_eq!(kv.get("a", bad).await.unwrap_err().kind, FaultKind::InvalidArguments);
        let fault = kv.set("a", bad, vec![], None, QUOTA).await.unwrap_err();
        assert!(fault.message.starts_with("key '") && fault.message.len() < 200, "{}", fault.message);
        assert!(kv.delete("a", bad).await.is_err());
    }
    kv.set("a", &longest, vec![1; MAX_VALUE], None, QUOTA).await.unwrap();
    let fault = kv.set("a", "k", vec![1; MAX_VALUE + 1], None, QUOTA).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Exhausted);
}

pub(crate) async fn two_hosts_share_one_file<F: KvFixture>(engine: F) {
    let Store { kv, clock } = store(&engine);
    let other = engine.open_kv(clock);
    for n in 0..20 {
        let (a, b) = (format!("a{n}"), format!("b{n}"));
        let (one, two) = tokio::join!(
            kv.set("g", &a, vec![1; 1000], None, QUOTA),
            other.set("g", &b, vec![2; 1000], None, QUOTA)
        );
        one.and(two).unwrap();
    }
    assert_eq!(kv.keys("g", "").await.unwrap().len(), 40);
    assert_eq!(other.get("g", "a19").await, Ok(Some(vec![1; 1000])));
    let (one, two) = tokio::join!(
        kv.set("h", "a", vec![1; 60], None, SMALL),
        other.set("h", "b", vec![1; 60], None, SMALL)
    );
    assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
}

pub(crate) async fn a_caller_that_fills_its_share_stops_neither_others_nor_the_gate<F: KvFixture>(engine: F) {
    let Store { kv, clock } = store(&engine);
    let of = |owner: &'static str| KvQuota { owner: Some(owner), ..SMALL };
    kv.set("a", "ann's", vec![1; 95], None, of("ann")).await.unwrap();
    let fault = kv.set("a", "more", vec![], None, of("ann")).await.unwrap_err();
    assert_eq!(fault.message, "gate 'a' would store 104 bytes for this caller; its quota is 100");
    kv.set("a", "bob's", vec![1; 95], None, of("bob")).await.unwrap();
    kv.set("a", "gate's", vec![1; 94], None, SMALL).await.unwrap();
    kv.set("a", "ann's", vec![1; 95], None, of("ann")).await.unwrap();
    // A quota over all gates.
    let bounded = KvQuota { owner_bytes: Some(110), ..of("ann") };
    let fault = kv.set("b", "x", vec![1; 10], None, bounded).await.unwrap_err();
    assert_eq!(fault.message, "this caller would store 111 bytes of kv; its quota leaves 110");
    kv.set("b", "x", vec![1; 9], Some(5), bounded).await.unwrap();
    assert_eq!((kv.owner_bytes("ann").await, kv.owner_bytes("eve").await), (Ok(110), Ok(0)));
    clock.advance(5);
    assert_eq!(kv.owner_bytes("ann").await, Ok(100));
    assert_eq!(
        kv.erase("ann", vec!["gate".into()]).await,
        Ok(3),
        "with an expired one and one without an owner"
    );
    assert_eq!(kv.keys("a", "").await, Ok(vec!["bob's".to_owned()]));
}
