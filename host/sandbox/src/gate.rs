//! A gate: a component file under a name, with its grants and limits. What it does for clients stands in `source.rs`.

use std::{path::PathBuf, sync::Arc, time::Duration};

use gatehouse_core::{
    SourceId,
    capability::{Grants, RequestedCapabilities},
    fair_semaphore::FairPermit,
    http::{HttpRules, Redactor},
    nesting::MAX_DEPTH,
    outcome::Fault,
    source::Listing,
};
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::Instant,
};

use crate::{
    capability::{InstanceContext, RunningCall},
    folders::{self, GuestFolder},
    idle_instances::IdleInstances,
    index::{FileStamp, GateIndex},
    instance::LoadedComponent,
    limits::SandboxLimits,
    loader::{GateSettings, LoadError, SandboxState, check_pin},
    version::GateVersion,
    wasi::threads::FileThreads,
};

/// The longest a gate may take to describe itself.
pub(crate) const DESCRIBE_TIME: Duration = Duration::from_secs(5);

/// What can be told of a gate without calling a tool.
#[derive(Debug, Clone, Serialize)]
pub struct GateInfo {
    /// Its name in presets.toml.
    pub name: String,
    /// The component's file.
    pub file: PathBuf,
    /// The file as it was when this gate was made of it.
    #[serde(skip)]
    pub stamp: FileStamp,
    /// Bytes of the file.
    pub size: u64,
    /// SHA-256 of the file, hexadecimal.
    pub digest: String,
    /// What it imports.
    pub ask: RequestedCapabilities,
    /// What presets.toml grants it.
    pub grants: Grants,
    /// Hosts that it may send HTTP requests to.
    pub http: Vec<String>,
    /// Folders that presets.toml shows it.
    pub folders: Vec<GuestFolder>,
    /// Whether an instance serves one call after the other.
    pub reuse: bool,
}

/// One loaded gate: a version of its component, under what presets.toml says about it.
pub struct Gate {
    id: SourceId,
    name: Arc<str>,
    info: GateInfo,
    grants: Arc<Grants>,
    http: Arc<HttpRules>,
    limits: SandboxLimits,
    shared: Arc<SandboxState>,
    version: Arc<GateVersion>,
    /// By the depth of the call, as the places of the pool are: gates that call each other do not wait for
    /// turns that they hold themselves.
    turns: [Semaphore; MAX_DEPTH + 1],
    idle: Option<IdleInstances>,
    threads: Arc<FileThreads>,
}

impl Gate {
    /// Faults where presets.toml pins another content.
    pub(crate) fn new(
        name: &str,
        version: Arc<GateVersion>,
        settings: GateSettings,
        shared: Arc<SandboxState>,
    ) -> Result<Self, LoadError> {
        let pin = settings.sha256.as_deref();
        check_pin(pin, &version.digest).map_err(|why| LoadError::new(&version.file, why))?;
        let GateSettings { grants, http, limits, folders, reuse, .. } = settings;
        let http = http.unwrap_or_else(|| Arc::new(HttpRules::deny_all(name)));
        let info = GateInfo {
            name: name.to_owned(),
            file: version.file.clone(),
            stamp: version.stamp.clone(),
            size: version.stamp.size(),
            digest: version.digest.clone(),
            ask: version.ask.clone(),
            grants,
            http: http.hosts(),
            folders,
            reuse,
        };
        let name: Arc<str> = name.into();
        Ok(Self {
            id: SourceId::Gate(Arc::clone(&name)),
            threads: shared.threads.for_gate(&name),
            name,
            grants: Arc::new(info.grants.clone()),
            idle: reuse.then(|| IdleInstances::new(Arc::clone(&shared.reserve), limits.concurrency)),
            info,
            http,
            turns: std::array::from_fn(|_| Semaphore::new(limits.concurrency)),
            limits,
            shared,
            version,
        })
    }

    /// The same version under other settings. Faults where they pin another content.
    pub fn with_settings(&self, settings: GateSettings) -> Result<Self, LoadError> {
        Self::new(&self.name, Arc::clone(&self.version), settings, Arc::clone(&self.shared))
    }

    /// Ends when calls have trapped three times in a row: a version that was just loaded is then not fit
    /// to stay.
    pub async fn wait_until_unfit(&self) {
        self.version.traps.wait_until_unfit().await;
    }

