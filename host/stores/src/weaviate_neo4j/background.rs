//! The task that brings pages to Weaviate. It sleeps until somebody asks, tries again after failures with growing
//! pauses, and ends with its owner.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use gatehouse_core::Fault;
use tokio::{
    sync::{Notify, watch},
    task::JoinHandle,
};

use super::bring::{Bringer, Left};

/// The task and how it is asked.
pub(super) struct Background {
    bringer: Arc<Bringer>,
    desk: Arc<Desk>,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// Where requests and answers meet.
struct Desk {
    asked: AtomicU64,
    wake: Notify,
    answered: watch::Sender<Finished>,
}

/// The result of the last pass.
#[derive(Debug, Clone, Default)]
struct Finished {
    /// Requests up to this number have been served by it.
    number: u64,
    result: Option<Result<Left, Fault>>,
}

impl Background {
    /// Starts nothing yet.
    pub(super) fn new(bringer: Bringer) -> Self {
        let (answered, _) = watch::channel(Finished::default());
        let desk = Desk { asked: AtomicU64::new(0), wake: Notify::new(), answered };
        Self { bringer: Arc::new(bringer), desk: Arc::new(desk), task: Mutex::default() }
    }

    /// Makes sure that the collection was looked at since this host started: waits so long for it. Gives the fault
    /// that kept the first look from coming about.
    pub(super) async fn look(&self, patience: Duration) -> Result<(), Fault> {
        let mut looked = self.bringer.looked.subscribe();
        if *looked.borrow() {
            return Ok(());
        }
        tokio::select! {
            _ = looked.wait_for(|looked| *looked) => Ok(()),
            answer = self.wait(patience) => match answer {
                Some(Err(fault)) => Err(fault),
                _ => Ok(()),
            },
        }
    }

    /// Why the last pass left something behind, where it did.
    pub(super) fn failing(&self) -> Option<String> {
        match &self.desk.answered.borrow().result {
            Some(Ok(Left::Some(why))) => Some(why.clone()),
            Some(Err(fault)) => Some(fault.message.clone()),
            _ => None,
        }
    }

    /// Asks for a pass that begins from now on.
    pub(super) fn ask(&self) -> u64 {
        let number = self.desk.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if task.as_ref().is_none_or(JoinHandle::is_finished) {
            *task = Some(tokio::spawn(serve(Arc::clone(&self.bringer), Arc::clone(&self.desk))));
        }
        self.desk.wake.notify_one();
        number
    }

    /// Asks for a pass and waits for its result; none where it takes longer than this.
    pub(super) async fn wait(&self, patience: Duration) -> Option<Result<Left, Fault>> {
        let mut answers = self.desk.answered.subscribe();
        let number = self.ask();
        let served = answers.wait_for(|answer| answer.number >= number);
        tokio::time::timeout(patience, served).await.ok()?.ok()?.result.clone()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            task.abort();
        }
    }
}

async fn serve(bringer: Arc<Bringer>, desk: Arc<Desk>) {
    let timing = bringer.timing;
    let mut pause = None;
    loop {
        match pause {
            None => desk.wake.notified().await,
            // Woken or not, it is tried again.
            Some(pause) => _ = tokio::time::timeout(pause, desk.wake.notified()).await,
        }
        let number = desk.asked.load(Ordering::SeqCst);
        let result = bringer.pass().await;
        pause = match &result {
            Ok(Left::Nothing) => None,
            Ok(Left::Elsewhere) => Some(timing.first_pause),
            Ok(Left::Some(_)) | Err(_) => Some(
                pause.map_or(timing.first_pause, |pause: Duration| (pause * 2).min(timing.longest_pause)),
            ),
        };
        if let Err(fault) = &result {
            tracing::warn!(%fault, "pages wait for Weaviate");
        }
        desk.answered.send_replace(Finished { number, result: Some(result) });
    }
}
