//! Probation: a version that was just loaded and traps again and again makes room for the one before it.
//!
//! A version is a content, known by its digest. A file that is touched, or written again as it was, is no new
//! version: its probation goes on, and one that was rolled back does not come back.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use gatehouse_sandbox::Gate;
use tokio::task::JoinSet;

use super::{Reloader, change::ChangeSet, report::short_digest};
use crate::compose::Composition;

/// How long a version that was just loaded must not trap three times in a row, else the one before it
/// comes back.
const PROBATION: Duration = Duration::from_secs(60);

/// A version of a gate on probation, and the one before it.
pub(super) struct Probation {
    digest: String,
    before: Arc<Gate>,
    /// Waits for the end of it, and holds the version meanwhile: no longer than the probation lasts.
    _watch: JoinSet<()>,
}

/// A gate that is served in an older version again, and the digests of both.
pub(super) struct RolledBack {
    pub(super) gate: String,
    pub(super) unfit: String,
    pub(super) served: String,
}

/// How a probation ended.
pub(super) struct ProbationEnd {
    gate: String,
    digest: String,
    unfit: bool,
}

impl Reloader {
    pub(super) fn begin_probation(&mut self, name: &str, gate: &Arc<Gate>, before: Arc<Gate>) {
        let digest = gate.info().digest.clone();
        // A version that replaces one on probation falls back to the one that had passed its own.
        let before = self.probations.remove(name).map_or(before, |probation| probation.before);
        if before.info().digest == digest {
            return;
        }
        let mut watch = JoinSet::new();
        let (sender, gate, probed) = (self.ended.0.clone(), Arc::clone(gate), name.to_owned());
        let of = digest.clone();
        watch.spawn(async move {
            let unfit = tokio::time::timeout(PROBATION, gate.wait_until_unfit()).await.is_ok();
            let _ = sender.send(ProbationEnd { gate: probed, digest: of, unfit }).await;
        });
        self.probations.insert(name.to_owned(), Probation { digest, before, _watch: watch });
    }

    /// Keeps versions out that were rolled back before, in whatever file they come again. Where the gate is
    /// served, the error says which version it was; where its file had gone, the version that was served
    /// then comes back instead.
    pub(super) async fn keep_out_unfit(
        &self,
        change: &ChangeSet,
        next: &Composition,
    ) -> Result<Vec<RolledBack>, String> {
        let mut put_back = Vec::new();
        for name in change.reread.keys() {
            let (Some(unfit), Ok(gate)) = (self.unfit.get(name), next.gate(name).await) else { continue };
            let digest = &gate.info().digest;
            if !unfit.contains(digest) {
                continue;
            }
            match self.former.get(name).filter(|_| self.current.gates.is_withdrawn(name)) {
                Some(former) => {
                    next.gates.restore(former).await?;
                    let served = former.info().digest.clone();
                    put_back.push(RolledBack { gate: name.clone(), unfit: digest.clone(), served });
                }
                None => {
                    return Err(format!(
                        "version {} trapped three times in a row before; build another one, or start the host \
                         again to serve it all the same",
                        short_digest(digest)
                    ));
                }
            }
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
            // Its file is gone for the moment: what comes next is measured against the version before.
            self.former.insert(name, before);
            return;
        }
        let bad = self.current.gates.loaded().await.remove(&name);
        let Some(bad) = bad.filter(|bad| bad.info().digest == digest) else { return };
        let config = Arc::clone(&self.current.config);
        let next = self.current.next(config, &BTreeSet::new(), self.current.gates.withdrawn().clone()).await;
        // What it may do is what presets.toml says now, not what it said when that version was served.
        let back = match next.gates.restore(&before).await {
            Ok(()) => self.views(&next).await,
            Err(why) => Err(why),
        };
        match back {
            Ok(views) => {
                self.refused.insert(name.clone(), bad.info().stamp.clone());
                self.swap(next, views).await;
                self.report.gate_rolled_back(&name, &digest, &before.info().digest);
            }
            Err(why) => self.report.gate_stays_unfit(&name, &why),
        }
    }
}
