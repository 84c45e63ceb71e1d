//! Metrics that are read from the running host at each scrape.

use std::sync::{Arc, Weak};

use gatehouse_core::ports::{ServerRegistry as _, servers::CircuitState};
use gatehouse_sandbox::Sandbox;
use gatehouse_telemetry::Metrics;
use gatehouse_wire::serve::ServedPresets;
use tokio::sync::watch;

use crate::{compose::HostServers, reload::ReloadHealth, telemetry};

/// Parts of the host that have metrics.
pub(crate) struct ScrapedHost {
    pub(crate) sandbox: Sandbox,
    pub(crate) servers: Arc<HostServers>,
    pub(crate) presets: Weak<ServedPresets>,
    pub(crate) reloads: watch::Receiver<ReloadHealth>,
}

impl ScrapedHost {
    /// Reads the metrics at each scrape from now on.
    pub(crate) fn begin(self, metrics: &Metrics) {
        metrics.on_scrape(move |metrics| self.refresh(metrics));
    }

    fn refresh(&self, metrics: &Metrics) {
        let (running, most) = self.sandbox.instances();
        metrics.instances.series([]).set(gauge(running));
        metrics.max_instances.series([]).set(gauge(most));
        // Servers and files may have been removed.
        metrics.open_circuits.clear();
        for server in self.servers.live.status() {
            let is_open = server.circuit == CircuitState::Open;
            metrics.open_circuits.series([&server.name]).set(is_open.into());
        }
        if let Some(presets) = self.presets.upgrade() {
            let (served, failing) = presets.counts();
            metrics.presets.series(["served"]).set(gauge(served));
            metrics.presets.series(["failing"]).set(gauge(failing));
        }
        let health = self.reloads.borrow();
        metrics.outdated.clear();
        metrics.outdated.series(["presets.toml"]).set(health.configuration.is_some().into());
        for gate in health.gates.keys() {
            metrics.outdated.series([gate]).set(1);
        }
        Metrics::set_counter(&metrics.reloads, health.reloads);
        Metrics::set_counter(&metrics.log_losses, telemetry::lost_lines() as u64);
    }
}

fn gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
