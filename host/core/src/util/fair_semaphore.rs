//! A semaphore whose permits are shared fairly, for pools, threads and connections.
//!
//! Sharers are the principals that callers proved and, for the local user, the gates. Each sharer has its own queue,
//! served round-robin, instead of one queue where the greediest gets most. A sharer may hold at most as many permits as
//! are left free (dynamic thresholds, Choudhury and Hahne, 1998): a new one usually finds one free, and a lone one gets
//! half. The gates that a principal uses share its permits in the same way. The turns of one gate are shared with a higher
//! threshold: one principal may hold nearly all of them, and a few stay for others.

mod limits;

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
};

use tokio::sync::oneshot;

use crate::Principal;
use limits::ShareLimits;

/// A principal may hold this many times the free turns of a gate: 57 of 64.
const TURN_WEIGHT: usize = 8;

/// A principal may hold this many times the free memory: three quarters.
const MEMORY_WEIGHT: usize = 3;

/// Sharers to remember before idle ones are dropped.
const MAX_IDLE_SHARERS: usize = 256;

/// A fair semaphore; clones share the permits.
#[derive(Clone)]
pub struct FairSemaphore(Arc<Mutex<SemaphoreState>>);

/// Some permits, released on drop.
pub struct FairPermit {
    semaphore: FairSemaphore,
    claim: FairClaim,
}

/// The sharer of permits, the gate they are for, and their number.
#[derive(Clone)]
struct FairClaim {
    sharer: SharerKey,
    gate: Arc<str>,
    permits: usize,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum SharerKey {
    /// A gate that the local user uses.
    Gate(Arc<str>),
    Principal(Arc<str>),
}

#[derive(Default)]
struct SemaphoreState {
    free: usize,
    /// Maximum permits of one sharer, even if more are free.
    max_per_sharer: usize,
    /// Maximum permits of one sharer for each that is free.
    weight: usize,
    sharers: HashMap<SharerKey, SharerQueue>,
    /// Waiting sharers in round-robin order, each once.
    round_robin: VecDeque<SharerKey>,
}

#[derive(Default)]
struct SharerQueue {
    held: usize,
    gates: HashMap<Arc<str>, GateQueue>,
    /// Waiting gates in round-robin order, each once.
    round_robin: VecDeque<Arc<str>>,
}

#[derive(Default)]
struct GateQueue {
    held: usize,
    waiting: VecDeque<FairWaiter>,
}

struct FairWaiter {
    permits: usize,
    grant: oneshot::Sender<FairPermit>,
}

impl FairClaim {
    fn new(principal: &Principal, gate: &Arc<str>, permits: usize) -> Self {
        let sharer = match principal {
            Principal::Local => SharerKey::Gate(Arc::clone(gate)),
            Principal::Named(name) => SharerKey::Principal(Arc::clone(name)),
        };
        Self { sharer, gate: Arc::clone(gate), permits }
    }
}

impl FairSemaphore {
    pub fn new(permits: usize) -> Self {
        Self::with_max_per_sharer(permits, permits)
    }

    /// Creates a semaphore with `permits` permits. One sharer never holds more than `max`.
    pub fn with_max_per_sharer(permits: usize, max: usize) -> Self {
        Self::with_weight(permits, max, 1)
    }

    /// Creates a semaphore for the turns of one gate. The local user may hold all of them.
    pub fn for_turns(permits: usize) -> Self {
        Self::with_weight(permits, permits, TURN_WEIGHT)
    }

    /// Creates a semaphore for units of memory. The local user may hold all of it.
    pub fn for_memory(units: usize) -> Self {
        Self::with_weight(units, units, MEMORY_WEIGHT)
    }

