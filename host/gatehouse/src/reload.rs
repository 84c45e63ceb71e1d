//! Hot reload: applies changes of `presets.toml` and of gate files to the running host.
//!
//! Each change is composed separately, with every gate described and every preset built, and swapped in only if all of
//! that succeeds. A change that fails has no effect, and its reason is logged once.
//!
//! Longer than 300 lines because the steps of a reload share the state of the reloader.

mod change;
mod probation;
mod report;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use gatehouse_core::{CompiledPreset, Principal, hash, ports::audit::AuditKind};
use gatehouse_sandbox::{FileStamp, Gate};
use gatehouse_wire::serve::{PresetViews, ServedPresets};
use tokio::{sync::mpsc, time::Instant};

use crate::{
    built_in,
    compose::{Composition, HostServers},
    config::{
        Config, ConfigError, Env, NO_DEFAULT_PRESET, applied, preset_files, trust::TrustedFiles,
        widening::widening,
    },
    control::ReloadRequest,
    plain_error::PlainError,
    watch::DirectoryWatcher,
};
use change::ChangeSet;
use probation::{Probation, ProbationEnd, RolledBack};
pub(crate) use report::{ReloadHealth, ReloadReporter, short_digest};

/// Interval of scans without change events, which mounted directories may not send.
const RESCAN: Duration = Duration::from_secs(30);

/// Time without changes after which a configuration counts that could be caught half written.
const SETTLE_TIME: Duration = Duration::from_millis(500);

/// Time until a missing file withdraws its gate: some tools remove a file before they write it again.
const REMOVAL_GRACE: Duration = Duration::from_millis(500);

/// Options that selected the configuration. A reload uses the same ones.
pub(crate) struct ConfigOrigin {
    pub(crate) gates: Option<PathBuf>,
    pub(crate) preset: Option<String>,
    pub(crate) env: Env,
    pub(crate) all: bool,
    /// True if the configuration is used because its content is trusted. Changed content must be trusted again.
    pub(crate) by_trust: bool,
}

impl ConfigOrigin {
    /// Returns whether an option or a variable chooses the preset for clients that name none.
    pub(crate) fn chooses_preset(&self) -> bool {
        self.preset.is_some() || self.env.chooses_preset()
    }

    /// Returns the preset for clients that name none. A host over HTTP has none there if nothing chooses it.
    pub(crate) fn select(&self, config: &Config) -> Result<CompiledPreset, ConfigError> {
        match config.no_default().filter(|_| self.all && !self.chooses_preset()) {
            Some(_) => Ok(CompiledPreset::from_sources(NO_DEFAULT_PRESET, Vec::new())),
            None => config.select(self.preset.as_deref(), &self.env),
        }
    }
}

pub(crate) struct Reloader {
    origin: ConfigOrigin,
    presets: Arc<ServedPresets>,
    current: Composition,
    /// The configuration at the start.
    started: Arc<Config>,
    failing: BTreeSet<String>,
    /// Content of `presets.toml` at the last read, valid or not.
    text: Option<String>,
    pending_config: Option<Arc<Config>>,
    /// Content that may be half written, with the time at which it was first read.
    unsettled: Option<(String, Instant)>,
    /// Files that were refused. They are tried again with another configuration.
    refused: BTreeMap<String, FileStamp>,
    /// Digests of versions that trapped repeatedly, by gate. They are refused in any file.
    unfit: BTreeMap<String, BTreeSet<String>>,
    /// Gates whose files are missing, as they were served before.
    former: BTreeMap<String, Arc<Gate>>,
    /// Gates whose files are missing, with the time of that discovery.
    missing: BTreeMap<String, Instant>,
    probations: BTreeMap<String, Probation>,
    ended: (mpsc::Sender<ProbationEnd>, mpsc::Receiver<ProbationEnd>),
    report: ReloadReporter,
    idle: BTreeSet<String>,
    /// Time at which presets were last rebuilt because servers listed other tools.
    relisted: Instant,
    /// Handles that make the host connect to servers that were never listed.
    listing_guards: Vec<Arc<()>>,
}

