//! A gate: a component file with a name, grants and limits. `source.rs` implements its service to clients.

use std::{path::PathBuf, sync::Arc, time::Duration};

use gatehouse_core::{
    Principal, SourceId,
    capability::{Grants, RequestedCapabilities},
    fair_semaphore::FairPermit,
    http::HttpRules,
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
    capability::{GateFacts, InstanceContext, RunningCall},
    folders::{self, GuestFolder},
    index::FileStamp,
    instance::LoadedComponent,
    instance_pool::IdleInstances,
    limits::SandboxLimits,
    loader::{GateSettings, LoadError, SandboxState, check_pin},
    version::GateVersion,
    wasi::threads::FileThreads,
};

pub(crate) const DESCRIBE_TIME: Duration = Duration::from_secs(5);

/// Facts about a gate that are known without calling a tool.
#[derive(Debug, Clone, Serialize)]
pub struct GateInfo {
    pub name: String,
    pub file: PathBuf,
    #[serde(skip)]
    pub stamp: FileStamp,
    pub size: u64,
    pub digest: String,
    pub ask: RequestedCapabilities,
    pub grants: Grants,
    pub http: Vec<String>,
    pub folders: Vec<GuestFolder>,
    /// True if an instance serves several calls, one after another.
    pub reuse: bool,
}

pub struct Gate {
    pub(crate) id: SourceId,
    name: Arc<str>,
    info: GateInfo,
    facts: Arc<GateFacts>,
    pub(crate) http: Arc<HttpRules>,
    limits: SandboxLimits,
    pub(crate) shared: Arc<SandboxState>,
    pub(crate) version: Arc<GateVersion>,
    /// By call depth, so that gates that call each other never wait for their own permit.
    turns: [Semaphore; MAX_DEPTH + 1],
    /// Idle instances. `None` if instances are not reused.
    pub(crate) idle: Option<IdleInstances>,
    threads: Arc<FileThreads>,
}

impl Gate {
    /// Creates a gate. Fails if presets.toml pins another digest.
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
            ask: version.requested.clone(),
            grants,
            http: http.hosts(),
            folders,
            reuse,
        };
        let name: Arc<str> = name.into();
        let threads = shared.threads.for_gate(&name);
        let facts = GateFacts {
            gate: Arc::clone(&name),
            grants: Arc::new(info.grants.clone()),
            ports: shared.ports.clone(),
            http: Arc::clone(&http),
            limits: limits.clone(),
            memory: shared.capacity.memory.clone(),
            threads: Arc::clone(&threads),
        };
        Ok(Self {
            id: SourceId::Gate(Arc::clone(&name)),
            threads,
            name,
            facts: Arc::new(facts),
            idle: reuse.then(|| IdleInstances::new(Arc::clone(&shared.reserve), limits.concurrency)),
            info,
            http,
            turns: std::array::from_fn(|_| Semaphore::new(limits.concurrency)),
            limits,
            shared,
            version,
        })
    }

    /// Creates a gate with the same version and new settings. Fails if they pin another digest.
    pub fn with_settings(&self, settings: GateSettings) -> Result<Self, LoadError> {
        Self::new(&self.name, Arc::clone(&self.version), settings, Arc::clone(&self.shared))
    }

    /// Waits until three calls in a row have trapped, which makes a newly loaded version unfit for use.
    pub async fn wait_until_unfit(&self) {
        self.version.traps.wait_until_unfit().await;
    }

    pub fn info(&self) -> &GateInfo {
        &self.info
    }

    pub fn limits(&self) -> &SandboxLimits {
        &self.limits
    }

    pub(crate) async fn component(&self) -> Result<&LoadedComponent, Fault> {
        self.version.component(&self.shared).await.map_err(|error| {
            let hint = match error.is_of_host {
                true => {
                    "Give the host more memory and address space; `ulimit -v` shows the limit of a shell."
                }
                false => "Build the gate again, or remove it from the preset.",
            };
            Fault::unavailable(format!("gate '{}' cannot be loaded: {error}", self.name)).hint(hint)
        })
    }

    /// Returns a new listing for these parameters, without validation. [`Source::list`] validates, and returns a cached
    /// listing if there is one.
    pub async fn describe(&self, given: &Map<String, Value>) -> Result<Listing, Fault> {
        let params: Arc<str> = serde_json::to_string(given).unwrap_or_default().into();
        let ready = self.component().await?;
        let _place = self.shared.places.take(&Principal::Local, &self.name, &[]).await;
        let facts = self.facts(Arc::clone(&params), None);
        let listing = ready.describe(facts, Instant::now() + DESCRIBE_TIME, &params).await;
        listing.map_err(|ended| ended.fault)
    }

    pub(crate) fn facts(&self, params: Arc<str>, call: Option<RunningCall>) -> InstanceContext {
        InstanceContext::new(&self.facts, params, call)
    }

    /// Logs invisible characters that were removed from the listing.
    pub(crate) fn report_removed_text(&self, listing: Arc<Listing>) -> Arc<Listing> {
        for (tool, count) in &listing.removed {
            let gate = &*self.name;
            tracing::warn!(target: "gate", gate, tool, count, "removed invisible characters from the gate's listing");
        }
        listing
    }

    pub(crate) async fn prepare_folders(&self) -> Result<(), Fault> {
        if self.info.folders.is_empty() {
            return Ok(());
        }
        let (gate, limits) = (Arc::clone(&self.name), self.limits.clone());
        let given = self.info.folders.clone();
        let work = self.threads.run(move || Ok(folders::prepare(&gate, &given, &limits)));
        let failed = |_| Fault::internal(format!("gate '{}': cannot check its folders", self.name));
        work.await.map_err(failed)?
    }

    /// Waits for a turn of this gate and a slot in the pool. A client's call takes its turn first, so it holds no slot
    /// while it waits. A tool's call takes its slot first, from its caller's share, so that no caller delays others.
    pub(crate) async fn admit(
        &self,
        principal: &Principal,
        within: &[SourceId],
    ) -> Result<(SemaphorePermit<'_>, FairPermit), Fault> {
        let closing = |_| Fault::unavailable(format!("gate '{}' is closing", self.name));
        let turn = async || self.turns[within.len().min(MAX_DEPTH)].acquire().await.map_err(closing);
        if within.is_empty() {
            return Ok((turn().await?, self.shared.places.take(principal, &self.name, within).await));
        }
        let place = self.shared.places.take(principal, &self.name, within).await;
        Ok((turn().await?, place))
    }
}
