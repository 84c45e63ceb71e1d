//! Turns that gates (or whoever else takes them) share fairly: places in a pool, threads, connections.
//!
//! A plain semaphore is one queue, so whoever asks most gets most. Here each sharer has a queue of its own, and
//! turns go round among those that wait. No sharer takes the last ones either: it may hold at most as many as
//! are left free (the dynamic thresholds of Choudhury and Hahne, 1998), so somebody who comes anew finds one
//! at once, unless there are more greedy sharers than turns can be halved. Alone, a sharer gets half.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
};

use tokio::sync::oneshot;

/// Sharers that are remembered before those that neither hold nor wait are forgotten.
const MAX_IDLE_SHARERS: usize = 256;

/// So many turns at the same time, for as many sharers as there are.
#[derive(Clone)]
pub struct FairSemaphore(Arc<Mutex<State>>);

/// A turn, over when it is dropped.
pub struct FairPermit {
    turns: FairSemaphore,
    sharer: Arc<str>,
}

struct State {
    free: usize,
    /// The most that one sharer holds, whatever is free.
    max_per_sharer: usize,
    sharers: HashMap<Arc<str>, SharerQueue>,
    /// Sharers that wait, in the order in which they are looked at; each once.
    round: VecDeque<Arc<str>>,
}

#[derive(Default)]
struct SharerQueue {
    held: usize,
    waiting: VecDeque<oneshot::Sender<FairPermit>>,
}

impl FairSemaphore {
    /// So many turns.
    pub fn new(turns: usize) -> Self {
        Self::with_max_per_sharer(turns, turns)
    }

    /// So many turns, of which one sharer never has more than `most`.
    pub fn with_max_per_sharer(turns: usize, most: usize) -> Self {
        let (sharers, round) = (HashMap::new(), VecDeque::new());
        Self(Arc::new(Mutex::new(State { free: turns, max_per_sharer: most, sharers, round })))
    }

    /// Waits for a turn of this sharer. To stop waiting, drop the future.
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
            // The sender is dropped without a turn only where the sharer was forgotten, which waits for nobody.
            if let Ok(turn) = waiting.await {
                return turn;
            }
        }
    }

    /// Whether nobody holds a turn or waits for one.
    pub fn is_idle(&self) -> bool {
        self.lock().sharers.values().all(SharerQueue::is_idle)
    }

    fn permit(&self, sharer: &Arc<str>) -> FairPermit {
        FairPermit { turns: self.clone(), sharer: Arc::clone(sharer) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        crate::lock(&self.0)
    }

    /// Hands out what is free.
    fn grant_free(&self) {
        loop {
            let next = self.lock().next();
            let Some((sharer, waiting)) = next else { return };
            // Sent outside the lock: a turn that nobody receives any more comes back on the spot.
            drop(waiting.send(self.permit(&sharer)));
        }
    }
}

impl Drop for FairPermit {
    fn drop(&mut self) {
        self.turns.lock().release(&self.sharer);
        self.turns.grant_free();
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
        // Those that gave up must not pile up while nothing is free.
        sharer.waiting.retain(|waiting| !waiting.is_closed());
        let first = sharer.waiting.is_empty();
        sharer.waiting.push_back(sender);
        if first && !self.round.contains(name) {
            self.round.push_back(Arc::clone(name));
        }
        receiver
    }

    fn release(&mut self, name: &str) {
        if let Some(sharer) = self.sharers.get_mut(name) {
            sharer.held = sharer.held.saturating_sub(1);
            self.free += 1;
        }
    }

    /// The next one whose turn it is; the turn is taken in its sharer's name.
    fn next(&mut self) -> Option<(Arc<str>, oneshot::Sender<FairPermit>)> {
        for _ in 0..self.round.len() {
            let name = self.round.pop_front()?;
            let admitted = self.admits(&name);
            let Some(sharer) = self.sharers.get_mut(&name) else { continue };
            sharer.waiting.retain(|waiting| !waiting.is_closed());
            let granted = if admitted { sharer.waiting.pop_front() } else { None };
            if !sharer.waiting.is_empty() {
                self.round.push_back(Arc::clone(&name));
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

    /// Polls once.
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
    async fn whoever_comes_anew_finds_a_turn_beside_the_greedy() {
        let turns = FairSemaphore::new(8);
        let mut held = Vec::new();
        while let Some(turn) = now(&turns, "greedy").await {
            held.push(turn);
        }
        assert_eq!(held.len(), 4, "half, where nobody else is");
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
    async fn turns_go_round_among_those_that_wait() {
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
        let other = once(other.as_mut()).await.expect("one turn later, whatever the queue of the greedy");
        drop(other);
        assert!(once(second.as_mut()).await.is_some());
    }

    #[tokio::test]
    async fn who_gives_up_takes_no_turn() {
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
