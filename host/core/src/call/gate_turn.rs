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

    fn give_up(&self) {
        let mut held = lock(&self.held);
        held.questions += 1;
        held.permit = None;
    }

    async fn take_again(&self) {
        {
            let mut held = lock(&self.held);
            held.questions -= 1;
            if held.questions > 0 {
                return;
            }
        }
        let permit = self.turns.acquire(&self.principal, &self.gate).await;
        lock(&self.held).permit = Some(permit);
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
        turns.iter().for_each(|turn| turn.give_up());
        let value = waiting.await;
        for turn in turns {
            turn.take_again().await;
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
        asking.give_up();
        asking.give_up();
        let other = take().now_or_never().expect("free");
        asking.take_again().await;
        assert!(asking.take_again().now_or_never().is_none(), "the other call has the turn");
        drop(other);
        assert!(turns.is_idle());
        drop(asking);
    }
}
