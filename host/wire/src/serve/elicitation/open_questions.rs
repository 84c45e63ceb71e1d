//! Questions that wait for their clients, at most [`MAX_OPEN_QUESTIONS`] on one host. Another one drops the oldest of the
//! client that has most, so that unanswered questions do not keep others from asking.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use gatehouse_core::{Fault, Principal, lock};
use tokio_util::sync::CancellationToken;

use crate::OnDrop;

pub(super) const MAX_OPEN_QUESTIONS: usize = 48;

/// The client that has to answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum QuestionOwner {
    /// A session, by the address of its state.
    Session(usize),
    /// Clients without a session cannot be told apart if they have the same user and name.
    Client(Principal, String),
}

#[derive(Default)]
pub(crate) struct OpenQuestions {
    /// Oldest first.
    open: Mutex<Vec<OpenQuestion>>,
}

struct OpenQuestion {
    owner: QuestionOwner,
    dropped: CancellationToken,
}

impl OpenQuestions {
    /// Waits for an answer, as one of the open questions.
    pub(super) async fn wait<T>(
        self: &Arc<Self>,
        owner: QuestionOwner,
        answer: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        let dropped = CancellationToken::new();
        let _open = self.add(owner, &dropped);
        tokio::select! {
            biased;
            () = dropped.cancelled() => {
                let reason = format!("the question was dropped: {MAX_OPEN_QUESTIONS} newer ones wait for answers");
                Err(Fault::exhausted(reason).hint("Answer the open questions, then call again."))
            }
            answer = answer => answer,
        }
    }

    fn add(self: &Arc<Self>, owner: QuestionOwner, dropped: &CancellationToken) -> OnDrop<impl FnOnce()> {
        let mut open = lock(&self.open);
        if open.len() >= MAX_OPEN_QUESTIONS {
            let mut counts = HashMap::new();
            for question in &*open {
                *counts.entry(&question.owner).or_insert(0_usize) += 1;
            }
            let max_count = counts.values().max().copied();
            let oldest = open.iter().position(|question| counts.get(&question.owner).copied() == max_count);
            if let Some(oldest) = oldest {
                open.remove(oldest).dropped.cancel();
            }
        }
        open.push(OpenQuestion { owner, dropped: dropped.clone() });
        drop(open);
        let (questions, token) = (Arc::clone(self), dropped.clone());
        OnDrop::new(move || {
            // Only this question has this token.
            token.cancel();
            lock(&questions.open).retain(|question| !question.dropped.is_cancelled());
        })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, future::pending, poll};

    use super::*;

    #[tokio::test]
    async fn the_oldest_question_of_the_busiest_client_makes_room() {
        let all = Arc::<OpenQuestions>::default();
        let ask = |owner: QuestionOwner| Box::pin(all.wait(owner, pending::<Result<(), Fault>>()));
        let client = |name: &str| QuestionOwner::Client(Principal::Local, name.into());
        let mut quiet = ask(client("quiet"));
        assert!(poll!(quiet.as_mut()).is_pending());
        let mut busy: Vec<_> = (1..MAX_OPEN_QUESTIONS).map(|_| ask(client("busy"))).collect();
        for question in &mut busy {
            assert!(poll!(question.as_mut()).is_pending());
        }
        let mut others: Vec<_> = (0..3).map(|session| ask(QuestionOwner::Session(session))).collect();
        for question in &mut others {
            assert!(poll!(question.as_mut()).is_pending());
        }
        for (place, question) in busy.iter_mut().enumerate() {
            let ended = question.as_mut().now_or_never();
            assert_eq!(ended.is_some(), place < 3, "the oldest of the busiest: {place}");
            if let Some(Err(fault)) = ended {
                assert!(fault.message.contains("48 newer ones"), "{fault:?}");
            }
        }
        assert!(poll!(quiet.as_mut()).is_pending());
        drop((quiet, busy, others));
        assert!(lock(&all.open).is_empty());
        assert_eq!(all.wait(client("a"), async { Ok(5) }).await, Ok(5));
    }
}
