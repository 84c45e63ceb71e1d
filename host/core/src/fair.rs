//! Turns that parties share fairly: places in a pool, threads, connections.
//!
//! A plain semaphore is one queue, so whoever asks most gets most. Here each party has a queue of its own, and
//! turns go round among those that wait. No party takes the last ones either: it may hold at most as many as
//! are left free (the dynamic thresholds of Choudhury and Hahne, 1998), so somebody who comes anew finds one
//! at once, unless there are more greedy parties than turns can be halved. Alone, a party gets half.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
};

use tokio::sync::oneshot;

/// Parties that are remembered before those that neither hold nor wait are forgotten.
const REMEMBERED: usize = 256;

/// So many turns at the same time, for as many parties as there are.
#[derive(Clone)]
pub struct FairTurns(Arc<Mutex<State>>);

/// A turn, over when it is dropped.
pub struct FairTurn {
    turns: FairTurns,
    party: Arc<str>,
}

struct State {
    free: usize,
    /// The most that one party holds, whatever is free.
    most: usize,
    parties: HashMap<Arc<str>, Party>,
    /// Parties that wait, in the order in which they are looked at; each once.
    round: VecDeque<Arc<str>>,
}

#[derive(Default)]
struct Party {
    held: usize,
    waiting: VecDeque<oneshot::Sender<FairTurn>>,
}

impl FairTurns {
    /// So many turns.
    pub fn new(turns: usize) -> Self {
        Self::with_most(turns, turns)
    }

    /// So many turns, of which one party never has more than `most`.
    pub fn with_most(turns: usize, most: usize) -> Self {
        let (parties, round) = (HashMap::new(), VecDeque::new());
        Self(Arc::new(Mutex::new(State { free: turns, most, parties, round })))
    }

    /// Waits for a turn of this party. To stop waiting, drop the future.
    pub async fn take(&self, party: &Arc<str>) -> FairTurn {
        loop {
            let waiting = {
                let mut state = self.lock();
                if state.admits(party) {
                    state.grant(party);
                    return self.turn(party);
                }
                state.queue(party)
            };
            // The sender is dropped without a turn only where the party was forgotten, which waits for nobody.
            if let Ok(turn) = waiting.await {
                return turn;
            }
        }
    }

    /// Whether nobody holds a turn or waits for one.
    pub fn idle(&self) -> bool {
        self.lock().parties.values().all(Party::idle)
    }

    fn turn(&self, party: &Arc<str>) -> FairTurn {
        FairTurn { turns: self.clone(), party: Arc::clone(party) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        crate::lock(&self.0)
    }

    /// Hands out what is free.
    fn pump(&self) {
        loop {
            let next = self.lock().next();
            let Some((party, waiting)) = next else { return };
            // Sent outside the lock: a turn that nobody receives any more comes back on the spot.
            drop(waiting.send(self.turn(&party)));
        }
    }
}

impl Drop for FairTurn {
    fn drop(&mut self) {
        self.turns.lock().give_back(&self.party);
        self.turns.pump();
    }
}

impl Party {
    fn idle(&self) -> bool {
        self.held == 0 && self.waiting.is_empty()
    }
}

impl State {
    fn admits(&self, party: &str) -> bool {
        let held = self.parties.get(party).map_or(0, |party| party.held);
        held < self.free && held < self.most
    }

    fn party(&mut self, name: &Arc<str>) -> &mut Party {
        if self.parties.len() >= REMEMBERED && !self.parties.contains_key(name) {
            self.parties.retain(|_, party| !party.idle());
        }
        self.parties.entry(Arc::clone(name)).or_default()
    }

    fn grant(&mut self, name: &Arc<str>) {
        self.party(name).held += 1;
        self.free -= 1;
    }

    fn queue(&mut self, name: &Arc<str>) -> oneshot::Receiver<FairTurn> {
        let (sender, receiver) = oneshot::channel();
        let party = self.party(name);
        // Those that gave up must not pile up while nothing is free.
        party.waiting.retain(|waiting| !waiting.is_closed());
        let first = party.waiting.is_empty();
        party.waiting.push_back(sender);
        if first && !self.round.contains(name) {
            self.round.push_back(Arc::clone(name));
        }
        receiver
    }

    fn give_back(&mut self, name: &str) {
        if let Some(party) = self.parties.get_mut(name) {
            party.held = party.held.saturating_sub(1);
            self.free += 1;
        }
    }

    /// The next one whose turn it is; the turn is taken in its party's name.
    fn next(&mut self) -> Option<(Arc<str>, oneshot::Sender<FairTurn>)> {
        for _ in 0..self.round.len() {
            let name = self.round.pop_front()?;
            let admitted = self.admits(&name);
            let Some(party) = self.parties.get_mut(&name) else { continue };
            party.waiting.retain(|waiting| !waiting.is_closed());
            let granted = if admitted { party.waiting.pop_front() } else { None };
            if !party.waiting.is_empty() {
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

    async fn now(turns: &FairTurns, party: &str) -> Option<FairTurn> {
        let party = party.into();
        once(pin!(turns.take(&party))).await
    }

    #[tokio::test]
    async fn whoever_comes_anew_finds_a_turn_beside_the_greedy() {
        let turns = FairTurns::new(8);
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
        assert!(!turns.idle());
        drop(held);
        assert!(turns.idle());
    }

    #[tokio::test]
    async fn turns_go_round_among_those_that_wait() {
        let turns = FairTurns::new(1);
        let (greedy, modest): (Arc<str>, Arc<str>) = ("greedy".into(), "modest".into());
        let running = now(&turns, "greedy").await.expect("free");
        let mut first = pin!(turns.take(&greedy));
        let mut second = pin!(turns.take(&greedy));
        let mut other = pin!(turns.take(&modest));
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
        let turns = FairTurns::with_most(4, 1);
        let running = now(&turns, "one").await.expect("free");
        for _ in 0..100 {
            assert!(now(&turns, "one").await.is_none(), "one at a time");
        }
        assert!(turns.lock().parties["one"].waiting.len() <= 1);
        drop(running);
        let again = now(&turns, "one").await;
        assert!(again.is_some());
        drop(again);
        assert!(turns.idle());
    }
}
