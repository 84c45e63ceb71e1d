//! A semaphore whose permits are shared fairly, for pools, threads and connections.
//!
//! Each sharer has its own queue, served round-robin, instead of one queue where the greediest gets most. A sharer may
//! hold at most as many permits as are left free (dynamic thresholds, Choudhury and Hahne, 1998): a new one usually
//! finds one free, and a lone one gets half.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
};

use tokio::sync::oneshot;

/// Sharers to remember before idle ones are dropped.
const MAX_IDLE_SHARERS: usize = 256;

/// A fair semaphore; clones share the permits.
#[derive(Clone)]
pub struct FairSemaphore(Arc<Mutex<State>>);

/// A permit, released on drop.
pub struct FairPermit {
    semaphore: FairSemaphore,
    sharer: Arc<str>,
}

struct State {
    free: usize,
    /// Maximum permits of one sharer, even if more are free.
    max_per_sharer: usize,
    sharers: HashMap<Arc<str>, SharerQueue>,
    /// Waiting sharers in round-robin order, each once.
    round_robin: VecDeque<Arc<str>>,
}

#[derive(Default)]
struct SharerQueue {
    held: usize,
    waiting: VecDeque<oneshot::Sender<FairPermit>>,
}

impl FairSemaphore {
    pub fn new(permits: usize) -> Self {
        Self::with_max_per_sharer(permits, permits)
    }

    /// Creates a semaphore with `permits` permits. One sharer never holds more than `max`.
    pub fn with_max_per_sharer(permits: usize, max: usize) -> Self {
        let (sharers, round_robin) = (HashMap::new(), VecDeque::new());
        Self(Arc::new(Mutex::new(State { free: permits, max_per_sharer: max, sharers, round_robin })))
    }

    /// Waits for a permit. To stop waiting, drop the future.
    pub async fn acquire(&self, sharer: &Arc<str>) -> FairPermit {
        loop {
            let waiting = {
                let mut state = self.lock();
                if state.admits(sharer) {
                    state.grant(sharer);
                    return self.permit(sharer);
                }
                state.queue(sharer)
            };
            // No sender is dropped unused: only sharers without waiters are removed.
            if let Ok(permit) = waiting.await {
                return permit;
            }
        }
    }

    /// Returns true if no sharer holds or waits for a permit.
    pub fn is_idle(&self) -> bool {
        self.lock().sharers.values().all(SharerQueue::is_idle)
    }

    fn permit(&self, sharer: &Arc<str>) -> FairPermit {
        FairPermit { semaphore: self.clone(), sharer: Arc::clone(sharer) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        crate::lock(&self.0)
    }

    fn grant_free(&self) {
        loop {
            let next = self.lock().next();
            let Some((sharer, waiting)) = next else { return };
            // Outside the lock: if the receiver is gone, dropping the permit locks again.
            drop(waiting.send(self.permit(&sharer)));
        }
    }
}

impl Drop for FairPermit {
    fn drop(&mut self) {
        self.semaphore.lock().release(&self.sharer);
        self.semaphore.grant_free();
    }
}

impl SharerQueue {
    fn is_idle(&self) -> bool {
        self.held == 0 && self.waiting.is_empty()
    }
}

impl State {
    fn admits(&self, sharer: &str) -> bool {
        let held = self.sharers.get(sharer).map_or(0, |sharer| sharer.held);
        held < self.free && held < self.max_per_sharer
    }

    fn sharer(&mut self, name: &Arc<str>) -> &mut SharerQueue {
        if self.sharers.len() >= MAX_IDLE_SHARERS && !self.sharers.contains_key(name) {
            self.sharers.retain(|_, sharer| !sharer.is_idle());
        }
        self.sharers.entry(Arc::clone(name)).or_default()
    }

    fn grant(&mut self, name: &Arc<str>) {
        self.sharer(name).held += 1;
        self.free -= 1;
    }

    fn queue(&mut self, name: &Arc<str>) -> oneshot::Receiver<FairPermit> {
        let (sender, receiver) = oneshot::channel();
        let sharer = self.sharer(name);
        // Waiters that gave up must not pile up.
        sharer.waiting.retain(|waiting| !waiting.is_closed());
        let first = sharer.waiting.is_empty();
        sharer.waiting.push_back(sender);
        if first && !self.round_robin.contains(name) {
            self.round_robin.push_back(Arc::clone(name));
        }
        receiver
    }

    fn release(&mut self, name: &str) {
        if let Some(sharer) = self.sharers.get_mut(name) {
            sharer.held = sharer.held.saturating_sub(1);
            self.free += 1;
        }
    }

    /// Takes a permit for the next waiter. `None` if no waiter can be served.
    fn next(&mut self) -> Option<(Arc<str>, oneshot::Sender<FairPermit>)> {
        for _ in 0..self.round_robin.len() {
            let name = self.round_robin.pop_front()?;
            let admitted = self.admits(&name);
            let Some(sharer) = self.sharers.get_mut(&name) else { continue };
            sharer.waiting.retain(|waiting| !waiting.is_closed());
            let granted = if admitted { sharer.waiting.pop_front() } else { None };
            if !sharer.waiting.is_empty() {
                self.round_robin.push_back(Arc::clone(&name));
            }
            if let Some(waiting) = granted {
                self.grant(&name);
                return Some((name, waiting));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
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
        once(pin!(turns.acquire(&sharer))).await
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
        let mut first = pin!(turns.acquire(&greedy));
        let mut second = pin!(turns.acquire(&greedy));
        let mut other = pin!(turns.acquire(&modest));
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
        assert!(turns.lock().sharers["one"].waiting.len() <= 1);
        drop(running);
        let again = now(&turns, "one").await;
        assert!(again.is_some());
        drop(again);
        assert!(turns.is_idle());
    }
}
