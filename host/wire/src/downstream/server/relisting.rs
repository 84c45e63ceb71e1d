//! Changes of what a server lists: one listing at a time, however often the server says that its lists changed.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::lock;
use tokio::time::Instant;

use super::DownstreamServer;

/// The pauses between two listings while changes keep coming: doubling from the first to the longest.
const MIN_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// Failed listings in a row after which the next announcement is waited for.
const MAX_FAILURES: u32 = 5;

/// Whether a task lists the server again.
#[derive(Default)]
pub(super) struct RelistStatus(Mutex<State>);

#[derive(Default, Clone, Copy, PartialEq)]
enum State {
    #[default]
    Idle,
    Running,
    /// The lists changed since the listing that runs, or that was last made, began.
    Again,
}

impl DownstreamServer {
    /// Lists the server again soon: at once if the last listing was long enough ago.
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
                // What was announced is not lost to one listing that failed.
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
