//! The turn of a gate that a call holds. Calls that wait for a user give it up, so that waiting questions keep no other
//! call from a gate.

use std::sync::{Arc, Mutex, Weak};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use crate::{CallContext, lock};

/// One of the turns of a gate, held until this is dropped.
pub struct GateTurn {
    turns: Arc<Semaphore>,
    held: Mutex<HeldTurn>,
}

struct HeldTurn {
    permit: Option<OwnedSemaphorePermit>,
    /// Questions of the call, or of calls within it, that wait.
    questions: u32,
}

impl GateTurn {
    /// Waits for a turn. Fails if the gate is closing.
    pub async fn take(turns: &Arc<Semaphore>) -> Result<Arc<Self>, AcquireError> {
        let permit = Some(Arc::clone(turns).acquire_owned().await?);
        let held = Mutex::new(HeldTurn { permit, questions: 0 });
        Ok(Arc::new(Self { turns: Arc::clone(turns), held }))
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
        // A closing gate refuses its calls by itself.
        let permit = Arc::clone(&self.turns).acquire_owned().await.ok();
        lock(&self.held).permit = permit;
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
        let turns = Arc::new(Semaphore::new(1));
        let asking = GateTurn::take(&turns).await.expect("a turn");
        assert!(GateTurn::take(&turns).now_or_never().is_none());
        asking.give_up();
        asking.give_up();
        let other = GateTurn::take(&turns).now_or_never().expect("free").expect("a turn");
        asking.take_again().await;
        assert!(asking.take_again().now_or_never().is_none(), "the other call has the turn");
        drop(other);
        assert_eq!(turns.available_permits(), 1);
        drop(asking);
    }
}
