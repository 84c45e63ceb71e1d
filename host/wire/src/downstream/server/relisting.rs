//! Listing a server again after it reports changes: one listing at a time, however many reports arrive.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::lock;
use tokio::time::Instant;

use super::DownstreamServer;

/// Pause after the first listing while changes keep coming. It doubles up to [`MAX_PAUSE`].
const MIN_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// Failed listings in a row before the task gives up until the next report.
const MAX_FAILURES: u32 = 5;

#[derive(Default)]
pub(super) struct RelistStatus(Mutex<State>);

#[derive(Default, Clone, Copy, PartialEq)]
enum State {
    #[default]
    Idle,
    Running,
    /// A change was reported since the current or last listing started.
    Again,
}

impl DownstreamServer {
    /// Schedules another listing, immediately if none has run recently.
    pub(super) fn lists_changed(self: &Arc<Self>) {
        let mut state = lock(&self.relisting.0);
        if *state != State::Idle {
            *state = State::Again;
            return;
        }
        *state = State::Running;
        drop(state);
        let weak = Arc::downgrade(self);
        tokio::spawn(async move {
            let mut pause = MIN_PAUSE;
            let mut failures = 0;
            loop {
                let Some(server) = weak.upgrade() else { return };
                let began = Instant::now();
                let is_listed = server.list_again().await;
                drop(server);
                tokio::time::sleep_until(began + pause).await;
                let Some(server) = weak.upgrade() else { return };
                failures = if is_listed { 0 } else { failures + 1 };
                let mut state = lock(&server.relisting.0);
                // Retry after a failure, so that the reported change is not lost.
                let again = (1..=MAX_FAILURES).contains(&failures);
                if *state == State::Running && !again {
                    *state = State::Idle;
                    return;
                }
                *state = State::Running;
                pause = (pause * 2).min(MAX_PAUSE);
            }
        });
    }
}
