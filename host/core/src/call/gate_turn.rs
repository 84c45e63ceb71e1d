//! The turn of a gate that a call holds. Calls that wait for a user give it up, so that waiting questions keep no other
//! call from a gate.

use std::sync::{Arc, Mutex, Weak};

use crate::{
    CallContext, Principal,
    fair_semaphore::{FairPermit, FairSemaphore},
    lock,
};

/// One of the turns of a gate, held until this is dropped.
pub struct GateTurn {
    turns: FairSemaphore,
    principal: Principal,
    gate: Arc<str>,
    held: Mutex<HeldTurn>,
}

struct HeldTurn {
    permit: Option<FairPermit>,
    /// Questions of the call, or of calls within it, that wait.
    questions: u32,
}

impl GateTurn {
    /// Waits for a turn of a gate.
    pub async fn take(turns: &FairSemaphore, principal: &Principal, gate: &Arc<str>) -> Arc<Self> {
        let permit = Some(turns.acquire(principal, gate).await);
        let held = Mutex::new(HeldTurn { permit, questions: 0 });
        let (principal, gate) = (principal.clone(), Arc::clone(gate));
        Arc::new(Self { turns: turns.clone(), principal, gate, held })
    }

    /// Returns false if other questions wait.
    fn end_question(&self) -> bool {
        let mut held = lock(&self.held);
        held.questions -= 1;
        held.questions == 0
    }

    /// Gives the turn up until the returned pause ends.
    fn give_up(self: &Arc<Self>) -> TurnPause {
        let mut held = lock(&self.held);
        held.questions += 1;
        held.permit = None;
        TurnPause(Some(Arc::clone(self)))
    }
}

/// A question for which a call gave up its turn. An answer from elsewhere drops it together with the question.
struct TurnPause(Option<Arc<GateTurn>>);

impl TurnPause {
    /// Takes the turn again, unless other questions of the call wait.
    async fn end(mut self) {
        let Some(turn) = self.0.take().filter(|turn| turn.end_question()) else { return };
        let permit = turn.turns.acquire(&turn.principal, &turn.gate).await;
        lock(&turn.held).permit = Some(permit);
    }
}

impl Drop for TurnPause {
    fn drop(&mut self) {
        self.0.take().map(|turn| turn.end_question());
    }
}

impl CallContext {
    /// Records the turn of the gate that runs this call.
    pub fn set_turn(&self, turn: &Arc<GateTurn>) {
        *lock(&self.turn) = Arc::downgrade(turn);
    }

    /// Returns the turns of the gates that run the enclosing calls and this one.
    pub(crate) fn turns(&self) -> impl Iterator<Item = Weak<GateTurn>> {
        let turn = lock(&self.turn).clone();
        self.enclosing_turns.iter().cloned().chain([turn])
    }

    /// Waits for something that a user does, without the turns of the gates that this call runs in.
    pub(crate) async fn without_turns<T>(&self, waiting: impl Future<Output = T>) -> T {
        let turns: Vec<_> = self.turns().filter_map(|turn| turn.upgrade()).collect();
        let pauses: Vec<_> = turns.iter().map(GateTurn::give_up).collect();
        let value = waiting.await;
        for pause in pauses {
            pause.end().await;
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_turn_is_free_while_its_questions_wait() {
        let (turns, gate) = (FairSemaphore::for_turns(1), Arc::from("gate"));
        let take = || GateTurn::take(&turns, &Principal::Local, &gate);
        let asking = take().await;
        assert!(take().now_or_never().is_none());
        let (outer, inner) = (asking.give_up(), asking.give_up());
        let withdrawn = asking.give_up();
        let other = take().now_or_never().expect("free");
        inner.end().await;
        drop(withdrawn);
        assert!(outer.end().now_or_never().is_none(), "the other call has the turn");
        drop(other);
        assert!(turns.is_idle());
        drop(asking);
    }
}
