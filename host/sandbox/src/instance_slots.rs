//! Places in the pool, by the depth of a call: each instance holds one, and the pool has room for all that it may be
//! made of. Nested calls have places of their own, for those that wait for them hold on to theirs.
//!
//! Shares are kept by the gate that runs, and among what tools call also by the gate that calls. By the one that runs
//! alone, whoever calls a gate most would keep its other callers waiting; by the one that calls alone, one slow gate
//! would keep its caller from all others.

use std::sync::Arc;

use gatehouse_core::{
    SourceId,
    fair_semaphore::{FairPermit, FairSemaphore},
    nesting::MAX_DEPTH,
};

/// The places of all gates.
pub(crate) struct InstanceSlots([FairSemaphore; MAX_DEPTH + 1]);

impl InstanceSlots {
    /// So many for calls of each depth.
    pub(crate) fn new(places: [usize; MAX_DEPTH + 1]) -> Self {
        Self(places.map(FairSemaphore::new))
    }

    /// A place for a call of this gate, nested in calls of these; waits when its share is taken.
    pub(crate) async fn take(&self, gate: &Arc<str>, within: &[SourceId]) -> FairPermit {
        let places = &self.0[within.len().min(MAX_DEPTH)];
        match within.last() {
            None => places.acquire(gate).await,
            Some(caller) => places.acquire(&format!("{caller}: {gate}").into()).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn neither_a_caller_nor_a_slow_gate_takes_the_places_of_others() {
        let places = InstanceSlots::new([192, 16, 16, 16, 16]);
        let [greedy, modest] = ["greedy", "modest"].map(|name| [SourceId::Gate(name.into())]);
        let [slow, quick] = ["slow", "quick"].map(Arc::<str>::from);
        let take = |gate, within| places.take(gate, within).now_or_never();
        let held: Vec<_> = std::iter::from_fn(|| take(&slow, &greedy)).collect();
        assert_eq!(held.len(), 8);
        assert!(take(&slow, &modest).is_some(), "another caller of the same gate");
        assert!(take(&quick, &greedy).is_some(), "another gate for the same caller");
        assert!(take(&slow, &[]).is_some(), "a client");
    }
}
