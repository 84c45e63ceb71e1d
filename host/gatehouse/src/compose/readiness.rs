//! Readiness of this host: keys and audit can be read, the data directory can be written, and the stores that calls have
//! used answer.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use async_trait::async_trait;
use gatehouse_core::{
    Fault,
    ports::{
        KeyStore as _,
        readiness::{ReadinessCheck, ReadinessReport},
    },
};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

use super::HostStores;

/// How long a result is used again. Anyone may ask, so asking must not cost much.
const RESULT_LIFETIME: Duration = Duration::from_secs(5);

/// Maximum time of a check. A store that does not answer by then fails.
const MAX_CHECK_TIME: Duration = Duration::from_secs(2);

/// Bytes to write. A full disk often has room for a few more bytes.
const PROBE_BYTES: usize = 64 << 10;

pub(crate) struct HostReadiness {
    state: PathBuf,
    stores: HostStores,
    /// True if clients need keys or tokens.
    has_auth: bool,
    /// The last result. Also keeps checks from running side by side.
    last: Mutex<Option<(Instant, ReadinessReport)>>,
}

impl HostReadiness {
    pub(crate) fn new(state: PathBuf, stores: HostStores, has_auth: bool) -> Self {
        Self { state, stores, has_auth, last: Mutex::default() }
    }

    async fn check(&self) -> ReadinessReport {
        let HostStores { knowledge, documents, artifacts, keys, audit, .. } = &self.stores;
        let state = self.state.clone();
        let storage = async {
            let written = tokio::task::spawn_blocking(move || write_probe(&state)).await;
            written.is_ok_and(|written| written.is_ok())
        };
        let (storage, keys, audit, knowledge, documents, artifacts) = tokio::join!(
            in_time(storage),
            in_time(async { !self.has_auth || keys.version().await.is_ok() }),
            in_time(async { !self.stores.audits || audit.check_readable().await.is_ok() }),
            in_time(async { answers(knowledge.health_if_used().await) }),
            in_time(async { answers(documents.health_if_used().await) }),
            in_time(async { answers(artifacts.health_if_used().await) }),
        );
        let parts = [
            ("keys", keys),
            ("audit", audit),
            ("knowledge", knowledge),
            ("documents", documents),
            ("artifacts", artifacts),
        ];
        ReadinessReport {
            failing: parts.into_iter().filter(|(_, works)| !works).map(|(name, _)| name).collect(),
            not_writable: if storage { Vec::new() } else { vec!["storage"] },
        }
    }
}

#[async_trait]
impl ReadinessCheck for HostReadiness {
    async fn report(&self) -> ReadinessReport {
        let mut last = self.last.lock().await;
        if let Some((at, report)) = &*last
            && at.elapsed() < RESULT_LIFETIME
        {
            return report.clone();
        }
        let report = self.check().await;
        if !report.failing.is_empty() {
            tracing::warn!("not ready: {} failing", report.failing.join(", "));
        }
        if !report.not_writable.is_empty() {
            tracing::warn!(
                "cannot write {}: calls that change something fail",
                report.not_writable.join(", ")
            );
        }
        *last = Some((Instant::now(), report.clone()));
        report
    }
}

async fn in_time(check: impl Future<Output = bool>) -> bool {
    timeout(MAX_CHECK_TIME, check).await.unwrap_or(false)
}

/// Whether a store works. One that no call has used yet is not asked.
fn answers<T>(health: Option<Result<T, Fault>>) -> bool {
    health.is_none_or(|health| health.is_ok())
}

fn write_probe(state: &Path) -> std::io::Result<()> {
    gatehouse_files::make_private(state)?;
    let mut file = tempfile::tempfile_in(state)?;
    file.write_all(&vec![0; PROBE_BYTES])?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_cannot_be_written_fails() {
        let folder = tempfile::tempdir().unwrap();
        write_probe(&folder.path().join("new/state")).unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        assert!(write_probe(&folder.path().join("file/state")).is_err());
        assert!(answers::<()>(None) && answers(Some(Ok(()))));
        assert!(!answers::<()>(Some(Err(Fault::unavailable("down")))));
    }
}
