//! Hot reload: what is served follows presets.toml and the gates' files, and never gets worse by it.
//! A change is composed aside, every gate described, every preset built; only then is it swapped in.
//! What does not pass leaves everything as it was, and the reason is said once.

mod change;
mod idle;
mod probation;
mod report;
mod views;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use gatehouse_sandbox::{FileStamp, Gate};
use gatehouse_wire::serve::ServedPresets;
use tokio::{sync::mpsc, time::Instant};

use crate::{
    built_in,
    compose::{Composition, HostServers, PresetViews},
    config::{Config, Env, file_params, trust},
    watch::DirectoryWatcher,
};
use change::ChangeSet;
use probation::{Probation, ProbationEnd, RolledBack};
pub(crate) use report::{ReloadHealth, ReloadReporter, short_digest};

/// Folders are looked at this often even where nothing tells of changes: mounted ones are silent.
const RESCAN: Duration = Duration::from_secs(30);

/// A file may be gone for so long before its gate goes too; some tools remove a file to write it anew.
const REMOVAL_GRACE: Duration = Duration::from_millis(500);

/// How the configuration was chosen; reading it again follows the same choice.
pub(crate) struct ConfigOrigin {
    /// `--gates`
    pub(crate) gates: Option<PathBuf>,
    /// `--preset`
    pub(crate) preset: Option<String>,
    /// The environment.
    pub(crate) env: Env,
    /// Whether presets are served by name.
    pub(crate) all: bool,
    /// Whether the configuration is in force because its content is trusted: another content is not.
    pub(crate) by_trust: bool,
}

/// Keeps what is served up to date with presets.toml and the files of gates.
pub(crate) struct Reloader {
    origin: ConfigOrigin,
    presets: Arc<ServedPresets>,
    current: Composition,
    failing: BTreeSet<String>,
    /// presets.toml as it was read last, good or not.
    text: Option<String>,
    /// What presets.toml asks for and does not get yet.
    wanted: Option<Arc<Config>>,
    /// Files that were tried and refused; another configuration may make them fit.
    refused: BTreeMap<String, FileStamp>,
    /// Digests of versions that trapped again and again, by gate: they are not served again, whatever file
    /// they come in.
    unfit: BTreeMap<String, BTreeSet<String>>,
    /// What gates were before their files went.
    former: BTreeMap<String, Arc<Gate>>,
    /// Gates whose files are gone, and since when.
    missing: BTreeMap<String, Instant>,
    probations: BTreeMap<String, Probation>,
    ended: (mpsc::Sender<ProbationEnd>, mpsc::Receiver<ProbationEnd>),
    report: ReloadReporter,
    /// Gates in the folders that no preset has.
    idle: BTreeSet<String>,
    /// When presets were last built anew because servers list other tools.
    relisted: Instant,
    /// Keeps servers being asked that were never listed.
    wanted_listings: Vec<Arc<()>>,
}

impl Reloader {
    /// `current` is what is served at first, with the views that could not be served.
    pub(crate) fn new(
        origin: ConfigOrigin,
        presets: Arc<ServedPresets>,
        current: Composition,
        failing: BTreeMap<String, String>,
        report: ReloadReporter,
    ) -> Self {
        Self {
            origin,
            presets,
            text: current.config.text.clone(),
            current,
            failing: failing.into_keys().collect(),
            wanted: None,
            refused: BTreeMap::new(),
            unfit: BTreeMap::new(),
            former: BTreeMap::new(),
            missing: BTreeMap::new(),
            probations: BTreeMap::new(),
            ended: mpsc::channel(16),
            report,
            idle: BTreeSet::new(),
            relisted: Instant::now(),
            wanted_listings: Vec::new(),
        }
    }

