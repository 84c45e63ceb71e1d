//! Free space of the disk with the audit.

use std::{
    path::Path,
    sync::Mutex,
    time::{Duration, Instant},
};

use gatehouse_core::lock;

/// Below this, refused calls get no entries: any client can cause them, and the rest is for revoked keys and for calls
/// that change something.
const MIN_FREE_BYTES: u64 = 16 << 20;

const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The last measurement.
#[derive(Default)]
pub(super) struct FreeSpace(Mutex<Option<(Instant, bool)>>);

impl FreeSpace {
    /// Returns true if little space is left next to a file. Measures at most once per second.
    pub(super) fn is_low(&self, file: &Path) -> bool {
        let mut last = lock(&self.0);
        let now = Instant::now();
        match *last {
            Some((at, is_low)) if now.saturating_duration_since(at) < CHECK_INTERVAL => is_low,
            _ => {
                let is_low = free_bytes(file).is_some_and(|bytes| bytes < MIN_FREE_BYTES);
                *last = Some((now, is_low));
                is_low
            }
        }
    }
}

fn free_bytes(file: &Path) -> Option<u64> {
    let about = rustix::fs::statvfs(file.parent()?).ok()?;
    Some(about.f_bavail.saturating_mul(about.f_frsize))
}
