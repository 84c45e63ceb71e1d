//! A task that deletes expired artifacts.

use std::{sync::Arc, time::Duration};

use tokio::{task::JoinHandle, time::sleep};

use super::ArtifactStore;

pub struct Sweeper(JoinHandle<()>);

impl ArtifactStore {
    /// Deletes expired artifacts now and after each `pause`. Must be called inside a Tokio runtime.
    #[must_use = "the task ends when its handle is dropped"]
    pub fn start_sweeping(self: &Arc<Self>, pause: Duration) -> Sweeper {
        let store = Arc::clone(self);
        Sweeper(tokio::spawn(async move {
            loop {
                match store.sweep().await {
                    Ok(0) => {}
                    Ok(swept) => {
                        tracing::debug!(swept, "deleted expired artifacts")
                    }
                    Err(fault) => tracing::warn!("cannot delete expired artifacts: {}", fault.message),
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
