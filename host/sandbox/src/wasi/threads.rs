//! Threads for file operations. A read from a dead network drive can block past every deadline, so each gate has its
//! own threads to lose.

use std::{
    future::poll_fn,
    io,
    pin::pin,
    sync::{Arc, OnceLock},
};

use tokio::runtime::{Builder, Handle, Runtime};

/// Maximum threads of one gate. They start on demand and end when idle.
const THREADS: usize = 8;

/// Threads of one gate, shared by its versions.
#[derive(Default)]
pub(crate) struct FileThreads {
    /// Only runs blocking work; its own thread is never started.
    runtime: OnceLock<Runtime>,
}

impl FileThreads {
    pub(crate) fn handle(&self) -> io::Result<&Handle> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime.handle());
        }
        let runtime =
            Builder::new_current_thread().max_blocking_threads(THREADS).thread_name("gate-files").build()?;
        if let Err(second) = self.runtime.set(runtime) {
            second.shutdown_background();
        }
        let gone = || io::Error::other("the file threads have shut down");
        self.runtime.get().map(Runtime::handle).ok_or_else(gone)
    }

    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        self.handle()?.spawn_blocking(work).await.map_err(io::Error::other)?
    }
}

impl Drop for FileThreads {
    fn drop(&mut self) {
        // Do not wait: a blocked thread may never end.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Polls a future so that blocking work it starts runs on `threads`. Other work is unaffected.
pub(super) async fn within<F: Future>(threads: &Handle, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| {
        let _there = threads.enter();
        future.as_mut().poll(context)
    })
    .await
}

#[derive(Default)]
pub(crate) struct FileThreadPools(std::sync::Mutex<std::collections::HashMap<String, Arc<FileThreads>>>);

impl FileThreadPools {
    pub(crate) fn for_gate(&self, gate: &str) -> Arc<FileThreads> {
        let mut all = gatehouse_core::lock(&self.0);
        Arc::clone(all.entry(gate.to_owned()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_blocks_takes_the_gates_own_threads() {
        let threads = FileThreads::default();
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let receiver = Arc::new(std::sync::Mutex::new(receiver));
        let handle = threads.handle().expect("a runtime").clone();
        let stuck: Vec<_> = (0..2 * THREADS)
            .map(|_| {
                let receiver = Arc::clone(&receiver);
                handle.spawn_blocking(move || receiver.lock().map(|receiver| receiver.recv()).is_ok())
            })
            .collect();
        let other = FileThreads::default();
        assert_eq!(other.run(|| Ok(1)).await.expect("runs"), 1);
        let elsewhere = within(other.handle().expect("a runtime"), async {
            tokio::task::spawn_blocking(|| std::thread::current().name().map(str::to_owned)).await
        });
        assert_eq!(elsewhere.await.expect("runs").as_deref(), Some("gate-files"));
        drop(sender);
        for task in stuck {
            assert!(task.await.expect("ends"));
        }
    }
}