    /// What is known about it.
    pub fn info(&self) -> &GateInfo {
        &self.info
    }

    /// Its limits.
    pub fn limits(&self) -> &SandboxLimits {
        &self.limits
    }

    /// The redactor for the secrets of its HTTP rules.
    pub(crate) fn secrets(&self) -> &Redactor {
        self.http.redactor()
    }

    pub(crate) async fn component(&self) -> Result<&LoadedComponent, Fault> {
        self.version.component(&self.shared).await.map_err(|error| {
            let hint = match error.is_of_host {
                true => {
                    "Give the host more memory and address space; `ulimit -v` shows the limit of a shell."
                }
                false => "Build the gate again, or remove it from the preset.",
            };
            Fault::unavailable(format!("Gate '{}' cannot be loaded: {error}", self.name)).hint(hint)
        })
    }

    /// What it says about itself under these parameters, asked anew and not judged yet. [`Source::list`]
    /// answers from what is known, and judges.
    pub async fn describe(&self, given: &Map<String, Value>) -> Result<Listing, Fault> {
        let params: Arc<str> = serde_json::to_string(given).unwrap_or_default().into();
        let ready = self.component().await?;
        let _place = self.shared.places.take(&self.name, &[]).await;
        let facts = self.facts(Arc::clone(&params), None);
        let listing = ready.describe(facts, Instant::now() + DESCRIBE_TIME, &params).await;
        listing.map_err(|ended| ended.fault)
    }

    pub(crate) fn facts(&self, params: Arc<str>, call: Option<RunningCall>) -> InstanceContext {
        InstanceContext {
            gate: Arc::clone(&self.name),
            grants: Arc::clone(&self.grants),
            ports: self.shared.ports.clone(),
            params,
            http: Arc::clone(&self.http),
            limits: self.limits.clone(),
            memory: self.shared.capacity.memory.clone(),
            threads: Arc::clone(&self.threads),
            call,
        }
    }

    /// Tells the operator what was taken out of the listing before anybody saw it.
    pub(crate) fn report_removed_text(&self, listing: Arc<Listing>) -> Arc<Listing> {
        for (tool, count) in &listing.removed {
            let gate = &*self.name;
            tracing::warn!(target: "gate", gate, tool, count, "invisible characters were removed from what the gate says about itself");
        }
        listing
    }

    /// Instances that wait for a call, where they are reused.
    pub(crate) fn idle(&self) -> Option<&IdleInstances> {
        self.idle.as_ref()
    }

    /// What is known of gates.
    pub(crate) fn index(&self) -> &GateIndex {
        &self.shared.index
    }

    /// Who it is.
    pub(crate) fn source_id(&self) -> &SourceId {
        &self.id
    }

    /// Notes how something ended that was done for a client.
    pub(crate) fn observe(&self, trapped: bool) {
        self.version.traps.observe(trapped);
    }

    pub(crate) async fn prepare_folders(&self) -> Result<(), Fault> {
        if self.info.folders.is_empty() {
            return Ok(());
        }
        let (gate, limits) = (Arc::clone(&self.name), self.limits.clone());
        let given = self.info.folders.clone();
        let work = self.threads.run(move || Ok(folders::prepare(&gate, &given, &limits)));
        let failed =
            |_| Fault::internal(format!("Gate '{}': its folders could not be looked at.", self.name));
        work.await.map_err(failed)?
    }

    /// Waits for a turn of this gate and a place in the pool. What waits for a turn has no place meanwhile; only what
    /// a tool calls has one, of its caller's share, so that a caller with many calls stands in no other's way.
    pub(crate) async fn admit(
        &self,
        within: &[SourceId],
    ) -> Result<(SemaphorePermit<'_>, FairPermit), Fault> {
        let closing = |_| Fault::unavailable(format!("Gate '{}' is closing.", self.name));
        let turn = async || self.turns[within.len().min(MAX_DEPTH)].acquire().await.map_err(closing);
        if within.is_empty() {
            return Ok((turn().await?, self.shared.places.take(&self.name, within).await));
        }
        let place = self.shared.places.take(&self.name, within).await;
        Ok((turn().await?, place))
    }
}
