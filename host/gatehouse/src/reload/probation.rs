//! Probation: a newly loaded version that traps repeatedly is replaced by the previous one.
//!
//! Digests identify versions. Rewriting a file with the same content neither restarts the probation nor brings a
//! rolled-back version into use again.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use gatehouse_sandbox::Gate;
use tokio::task::JoinSet;

use super::{PlainError, Reloader, change::ChangeSet, report::short_digest};
use crate::compose::Composition;

/// Probation time. A version that traps three times in a row in this time is rolled back.
const PROBATION: Duration = Duration::from_secs(60);

pub(super) struct Probation {
    digest: String,
    before: Arc<Gate>,
    /// Waits for the end of the probation, and owns the version only that long.
    _watch: JoinSet<()>,
}

/// A rolled-back gate, with the digests of both versions.
pub(super) struct RolledBack {
    pub(super) gate: String,
    pub(super) unfit: String,
    pub(super) served: String,
}

pub(super) struct ProbationEnd {
    gate: String,
    digest: String,
    unfit: bool,
}

impl Reloader {
    pub(super) fn begin_probation(&mut self, name: &str, gate: &Arc<Gate>, before: Arc<Gate>) {
        let digest = gate.info().digest.clone();
        // If the replaced version was on probation itself, fall back to the last version that passed.
        let before = self.probations.remove(name).map_or(before, |probation| probation.before);
        if before.info().digest == digest {
            return;
        }
        let mut watch = JoinSet::new();
        let (sender, gate) = (self.ended.0.clone(), Arc::clone(gate));
        watch.spawn(async move {
            let unfit = tokio::time::timeout(PROBATION, gate.wait_until_unfit()).await.is_ok();
            let (name, digest) = (gate.info().name.clone(), gate.info().digest.clone());
            let _ = sender.send(ProbationEnd { gate: name, digest, unfit }).await;
        });
        self.probations.insert(name.to_owned(), Probation { digest, before, _watch: watch });
    }

    /// Prevents rolled-back versions from being served again, in any file. For a withdrawn gate, restores the last
    /// served version instead of failing.
    pub(super) async fn keep_out_unfit(
        &self,
        change: &ChangeSet,
        next: &Composition,
    ) -> Result<Vec<RolledBack>, PlainError> {
        let mut put_back = Vec::new();
        for name in change.reread.keys() {
            let (Some(unfit), Ok(gate)) = (self.unfit.get(name), next.gates.get(name).await) else {
                continue;
            };
            let digest = &gate.info().digest;
            if !unfit.contains(digest) {
                continue;
            }
            let withdrawn = self.current.gates.withdrawn.contains(name);
            let Some(former) = self.former.get(name).filter(|_| withdrawn) else {
                bail!(
                    "version {} trapped three times in a row before; build another version, or restart the host \
                    to serve it anyway",
                    short_digest(digest)
                );
            };
            next.gates.restore(former).await?;
            let served = former.info().digest.clone();
            put_back.push(RolledBack { gate: name.clone(), unfit: digest.clone(), served });
        }
        Ok(put_back)
    }

    pub(super) async fn end_probation(&mut self, end: ProbationEnd) {
        let ProbationEnd { gate: name, digest, unfit } = end;
        if self.probations.get(&name).is_none_or(|probation| probation.digest != digest) {
            return;
        }
        let Some(Probation { before, .. }) = self.probations.remove(&name).filter(|_| unfit) else { return };
        self.unfit.entry(name.clone()).or_default().insert(digest.clone());
        if self.former.get(&name).is_some_and(|former| former.info().digest == digest) {
            // The file is missing at the moment. Compare the next version with the previous one.
            self.former.insert(name, before);
            return;
        }
        let bad = self.current.gates.loaded().await.remove(&name);
        let Some(bad) = bad.filter(|bad| bad.info().digest == digest) else { return };
        let config = Arc::clone(&self.current.config);
        let next =
            self.current.with_config(config, &BTreeSet::new(), self.current.gates.withdrawn.clone()).await;
        // Apply the current settings, not those from the time when the version was served.
        let back = match next.gates.restore(&before).await {
            Ok(()) => self.views(&next).await,
            Err(reason) => Err(reason),
        };
        match back {
            Ok(views) => {
                self.refused.insert(name.clone(), bad.info().stamp.clone());
                self.swap(next, views).await;
                self.report.gate_rolled_back(&name, &digest, &before.info().digest);
            }
            Err(reason) => {
                let message =
                    format!("it traps repeatedly, and the previous version cannot be restored: {reason}");
                self.report.gate(&name, message);
            }
        }
    }
}
