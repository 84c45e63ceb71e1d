//! Tests of the order and the shares, without time.

use std::{future::Future, pin::pin, task::Poll};

use super::*;

async fn once<F: Future>(mut future: std::pin::Pin<&mut F>) -> Option<F::Output> {
    std::future::poll_fn(|context| {
        Poll::Ready(match future.as_mut().poll(context) {
            Poll::Ready(done) => Some(done),
            Poll::Pending => None,
        })
    })
    .await
}

async fn now(turns: &FairSemaphore, sharer: &str) -> Option<FairPermit> {
    let sharer = sharer.into();
    once(pin!(turns.acquire(&Principal::Local, &sharer))).await
}

#[tokio::test]
async fn new_sharer_finds_a_free_permit() {
    let turns = FairSemaphore::new(8);
    let mut held = Vec::new();
    while let Some(turn) = now(&turns, "greedy").await {
        held.push(turn);
    }
    assert_eq!(held.len(), 4, "a lone sharer gets half");
    while let Some(turn) = now(&turns, "next").await {
        held.push(turn);
    }
    assert_eq!(held.len(), 6);
    assert!(now(&turns, "modest").await.is_some());
    assert!(!turns.is_idle());
    drop(held);
    assert!(turns.is_idle());
}

#[tokio::test]
async fn permits_are_granted_round_robin() {
    let turns = FairSemaphore::new(1);
    let (greedy, modest): (Arc<str>, Arc<str>) = ("greedy".into(), "modest".into());
    let running = now(&turns, "greedy").await.expect("free");
    let mut first = pin!(turns.acquire(&Principal::Local, &greedy));
    let mut second = pin!(turns.acquire(&Principal::Local, &greedy));
    let mut other = pin!(turns.acquire(&Principal::Local, &modest));
    assert!(once(first.as_mut()).await.is_none() && once(second.as_mut()).await.is_none());
    assert!(once(other.as_mut()).await.is_none());
    drop(running);
    let first = once(first.as_mut()).await.expect("its turn");
    assert!(once(second.as_mut()).await.is_none() && once(other.as_mut()).await.is_none());
    drop(first);
    assert!(once(second.as_mut()).await.is_none(), "the other one waits too");
    let other = once(other.as_mut()).await.expect("served next, despite the queue of the greedy sharer");
    drop(other);
    assert!(once(second.as_mut()).await.is_some());
}

#[tokio::test]
async fn abandoned_waiters_take_no_permit() {
    let turns = FairSemaphore::with_max_per_sharer(4, 1);
    let running = now(&turns, "one").await.expect("free");
    for _ in 0..100 {
        assert!(now(&turns, "one").await.is_none(), "one at a time");
    }
    let key = SharerKey::Gate("one".into());
    assert!(turns.lock().sharers[&key].gates["one"].waiting.len() <= 1);
    drop(running);
    let again = now(&turns, "one").await;
    assert!(again.is_some());
    drop(again);
    assert!(turns.is_idle());
}

async fn taken(turns: &FairSemaphore, principal: &Principal, gate: &str) -> Option<FairPermit> {
    let gate = gate.into();
    once(pin!(turns.acquire(principal, &gate))).await
}

#[tokio::test]
async fn a_principal_gets_one_share_for_all_its_gates() {
    let turns = FairSemaphore::new(64);
    let [greedy, modest] = ["greedy", "modest"].map(|name| Principal::Named(name.into()));
    let mut held = Vec::new();
    for gate in 0..100 {
        while let Some(turn) = taken(&turns, &greedy, &format!("gate-{gate}")).await {
            held.push(turn);
        }
    }
    assert_eq!(held.len(), 32, "half, with any number of gates");
    let others: Vec<_> = [taken(&turns, &modest, "gate-0").await, taken(&turns, &modest, "x").await].into();
    assert!(others.iter().all(Option::is_some), "the same gate and another");
}

#[tokio::test]
async fn a_slow_gate_leaves_room_for_other_gates_of_the_same_principal() {
    let turns = FairSemaphore::new(64);
    let ann = Principal::Named("ann".into());
    let mut held = Vec::new();
    while let Some(turn) = taken(&turns, &ann, "slow").await {
        held.push(turn);
    }
    assert!(taken(&turns, &ann, "quick").await.is_some(), "{} are held", held.len());
}

#[tokio::test]
async fn a_principal_with_a_long_queue_delays_no_other() {
    let turns = FairSemaphore::new(1);
    let [greedy, modest] = ["greedy", "modest"].map(|name| Principal::Named(name.into()));
    let gates: Vec<Arc<str>> = (0..50).map(|n| format!("gate-{n}").into()).collect();
    let running = taken(&turns, &greedy, "gate-0").await.expect("free");
    let mut queue: Vec<_> = gates.iter().map(|gate| Box::pin(turns.acquire(&greedy, gate))).collect();
    for waiting in &mut queue {
        assert!(once(waiting.as_mut()).await.is_none());
    }
    let mut other = pin!(turns.acquire(&modest, &gates[0]));
    assert!(once(other.as_mut()).await.is_none());
    drop(running);
    let first = once(queue[0].as_mut()).await.expect("its turn");
    drop(first);
    assert!(once(other.as_mut()).await.is_some(), "second, not last of 51");
}

#[tokio::test]
async fn one_principal_leaves_turns_of_a_gate_for_others() {
    let (turns, gate) = (FairSemaphore::for_turns(64), Arc::from("proxy"));
    let take = async |name: &str| once(pin!(turns.acquire(&Principal::Named(name.into()), &gate))).await;
    let mut held = Vec::new();
    while let Some(turn) = take("key:bob").await {
        held.push(turn);
    }
    assert_eq!(held.len(), 57);
    for name in ["key:ann", "key:carl", "key:dora"] {
        held.extend(take(name).await);
    }
    assert_eq!(held.len(), 60, "others find a turn at once");
    drop(held);
    let one = FairSemaphore::for_turns(1);
    assert!(once(pin!(one.acquire(&Principal::Named("key:bob".into()), &gate))).await.is_some());
    let local = FairSemaphore::for_turns(8);
    let mut held = Vec::new();
    while let Some(turn) = once(pin!(local.acquire(&Principal::Local, &gate))).await {
        held.push(turn);
    }
    assert_eq!(held.len(), 8, "the local user may hold all");
}

#[tokio::test]
async fn several_permits_are_granted_together_and_within_the_share() {
    let (memory, user) = (FairSemaphore::for_memory(64), Arc::from("http"));
    let [greedy, modest] = ["greedy", "modest"].map(|name| Principal::Named(name.into()));
    let mut held = Vec::new();
    while let Some(part) = once(pin!(memory.acquire_many(&greedy, &user, 8))).await {
        held.push(part);
    }
    assert_eq!(held.len(), 6, "three quarters");
    let mut waiting = pin!(memory.acquire_many(&greedy, &user, 16));
    assert!(once(waiting.as_mut()).await.is_none());
    let other = once(pin!(memory.acquire_many(&modest, &user, 16))).await.expect("free");
    drop(held);
    assert!(once(waiting.as_mut()).await.is_some());
    drop(other);
    assert!(memory.is_idle());
    assert!(once(pin!(memory.acquire_many(&Principal::Local, &user, 64))).await.is_some());
}
