//! What became of changes: said once on standard error, and kept for `gatehouse status`.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use gatehouse_core::lock;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::config::Config;

/// The state of hot reload, as `gatehouse status` shows it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReloadHealth {
    /// Why the last edit of presets.toml is not in force.
    pub(crate) configuration: Option<String>,
    /// Gates whose file on disk is not what is served, with the reason.
    pub(crate) gates: BTreeMap<String, String>,
    /// What takes effect at the next start only.
    pub(crate) restart: Option<String>,
    /// Changes that were swapped in since the start.
    pub(crate) reloads: u64,
}

/// Where changes are reported.
#[derive(Clone, Default)]
pub(crate) struct ReloadReporter {
    health: Arc<watch::Sender<ReloadHealth>>,
    /// Patterns that were reported as unmatched, so that each is logged once while that lasts.
    unmatched: Arc<Mutex<Vec<String>>>,
}

impl ReloadReporter {
    /// Follows the state.
    pub(crate) fn follow(&self) -> watch::Receiver<ReloadHealth> {
        self.health.subscribe()
    }

    fn set(&self, change: impl FnOnce(&mut ReloadHealth)) {
        self.health.send_if_modified(|health| {
            let before = health.clone();
            change(health);
            *health != before
        });
    }

    pub(super) fn configuration_refused(&self, why: &str) {
        if self.health.borrow().configuration.as_deref() == Some(why) {
            return;
        }
        tracing::error!("{why} (what was served before stays as it was)");
        self.set(|health| health.configuration = Some(why.to_owned()));
    }

    pub(super) fn configuration_applied(&self, before: &Config, now: &Config) {
        let waits = [
            ("host.state", before.state_in_file != now.state_in_file),
            ("http", before.http != now.http),
            ("models", before.models != now.models),
            ("knowledge", before.knowledge != now.knowledge),
            ("documents", before.documents != now.documents),
            ("ledger", before.ledger != now.ledger),
            ("proxy", before.servers.proxy != now.servers.proxy),
        ];
        let waits: Vec<&str> =
            waits.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect();
        let restart = (!waits.is_empty()).then(|| waits.join(", "));
        tracing::info!("presets.toml was edited and is in force");
        if let Some(keys) = &restart {
            tracing::warn!(
                "{keys} in presets.toml changed: that takes effect when the host is started again"
            );
        }
        self.set(|health| {
            health.configuration = None;
            health.restart = restart.or(health.restart.take());
        });
    }

    pub(super) fn gate_reloaded(&self, gate: &str, digest: &str) {
        tracing::info!("gate '{gate}' was reloaded ({})", short_digest(digest));
        self.set(|health| drop(health.gates.remove(gate)));
    }

    /// Its file is again what is served.
    pub(super) fn gate_settled(&self, gate: &str) {
        self.set(|health| drop(health.gates.remove(gate)));
    }

    pub(super) fn gate_stays_unfit(&self, gate: &str, why: &str) {
        self.gate(
            gate,
            format!("it traps again and again, and the version before it cannot come back: {why}"),
        );
    }

    pub(super) fn gate_refused(&self, gate: &str, why: &str) {
        self.gate(gate, format!("its file changed, and the new version is refused: {why}"));
    }

    pub(super) fn gate_withdrawn(&self, gate: &str, why: &str) {
        self.gate(gate, format!("its tools are withdrawn until its file is back: {why}"));
    }

    pub(super) fn gate_rolled_back(&self, gate: &str, unfit: &str, served: &str) {
        let (unfit, served) = (short_digest(unfit), short_digest(served));
        self.gate(
            gate,
            format!("version {unfit} trapped three times in a row; version {served} is served again"),
        );
    }

    /// Its file is gone, and the host cannot do without it.
    pub(super) fn gate_stays(&self, gate: &str, gone: &str, why: &str) {
        self.gate(gate, format!("its file is gone ({gone}), and its tools stay: {why}"));
    }

    fn gate(&self, gate: &str, what: String) {
        if self.health.borrow().gates.get(gate) == Some(&what) {
            return;
        }
        tracing::error!("gate '{gate}': {what}");
        self.set(|health| drop(health.gates.insert(gate.to_owned(), what)));
    }

    /// Logs patterns of presets that match nothing, unless they did not before either.
    pub(crate) fn unmatched_patterns(&self, warnings: Vec<String>) {
        let mut known = lock(&self.unmatched);
        warnings.iter().filter(|why| !known.contains(why)).for_each(|why| tracing::warn!("{why}"));
        *known = warnings;
    }

    pub(super) fn swapped(&self, told: &[Option<String>]) {
        self.set(|health| health.reloads += 1);
        if !told.is_empty() {
            let presets: Vec<&str> =
                told.iter().map(|preset| preset.as_deref().unwrap_or("(served)")).collect();
            tracing::info!("lists changed in {}; connected clients are told", presets.join(", "));
        }
    }
}

/// As much of a digest as people compare.
pub(crate) fn short_digest(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}