    fn with_weight(permits: usize, max_per_sharer: usize, weight: usize) -> Self {
        let state = SemaphoreState { free: permits, max_per_sharer, weight, ..SemaphoreState::default() };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Waits for a permit for work of a gate that a principal caused. To stop waiting, drop the future.
    pub async fn acquire(&self, principal: &Principal, gate: &Arc<str>) -> FairPermit {
        self.acquire_many(principal, gate, 1).await
    }

    /// Waits for several permits together, as [`acquire`](Self::acquire) does for one.
    pub async fn acquire_many(&self, principal: &Principal, gate: &Arc<str>, permits: usize) -> FairPermit {
        let claim = FairClaim::new(principal, gate, permits);
        loop {
            let waiting = {
                let mut state = self.lock();
                if state.admits(&claim) {
                    state.grant(&claim);
                    return self.permit(claim);
                }
                state.queue(&claim)
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

    /// Returns the number of free permits.
    pub fn free(&self) -> usize {
        self.lock().free
    }

    fn permit(&self, claim: FairClaim) -> FairPermit {
        FairPermit { semaphore: self.clone(), claim }
    }

    fn lock(&self) -> MutexGuard<'_, SemaphoreState> {
        crate::lock(&self.0)
    }

    fn grant_free(&self) {
        loop {
            let next = self.lock().next();
            let Some((claim, grant)) = next else { return };
            // Outside the lock: if the receiver is gone, dropping the permit locks again.
            drop(grant.send(self.permit(claim)));
        }
    }
}

impl Drop for FairPermit {
    fn drop(&mut self) {
        self.semaphore.lock().release(&self.claim);
        self.semaphore.grant_free();
    }
}

impl GateQueue {
    fn is_idle(&self) -> bool {
        self.held == 0 && self.waiting.is_empty()
    }
}

impl SharerQueue {
    fn is_idle(&self) -> bool {
        self.gates.values().all(GateQueue::is_idle)
    }

    fn gate(&mut self, name: &Arc<str>) -> &mut GateQueue {
        if self.gates.len() >= MAX_IDLE_SHARERS && !self.gates.contains_key(name) {
            self.gates.retain(|_, gate| !gate.is_idle());
        }
        self.gates.entry(Arc::clone(name)).or_default()
    }

    /// Takes the next waiter of a gate that `admits` accepts, by the permits that the gate holds and those it wants.
    fn next(&mut self, admits: impl Fn(usize, usize) -> bool) -> Option<(Arc<str>, FairWaiter)> {
        for _ in 0..self.round_robin.len() {
            let name = self.round_robin.pop_front()?;
            let Some(gate) = self.gates.get_mut(&name) else { continue };
            gate.waiting.retain(|waiter| !waiter.grant.is_closed());
            let granted = gate.waiting.pop_front_if(|waiter| admits(gate.held, waiter.permits));
            if !gate.waiting.is_empty() {
                self.round_robin.push_back(Arc::clone(&name));
            }
            if let Some(waiter) = granted {
                return Some((name, waiter));
            }
        }
        None
    }
}

impl SemaphoreState {
    fn limits(&self) -> ShareLimits {
        ShareLimits { free: self.free, max_per_sharer: self.max_per_sharer, weight: self.weight }
    }

    fn admits(&self, claim: &FairClaim) -> bool {
        let sharer = self.sharers.get(&claim.sharer);
        let held = sharer.map_or(0, |sharer| sharer.held);
        let of_gate = sharer.and_then(|sharer| sharer.gates.get(&claim.gate)).map_or(0, |gate| gate.held);
        self.limits().have_room(&claim.sharer, held, of_gate, claim.permits)
    }

    fn sharer(&mut self, key: &SharerKey) -> &mut SharerQueue {
        if self.sharers.len() >= MAX_IDLE_SHARERS && !self.sharers.contains_key(key) {
            self.sharers.retain(|_, sharer| !sharer.is_idle());
        }
        self.sharers.entry(key.clone()).or_default()
    }

    fn grant(&mut self, claim: &FairClaim) {
        let sharer = self.sharer(&claim.sharer);
        sharer.held += claim.permits;
        sharer.gate(&claim.gate).held += claim.permits;
        self.free -= claim.permits;
    }

    fn queue(&mut self, claim: &FairClaim) -> oneshot::Receiver<FairPermit> {
        let (grant, receiver) = oneshot::channel();
        let sharer = self.sharer(&claim.sharer);
        let gate = sharer.gate(&claim.gate);
        // Waiters that gave up must not pile up.
        gate.waiting.retain(|waiter| !waiter.grant.is_closed());
        gate.waiting.push_back(FairWaiter { permits: claim.permits, grant });
        if !sharer.round_robin.contains(&claim.gate) {
            sharer.round_robin.push_back(Arc::clone(&claim.gate));
        }
        if !self.round_robin.contains(&claim.sharer) {
            self.round_robin.push_back(claim.sharer.clone());
        }
        receiver
    }

    fn release(&mut self, claim: &FairClaim) {
        if let Some(sharer) = self.sharers.get_mut(&claim.sharer) {
            sharer.held = sharer.held.saturating_sub(claim.permits);
            let gate = sharer.gate(&claim.gate);
            gate.held = gate.held.saturating_sub(claim.permits);
            self.free += claim.permits;
        }
    }

    /// Takes a permit for the next waiter. `None` if no waiter can be served.
    fn next(&mut self) -> Option<(FairClaim, oneshot::Sender<FairPermit>)> {
        let limits = self.limits();
        for _ in 0..self.round_robin.len() {
            let key = self.round_robin.pop_front()?;
            let Some(sharer) = self.sharers.get_mut(&key) else { continue };
            let held = sharer.held;
            let granted = sharer.next(|of_gate, wanted| limits.have_room(&key, held, of_gate, wanted));
            if !sharer.round_robin.is_empty() {
                self.round_robin.push_back(key.clone());
            }
            if let Some((gate, FairWaiter { permits, grant })) = granted {
                let claim = FairClaim { sharer: key, gate, permits };
                self.grant(&claim);
                return Some((claim, grant));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
