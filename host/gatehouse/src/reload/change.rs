//! Changes since the host was composed: on disk, with gate files that no preset uses, and of the listings of servers,
//! which update the views.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use gatehouse_core::{CompiledPreset, SourceId, ports::ServerRegistry as _};
use gatehouse_sandbox::FileStamp;
use gatehouse_wire::serve::PresetViews;
use tokio::{sync::watch, time::Instant};

use super::{PlainError, REMOVAL_GRACE, Reloader};
use crate::{
    built_in,
    compose::{Composition, HostServers},
    config::{Config, preset_files, trust},
};

/// Changes to apply together.
#[derive(Default)]
pub(super) struct ChangeSet {
    pub(super) configuration: Option<Arc<Config>>,
    /// Gates to load again, with the stamps of their current files.
    pub(super) reread: BTreeMap<String, FileStamp>,
    /// Gates with missing files, and the system's error.
    pub(super) withdraw: BTreeMap<String, String>,
}

impl ChangeSet {
    pub(super) fn is_empty(&self) -> bool {
        self.configuration.is_none() && self.reread.is_empty() && self.withdraw.is_empty()
    }

    /// Splits into single changes. Gates come first, so that a new configuration can use them.
    pub(super) fn split(&self) -> Vec<Self> {
        let mut parts = Vec::new();
        for (name, stamp) in self.reread.clone() {
            parts.push(Self { reread: [(name, stamp)].into(), ..Self::default() });
        }
        for (name, reason) in self.withdraw.clone() {
            parts.push(Self { withdraw: [(name, reason)].into(), ..Self::default() });
        }
        if self.configuration.is_some() {
            parts.push(Self { configuration: self.configuration.clone(), ..Self::default() });
        }
        parts
    }
}

impl Reloader {
    /// Reports a refused change, and records it so that it is not tried twice.
    pub(super) fn refuse(&mut self, change: &ChangeSet, reason: &str) {
        for (name, stamp) in &change.reread {
            self.refused.insert(name.clone(), stamp.clone());
            self.report.gate(name, format!("its file changed, and the new version is refused: {reason}"));
        }
        for (name, gone) in &change.withdraw {
            self.report.gate(name, format!("its file is missing ({gone}), but its tools stay: {reason}"));
        }
        if change.configuration.is_some() {
            self.report.configuration_refused(reason);
        }
    }

    /// Returns all directories to watch.
    pub(super) fn folders(&self) -> BTreeSet<PathBuf> {
        let configs = [Some(&self.current.config), self.pending_config.as_ref()];
        let mut folders: BTreeSet<_> = trust::folder().filter(|_| self.origin.by_trust).into_iter().collect();
        for config in configs.into_iter().flatten() {
            let files = config.file.iter().chain(config.gates.values().filter_map(|g| g.component.as_ref()));
            let files = files.chain(config.param_files.keys());
            folders.extend(files.filter_map(|file| Some(file.parent()?.to_path_buf())));
            folders.extend(preset_files::watched_skills(&config.skill_folders));
            // The default directory counts once it exists. The configuration's own directory, also watched, reports its
            // creation.
            let is_in_use = |folder: &&PathBuf| {
                config.default_gate_folder.as_ref() != Some(*folder) && config.lists_gates || folder.is_dir()
            };
            let is_watched = |folder: &&PathBuf| !built_in::is_folder(folder) && is_in_use(folder);
            folders.extend(config.gate_folders.iter().filter(is_watched).cloned());
            folders.extend(Some(HostServers::folder(config)).filter(|folder| folder.is_dir()));
        }
        folders
    }

    /// Compares files and configuration with the current composition.
    pub(super) async fn changes(&mut self) -> ChangeSet {
        let mut change = ChangeSet { configuration: self.pending_config.clone(), ..ChangeSet::default() };
        let loaded = self.current.gates.loaded().await;
        let names = loaded.keys().chain(&self.current.gates.withdrawn).cloned();
        // The files of gates of failing presets may have appeared or been fixed.
        let failing = self.current.config.gates_of(self.failing.iter());
        for name in names.chain(failing).collect::<BTreeSet<_>>() {
            let loaded_info = loaded.get(&name).map(|gate| gate.info());
            let gates = &self.current.gates;
            let now = gates.file_of(&name).and_then(|file| match gates.sandbox.stamp(&file) {
                Ok(stamp) => Ok((file, stamp)),
                Err(error) => Err(error.to_string().into()),
            });
            match now {
                Ok((file, stamp)) => {
                    self.missing.remove(&name);
                    let same = loaded_info.is_some_and(|info| info.file == file && info.stamp == stamp);
                    if !same && self.refused.get(&name) != Some(&stamp) {
                        change.reread.insert(name, stamp);
                    }
                }
                Err(reason) if loaded_info.is_some() => {
                    let since = *self.missing.entry(name.clone()).or_insert_with(Instant::now);
                    if since.elapsed() >= REMOVAL_GRACE {
                        self.missing.remove(&name);
                        change.withdraw.insert(name, reason.into());
                    }
                }
                Err(_) => {}
            }
        }
        change
    }

