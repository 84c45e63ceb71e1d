//! Reports of running hosts about one gate: that they refuse a build, or rolled it back.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::presence;

const POLL_INTERVAL: Duration = Duration::from_secs(1);

pub(super) struct HostWatcher {
    state: PathBuf,
    gate: String,
    known: BTreeMap<u32, String>,
}

impl HostWatcher {
    pub(super) fn new(state: &Path, gate: &str) -> Self {
        Self { state: state.to_owned(), gate: gate.to_owned(), known: BTreeMap::new() }
    }

    pub(super) async fn next_reports(&mut self) -> Vec<String> {
        loop {
            let now = tokio::task::block_in_place(|| self.current_reports());
            let news = now.iter().filter(|(process, why)| self.known.get(process) != Some(why));
            let lines: Vec<String> = news
                .map(|(process, why)| format!("host of process {process}: gate '{}': {why}", self.gate))
                .collect();
            self.known = now;
            if !lines.is_empty() {
                return lines;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    fn current_reports(&self) -> BTreeMap<u32, String> {
        let hosts = presence::running(&self.state).into_iter();
        hosts.filter_map(|mut host| Some((host.facts.pid, host.health.gates.remove(&self.gate)?))).collect()
    }
}
