//! The task that takes what is past its time from the disk. It ends when its handle is dropped.

use std::{sync::Arc, time::Duration};

use tokio::{task::JoinHandle, time::sleep};

use super::ArtifactStore;

/// The task; it ends with this.
pub struct Sweeper(JoinHandle<()>);

impl ArtifactStore {
    /// Sweeps now and again after each pause, until the handle is dropped. Has to be called inside a Tokio runtime. What
    /// fails is logged, and tried again.
    #[must_use = "the task ends when its handle is dropped"]
    pub fn start_sweeping(self: &Arc<Self>, pause: Duration) -> Sweeper {
        let store = Arc::clone(self);
        Sweeper(tokio::spawn(async move {
            loop {
                match store.sweep().await {
                    Ok(0) => {}
                    Ok(swept) => {
                        tracing::debug!(swept, "artifacts that were past their time are gone from disk")
                    }
                    Err(fault) => tracing::warn!("artifacts could not be swept: {}", fault.message),
                }
                sleep(pause).await;
            }
        }))
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        self.0.abort();
    }
}
