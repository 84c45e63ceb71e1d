//! Slots in the instance pool, by call depth: callers keep theirs while nested calls wait.
//!
//! They are shared fairly among gates, and for nested calls among pairs of caller and gate. By gate alone, its most
//! frequent caller would delay others; by caller alone, one slow gate would block its caller's other calls.

use std::sync::Arc;

use gatehouse_core::{
    SourceId,
    fair_semaphore::{FairPermit, FairSemaphore},
    nesting::MAX_DEPTH,
};

pub(crate) struct InstanceSlots([FairSemaphore; MAX_DEPTH + 1]);

impl InstanceSlots {
    pub(crate) fn new(places: [usize; MAX_DEPTH + 1]) -> Self {
        Self(places.map(FairSemaphore::new))
    }

    /// Takes a slot for a call of `gate`, nested in calls of `within`. Waits while the gate's share is in use.
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