impl Reloader {
    /// Takes the composition that is served first, with the presets that cannot be served.
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
            started: Arc::clone(&current.config),
            current,
            failing: failing.into_keys().collect(),
            pending_config: None,
            unsettled: None,
            refused: BTreeMap::new(),
            unfit: BTreeMap::new(),
            former: BTreeMap::new(),
            missing: BTreeMap::new(),
            probations: BTreeMap::new(),
            ended: mpsc::channel(16),
            report,
            idle: BTreeSet::new(),
            relisted: Instant::now(),
            listing_guards: Vec::new(),
        }
    }

    /// Applies changes, and reads the files again for each of the `requests`, which get their reply then.
    pub(crate) async fn run(mut self, mut requests: mpsc::Receiver<ReloadRequest>) {
        let mut watch = match DirectoryWatcher::new() {
            Ok(watch) => Some(watch),
            Err(error) => {
                tracing::warn!(%error, "cannot watch files; checking them every 30 s instead");
                None
            }
        };
        self.prepare_folders();
        self.current.gates.misnamed().iter().for_each(|warning| tracing::warn!("{warning}"));
        let mut listings = self.listings();
        let mut requested: Vec<ReloadRequest> = Vec::new();
        loop {
            if let Some(watch) = &mut watch {
                watch.watch_only(&self.folders());
            }
            tokio::task::block_in_place(|| self.current.stores.servers.refresh());
            if let Err(fault) = self.current.stores.servers.live.check_for_changes().await {
                tracing::debug!("cannot check for approved tools: {}", fault.in_one_line());
            }
            // The first check is immediate: files can change while the host starts.
            self.check_files().await;
            if self.unsettled.is_none() {
                for request in requested.drain(..) {
                    let _ = request.send(());
                }
            }
            self.ask_unlisted_servers().await;
            self.log_idle_gates().await;
            let rest = match (&self.unsettled, self.missing.is_empty()) {
                (Some(_), _) => SETTLE_TIME,
                (None, false) => REMOVAL_GRACE,
                (None, true) => RESCAN,
            };
            let changed = async {
                match &mut watch {
                    Some(watch) => watch.next_change().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = changed => {}
                () = tokio::time::sleep(rest) => {}
                Some(request) = requests.recv() => requested.push(request),
                Some(end) = self.ended.1.recv() => self.end_probation(end).await,
                Ok(()) = listings.changed() => self.relist().await,
            }
        }
    }

    fn prepare_folders(&self) {
        tokio::task::block_in_place(|| {
            built_in::make_default_folder(&self.current.config);
            HostServers::make_folder(&self.current.config);
            self.current.gates.sandbox.set_code_cap(self.current.config.cache_size);
        });
    }

    async fn check_files(&mut self) {
        self.read_configuration();
        let change = self.changes().await;
        if change.is_empty() {
            return;
        }
        let Err(reason) = self.apply(&change).await else { return };
        let parts = change.split();
        if parts.len() == 1 {
            return self.refuse(&change, &reason);
        }
        for part in parts {
            if let Err(reason) = self.apply(&part).await {
                self.refuse(&part, &reason);
            }
        }
    }

    /// Reads `presets.toml` and its file parameters, if they changed.
    fn read_configuration(&mut self) {
        let Some(file) = self.current.config.file.clone() else { return };
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) => {
                let reason = format!("{}: cannot be read: {error}", file.display());
                (self.text, self.unsettled) = (None, None);
                return self.report.configuration_refused(&reason);
            }
        };
        let in_force = self.pending_config.as_ref().unwrap_or(&self.current.config);
        if self.text.as_ref() == Some(&text)
            && !preset_files::params_changed(&in_force.param_files)
            && !preset_files::skills_changed(&in_force.skill_folders)
        {
            self.unsettled = None;
            return;
        }
        if (text.trim().is_empty() || self.current.config.auth.is_some()) && !self.has_settled(&text) {
            return;
        }
        self.unsettled = None;
        let trusts = |list: TrustedFiles| list.trusts(&file, text.as_bytes()) == Some(true);
        if self.origin.by_trust && !TrustedFiles::read().is_ok_and(trusts) {
            // Read again next time, until the file is trusted or restored.
            (self.text, self.pending_config) = (None, None);
            let file = file.display();
            let reason = format!(
                "{file}: it has changed since it was trusted; to apply the change, run `gatehouse trust {file}`"
            );
            return self.report.configuration_refused(&reason);
        }
        self.text = Some(text.clone());
        // Refused files may work with the new configuration.
        self.refused.clear();
        let text = crate::config::ConfigText { file: Some(file), content: text };
        let state = Some(self.current.config.state.as_path());
        let config = Config::from_text(&text, self.origin.gates.as_deref(), state, &self.origin.env);
        let reason = match config.and_then(|config| Ok((self.refusal(&config)?, config))) {
            Ok((None, config)) => {
                self.pending_config = Some(Arc::new(config));
                return;
            }
            Ok((Some(reason), _)) => reason,
            Err(error) => error.to_string(),
        };
        // Read again next time: a file that it names may appear or be corrected.
        (self.text, self.pending_config) = (None, None);
        self.report.configuration_refused(&reason);
    }

    /// Returns whether this content was the same for a while.
    fn has_settled(&mut self, text: &str) -> bool {
        match &self.unsettled {
            Some((seen, since)) if seen == text => {
                let is_settled = since.elapsed() >= SETTLE_TIME;
                if is_settled {
                    self.unsettled = None;
                }
                is_settled
            }
            _ => {
                self.unsettled = Some((text.to_owned(), Instant::now()));
                false
            }
        }
    }

    /// Returns the reason why a valid configuration waits. `None` if it applies now.
    fn refusal(&self, config: &Config) -> Result<Option<String>, ConfigError> {
        let (Some(file), Some(text), current) = (&config.file, &config.text, &self.current.config) else {
            return Ok(None);
        };
        // Clients are authenticated as at the start, so the rules must not change between both ways.
        if current.auth.is_none() && config.auth.is_some() {
            return Ok(Some("[auth] was added; restart the host to apply it".into()));
        }
        let lost = match text.trim().is_empty() {
            true => Some("the file is empty".to_owned()),
            false
                if !self.origin.chooses_preset()
                    && current.no_default().is_none()
                    && config.no_default().is_some() =>
            {
                Some(format!("it does not set default_preset = \"{}\" any more", current.default_preset))
            }
            false => current.auth.as_ref().and_then(|_| widening(current, config)),
        };
        let state = &self.current.config.state;
        let is_applied = || tokio::task::block_in_place(|| applied::is_applied(state, file, text));
        Ok(match lost {
            Some(lost) if !is_applied()? => {
                let file = file.display();
                Some(format!("{file}: {lost}; to apply the change, run `gatehouse presets apply`"))
            }
            Some(_) if current.auth.is_some() != config.auth.is_some() => {
                Some("[auth] was removed; restart the host to apply it".into())
            }
            _ => None,
        })
    }

    /// Composes the change and swaps it in. Returns the reason and changes nothing if that fails.
    async fn apply(&mut self, change: &ChangeSet) -> Result<(), PlainError> {
        let config = change.configuration.clone().unwrap_or_else(|| Arc::clone(&self.current.config));
        let reread = change.reread.keys().cloned().collect();
        let withdrawn = self.current.gates.withdrawn.iter().filter(|name| !change.reread.contains_key(*name));
        let withdrawn = withdrawn.chain(change.withdraw.keys()).cloned().collect();
        let next = self.current.with_config(config, &reread, withdrawn).await;
        let put_back = self.keep_out_unfit(change, &next).await?;
        // The presets must see the new set of servers. If they cannot be served, the old set is restored.
        next.stores.servers.follow(&next.config);
        let views = match self.checked_views(&next).await {
            Ok(views) => views,
            Err(reason) => {
                self.current.stores.servers.follow(&self.current.config);
                return Err(reason);
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

    /// Swaps the pointer of each preset, and returns the previous composition.
    async fn swap(&mut self, next: Composition, views: PresetViews) -> Composition {
        let before = std::mem::replace(&mut self.current, next);
        self.swap_views(views).await;
        before
    }

    async fn finish_change(&mut self, change: &ChangeSet, before: &Composition) {
        let (old, new) = (before.gates.loaded().await, self.current.gates.loaded().await);
        for name in change.withdraw.keys() {
            self.former.extend(old.get(name).map(|gate| (name.clone(), Arc::clone(gate))));
        }
        for (name, gate) in &new {
            let digest = &gate.info().digest;
            let withdrawn = before.gates.withdrawn.contains(name);
            let former = if withdrawn { self.former.remove(name) } else { old.get(name).cloned() };
            match former {
                Some(former) if former.info().digest != *digest => {
                    self.report.gate_reloaded(name, digest);
                    self.begin_probation(name, gate, former);
                }
                _ if withdrawn => self.report.gate_reloaded(name, digest),
                _ if change.reread.contains_key(name) => self.report.gate_in_sync(name),
                _ => {}
            }
        }
        for (name, stamp) in &change.reread {
            // A preset may still fail for another reason. Do not try the gate's file again.
            if new.contains_key(name) {
                self.refused.remove(name);
            } else {
                self.refused.insert(name.clone(), stamp.clone());
            }
        }
        for (name, reason) in &change.withdraw {
            self.report.gate(name, format!("its tools are withdrawn until its file is back: {reason}"));
        }
        if change.configuration.is_some() {
            self.pending_config = None;
            self.report.configuration_applied(&self.started, &self.current.config);
            self.current.stores.quotas.set_rules(self.current.config.quotas.clone());
            if let Some(audit) = self.current.stores.audit_log() {
                let digest = self.text.as_deref().map(hash::sha256_hex).unwrap_or_default();
                let details = format!("presets.toml is in use, SHA-256 {digest}");
                audit.record_event(AuditKind::Configuration, &Principal::Local, "ok", &details);
            }
            self.prepare_folders();
        }
    }
}