    /// Logs each gate in the directories that is not in any preset once: the user may expect its tools.
    pub(super) async fn log_idle_gates(&mut self) {
        let config = &self.current.config;
        let loaded = self.current.gates.loaded().await;
        let is_served = |name: &str| {
            let has = |source: &SourceId| matches!(source, SourceId::Gate(gate) if **gate == *name);
            let mut presets = config.served_presets().filter_map(|name| config.presets.get(name));
            loaded.contains_key(name)
                || presets.any(|preset| preset.sources.iter().any(|(source, _)| has(source)))
        };
        let mut idle = BTreeSet::new();
        for name in self.current.gates.names().into_iter().filter(|name| !is_served(name)) {
            // Shipped gates are expected to be idle.
            let folders = config.gate_folders.iter().filter(|folder| !built_in::is_folder(folder));
            let mut files = folders.map(|folder| folder.join(format!("{name}.wasm")));
            let Some(file) = files.find(|file| file.is_file()) else { continue };
            if !self.idle.contains(&name) {
                let key = toml_edit::Key::new(&name);
                tracing::warn!(
                    "{} is not in any preset; to serve it, add to a preset: gates.{key} = {{}}",
                    file.display()
                );
            }
            idle.insert(name);
        }
        self.idle = idle;
    }
}

/// Minimum time between updates for changed listings. Several servers may start together.
const MIN_RELIST_INTERVAL: Duration = Duration::from_millis(100);

impl Reloader {
    /// Builds the views of a composition. Fails if a preset breaks that works now.
    pub(super) async fn checked_views(&self, composition: &Composition) -> Result<PresetViews, PlainError> {
        let views = self.views(composition).await?;
        let broken = views.failing().into_iter().find(|(name, _)| !self.failing.contains(name));
        match broken {
            Some((preset, reason)) => {
                Err(format!("preset '{preset}' could not be served any more: {reason}").into())
            }
            None => Ok(views),
        }
    }

    /// Returns a receiver for changed server listings, marked as changed if some already arrived.
    pub(super) fn listings(&self) -> watch::Receiver<u64> {
        let mut listings = self.current.stores.servers.live.changes();
        if *listings.borrow_and_update() > 0 {
            listings.mark_changed();
        }
        listings
    }

    /// Requests listings from servers that gates of served presets may call and that were never listed, so that a first
    /// search finds their tools.
    pub(super) async fn ask_unlisted_servers(&mut self) {
        let config = &self.current.config;
        let live = &self.current.stores.servers.live;
        if live.status().is_empty() {
            return;
        }
        let chosen = self.origin.select(config).ok();
        let other_presets = config.served_presets().filter(|name| self.origin.all && config.is_served(name));
        let other_presets = other_presets.filter_map(|name| config.compiled(name).ok());
        let reaches_servers = |compiled: &CompiledPreset| self.current.reaches_servers(compiled);
        let compiled_presets: Vec<CompiledPreset> =
            chosen.into_iter().chain(other_presets).filter(reaches_servers).collect();
        let guards = live.ask_unlisted(|server| {
            compiled_presets.iter().any(|compiled| compiled.allows_server(&server.name, &server.tags))
        });
        self.listing_guards = guards.await;
    }

    /// Rebuilds views for changed server listings. Clients are notified if their lists changed.
    pub(super) async fn relist(&mut self) {
        // Limit the rate for servers that change their tools constantly.
        tokio::time::sleep_until(self.relisted + MIN_RELIST_INTERVAL).await;
        self.relisted = Instant::now();
        match self.checked_views(&self.current).await {
            Ok(views) => self.swap_views(views).await,
            Err(reason) => tracing::warn!("a server changed its tools, but they cannot be shown: {reason}"),
        }
    }

    /// Swaps the pointer of each preset to views of the current composition.
    pub(super) async fn swap_views(&mut self, views: PresetViews) {
        let current = &self.current;
        if let Ok(chosen) = self.origin.select(&current.config) {
            self.report.unmatched_patterns(current.unmatched_in_views(&views, &chosen).await);
        }
        self.failing = views.failing().into_keys().collect();
        let notified = self.presets.swap(views, &self.current.config.access.rules);
        self.report.swapped(&notified);
    }

    pub(super) async fn views(&self, composition: &Composition) -> Result<PresetViews, PlainError> {
        let chosen = self.origin.select(&composition.config)?;
        composition.views(&chosen, self.origin.all).await
    }
}