    /// Follows the files until the host ends.
    pub(crate) async fn run(mut self) {
        let mut watch = match DirectoryWatcher::new() {
            Ok(watch) => Some(watch),
            Err(error) => {
                tracing::warn!(%error, "files cannot be watched; they are looked at every 30 s instead");
                None
            }
        };
        tokio::task::block_in_place(|| {
            built_in::make_default_folder(&self.current.config);
            HostServers::make_folder(&self.current.config);
            self.current.gates.sweep();
        });
        self.current.gates.misnamed().iter().for_each(|why| tracing::warn!("{why}"));
        let mut listings = self.listings();
        loop {
            if let Some(watch) = &mut watch {
                watch.watch_only(&self.folders());
            }
            tokio::task::block_in_place(|| self.current.stores.servers.refresh());
            if let Err(fault) = self.current.stores.servers.live.check_for_changes().await {
                tracing::debug!("whether tools were approved is not known: {}", fault.in_one_line());
            }
            // Also at the start: files may have changed while the host came up.
            self.check_files().await;
            self.ask_unlisted_servers().await;
            self.say_idle_gates().await;
            let rest = if self.missing.is_empty() { RESCAN } else { REMOVAL_GRACE };
            let changed = async {
                match &mut watch {
                    Some(watch) => watch.next_change().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = changed => {}
                () = tokio::time::sleep(rest) => {}
                Some(end) = self.ended.1.recv() => self.end_probation(end).await,
                Ok(()) = listings.changed() => self.relist().await,
            }
        }
    }

    /// Looks for changes and applies what passes.
    async fn check_files(&mut self) {
        self.read_configuration();
        let change = self.changes().await;
        if change.is_empty() {
            return;
        }
        let Err(why) = self.apply(&change).await else { return };
        let parts = change.split();
        if parts.len() == 1 {
            return self.refuse(&change, &why);
        }
        // Together they do not work; each may do so alone.
        for part in parts {
            if let Err(why) = self.apply(&part).await {
                self.refuse(&part, &why);
            }
        }
    }

    /// Reads presets.toml if it says something new.
    fn read_configuration(&mut self) {
        let Some(file) = self.current.config.file.clone() else { return };
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) => {
                let why = format!("{}: cannot be read: {error}", file.display());
                self.text = None;
                return self.report.configuration_refused(&why);
            }
        };
        let in_force = self.wanted.as_ref().unwrap_or(&self.current.config);
        if self.text.as_ref() == Some(&text) && !file_params::changed(&in_force.inserted) {
            return;
        }
        if self.origin.by_trust && !trust::is_trusted(&file, &text) {
            // Looked at again until it is trusted, or as it was.
            (self.text, self.wanted) = (None, None);
            let file = file.display();
            let why = format!(
                "{file}: it has changed since it was trusted; to put the change in force, run `gatehouse trust {file}`"
            );
            return self.report.configuration_refused(&why);
        }
        self.text = Some(text.clone());
        // What was refused may fit the new configuration.
        self.refused.clear();
        let text = crate::config::ConfigText { file: Some(file), content: text };
        let state = Some(self.current.config.state.as_path());
        match Config::from_text(&text, self.origin.gates.as_deref(), state, &self.origin.env) {
            Ok(config) => self.wanted = Some(Arc::new(config)),
            Err(error) => {
                // A file that it names may come, or be mended.
                (self.text, self.wanted) = (None, None);
                self.report.configuration_refused(&error.to_string());
            }
        }
    }

    /// Composes anew with the change and swaps it in, or says why not and changes nothing.
    async fn apply(&mut self, change: &ChangeSet) -> Result<(), String> {
        let config = change.configuration.clone().unwrap_or_else(|| Arc::clone(&self.current.config));
        let reread = change.reread.keys().cloned().collect();
        let withdrawn =
            self.current.gates.withdrawn().iter().filter(|name| !change.reread.contains_key(*name));
        let withdrawn = withdrawn.chain(change.withdraw.keys()).cloned().collect();
        let next = self.current.next(config, &reread, withdrawn).await;
        let put_back = self.keep_out_unfit(change, &next).await?;
        // Presets show the servers that they will have; where they cannot be served, those before come back.
        next.stores.servers.follow(&next.config);
        let views = match self.checked_views(&next).await {
            Ok(views) => views,
            Err(why) => {
                self.current.stores.servers.follow(&self.current.config);
                return Err(why);
            }
        };
        let before = self.swap(next, views).await;
        self.finish_change(change, &before).await;
        for RolledBack { gate, unfit, served } in put_back {
            self.refused.extend(change.reread.get(&gate).map(|stamp| (gate.clone(), stamp.clone())));
            self.report.gate_rolled_back(&gate, &unfit, &served);
        }
        Ok(())
    }

    /// One pointer for each preset; the composition before is given back.
    async fn swap(&mut self, next: Composition, views: PresetViews) -> Composition {
        self.report_unmatched_patterns(&next, &views).await;
        self.failing = views.failing().into_keys().collect();
        let told = self.presets.swap(views.default, views.presets);
        self.report.swapped(&told);
        std::mem::replace(&mut self.current, next)
    }

    /// Says what is in force now, and puts gates on probation that are others than before.
    async fn finish_change(&mut self, change: &ChangeSet, before: &Composition) {
        let (old, new) = (before.gates.loaded().await, self.current.gates.loaded().await);
        for name in change.withdraw.keys() {
            self.former.extend(old.get(name).map(|gate| (name.clone(), Arc::clone(gate))));
        }
        for (name, gate) in &new {
            let digest = &gate.info().digest;
            let withdrawn = before.gates.is_withdrawn(name);
            let former = if withdrawn { self.former.remove(name) } else { old.get(name).cloned() };
            match former {
                Some(former) if former.info().digest != *digest => {
                    self.report.gate_reloaded(name, digest);
                    self.begin_probation(name, gate, former);
                }
                _ if withdrawn => self.report.gate_reloaded(name, digest),
                _ if change.reread.contains_key(name) => self.report.gate_settled(name),
                _ => {}
            }
        }
        for (name, stamp) in &change.reread {
            // A preset that was broken before may still be: its gate's file is not tried twice.
            if new.contains_key(name) {
                self.refused.remove(name);
            } else {
                self.refused.insert(name.clone(), stamp.clone());
            }
        }
        for (name, why) in &change.withdraw {
            self.report.gate_withdrawn(name, why);
        }
        if change.configuration.is_some() {
            self.wanted = None;
            self.report.configuration_applied(&before.config, &self.current.config);
            tokio::task::block_in_place(|| {
                built_in::make_default_folder(&self.current.config);
                HostServers::make_folder(&self.current.config);
                self.current.gates.sweep();
            });
        }
    }
}
