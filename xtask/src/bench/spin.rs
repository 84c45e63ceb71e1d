//! Load from other work: threads that compute and never wait.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::Result;

pub(crate) struct BusyCores(Arc<AtomicBool>);

impl BusyCores {
    /// Leaves one core to the client and the server.
    pub(crate) fn on_all_cores_but_one() -> Result<Self> {
        let spinning = Self(Arc::new(AtomicBool::new(true)));
        for _ in 1..thread::available_parallelism()?.get().max(2) {
            let goes_on = Arc::clone(&spinning.0);
            thread::spawn(move || {
                while goes_on.load(Ordering::Relaxed) {
                    black_box(());
                }
            });
        }
        Ok(spinning)
    }
}

impl Drop for BusyCores {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}
