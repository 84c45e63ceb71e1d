//! Reports of reloads: logged once to standard error, and stored for `gatehouse status`.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use gatehouse_core::lock;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::config::Config;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReloadHealth {
    /// Reason that the last edit of `presets.toml` is not in use.
    pub(crate) configuration: Option<String>,
    /// Gates that are served in another version than their file, with the reason.
    pub(crate) gates: BTreeMap<String, String>,
    /// Keys whose changes need a restart.
    pub(crate) restart: Option<String>,
    pub(crate) reloads: u64,
}

#[derive(Clone, Default)]
pub(crate) struct ReloadReporter {
    health: Arc<watch::Sender<ReloadHealth>>,
    /// Unmatched patterns reported so far, to log each only once.
    unmatched: Arc<Mutex<Vec<String>>>,
}

impl ReloadReporter {
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

    pub(super) fn configuration_refused(&self, reason: &str) {
        if self.health.borrow().configuration.as_deref() == Some(reason) {
            return;
        }
        tracing::error!("{reason} (the previous configuration stays in use)");
        self.set(|health| health.configuration = Some(reason.to_owned()));
    }

    /// Reports a new configuration, and the keys that differ from those at the start and need another one.
    pub(super) fn configuration_applied(&self, started: &Config, now: &Config) {
        let waits = [
            ("host.state", started.state_in_file != now.state_in_file),
            ("http", started.http != now.http),
            ("admin", started.admin != now.admin),
            ("auth", started.auth != now.auth),
            ("models", started.models != now.models),
            ("knowledge", started.knowledge != now.knowledge),
            ("documents", started.documents != now.documents),
            ("artifacts", started.artifacts != now.artifacts),
            ("ledger", started.ledger != now.ledger),
            ("audit", started.audit != now.audit),
            ("proxy", started.servers.proxy != now.servers.proxy),
        ];
        let waits: Vec<&str> =
            waits.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect();
        let restart = (!waits.is_empty()).then(|| waits.join(", "));
        tracing::info!("presets.toml changed and is in use");
        if let Some(keys) = restart.as_ref().filter(|_| self.health.borrow().restart != restart) {
            tracing::warn!("{keys} changed in presets.toml; restart the host to apply the change");
        }
        self.set(|health| {
            health.configuration = None;
            health.restart = restart;
        });
    }

    pub(super) fn gate_reloaded(&self, gate: &str, digest: &str) {
        tracing::info!("gate '{gate}' was reloaded ({})", short_digest(digest));
        self.set(|health| drop(health.gates.remove(gate)));
    }

    /// Clears the problem of a gate whose file is the served version again.
    pub(super) fn gate_in_sync(&self, gate: &str) {
        self.set(|health| drop(health.gates.remove(gate)));
    }

    pub(super) fn gate_rolled_back(&self, gate: &str, unfit: &str, served: &str) {
        let (unfit, served) = (short_digest(unfit), short_digest(served));
        let message =
            format!("version {unfit} trapped three times in a row; version {served} is served again");
        self.gate(gate, message);
    }

    /// Reports a gate that is served in another version than its file.
    pub(super) fn gate(&self, gate: &str, message: String) {
        if self.health.borrow().gates.get(gate) == Some(&message) {
            return;
        }
        tracing::error!("gate '{gate}': {message}");
        self.set(|health| drop(health.gates.insert(gate.to_owned(), message)));
    }

    /// Logs unmatched patterns of presets that were not logged before.
    pub(crate) fn unmatched_patterns(&self, warnings: Vec<String>) {
        let mut reported_warnings = lock(&self.unmatched);
        warnings
            .iter()
            .filter(|warning| !reported_warnings.contains(warning))
            .for_each(|warning| tracing::warn!("{warning}"));
        *reported_warnings = warnings;
    }

    pub(super) fn swapped(&self, notified: &[Option<String>]) {
        self.set(|health| health.reloads += 1);
        if !notified.is_empty() {
            let presets: Vec<&str> =
                notified.iter().map(|preset| preset.as_deref().unwrap_or("(served)")).collect();
            tracing::info!("lists changed in {}; connected clients are notified", presets.join(", "));
        }
    }
}

pub(crate) fn short_digest(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Env, tests::parse};

    #[test]
    fn blocks_that_are_read_only_at_the_start_wait_for_a_restart() {
        let config = |content: &str| parse(content, &Env::default()).expect("valid");
        let report = ReloadReporter::default();
        let change = |content: &str| {
            report.configuration_applied(&config(""), &config(content));
            report.follow().borrow().restart.clone()
        };
        assert_eq!(change("[gates.kg]\ngrants = [\"knowledge\"]\n"), None);
        assert_eq!(change("[artifacts]\nttl_hours = 24\n").as_deref(), Some("artifacts"));
        assert_eq!(change("[artifacts]\nmax_bytes = \"2 MiB\"\n").as_deref(), Some("artifacts"));
        let both = "[ledger]\nenabled = false\n[artifacts]\nengine = \"postgres\"\n";
        assert_eq!(change(both).as_deref(), Some("artifacts, ledger"));
        assert_eq!(change(""), None, "taken back");
    }
}
