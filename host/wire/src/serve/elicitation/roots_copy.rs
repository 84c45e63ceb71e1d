//! The roots of a client's session. Servers ask for them during each call, and the client is asked once for all of them.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use gatehouse_core::{Fault, ports::client::ClientRoot};
use tokio::{sync::Mutex, time::Instant};

/// Age at which a client is asked again: some do not report changes.
const MAX_AGE: Duration = Duration::from_secs(30);

#[derive(Default)]
pub(crate) struct RootsCopy {
    /// Number of changes that the client has reported.
    changes: AtomicU64,
    /// Held while the client is asked, so that concurrent calls ask once.
    copy: Mutex<Option<StoredRoots>>,
}

struct StoredRoots {
    changes: u64,
    stored: Instant,
    roots: Vec<ClientRoot>,
}

impl RootsCopy {
    pub(crate) fn changed(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns the copy, or what `ask` returns if there is none or it may be outdated.
    pub(crate) async fn get(
        &self,
        ask: impl Future<Output = Result<Vec<ClientRoot>, Fault>>,
    ) -> Result<Vec<ClientRoot>, Fault> {
        let mut copy = self.copy.lock().await;
        let changes = self.changes.load(Ordering::SeqCst);
        if let Some(stored) = &*copy
            && stored.changes == changes
            && stored.stored.elapsed() < MAX_AGE
        {
            return Ok(stored.roots.clone());
        }
        let roots = ask.await?;
        *copy = Some(StoredRoots { changes, stored: Instant::now(), roots: roots.clone() });
        Ok(roots)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use futures_util::future::join_all;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_is_asked_again_after_a_change_or_some_time() {
        let (copy, asked) = (RootsCopy::default(), AtomicUsize::new(0));
        let get = || {
            copy.get(async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                let uri = format!("file:///{}", asked.fetch_add(1, Ordering::SeqCst));
                Ok(vec![ClientRoot { uri, name: None }])
            })
        };
        let all = join_all((0..64).map(|_| get())).await;
        assert!(all.iter().all(|roots| roots.as_ref().is_ok_and(|roots| roots[0].uri == "file:///0")));
        copy.changed();
        assert_eq!(get().await.expect("roots")[0].uri, "file:///1");
        tokio::time::advance(MAX_AGE).await;
        assert_eq!(get().await.expect("roots")[0].uri, "file:///2");
    }
}
