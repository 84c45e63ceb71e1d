//! A gate: a component file with a name, grants and limits, and test calls of it. `source.rs` implements its service to
//! clients.

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_core::{
    CallContext, CallDeadline, Principal, Reply, SourceId,
    capability::{Grants, RequestedCapabilities},
    conversion::{ConvertedFile, SourceFile},
    fair_semaphore::{FairPermit, FairSemaphore},
    gate_turn::GateTurn,
    http::HttpRules,
    nesting::MAX_DEPTH,
    outcome::{Fault, FaultKind},
    ports::DocumentConverter,
    source::Listing,
};
use gatehouse_telemetry::{Trace, is_tracing, metrics};
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::{
    abi::{GuestError, ToolCall},
    capability::{GateFacts, InstanceContext},
    capacity::IdleInstances,
    folders::{self, GuestFolder},
    index::FileStamp,
    instance::{CallFailure, GateInstance, LoadedComponent, broken, explain},
    limits::{SandboxLimits, raise_hint},
    loader::{GateSettings, LoadError, SandboxState, check_pin},
    version::GateVersion,
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
    info: GateInfo,
    pub(crate) facts: Arc<GateFacts>,
    pub(crate) shared: Arc<SandboxState>,
    pub(crate) version: Arc<GateVersion>,
    /// By call depth, so that gates that call each other never wait for their own permit.
    turns: [FairSemaphore; MAX_DEPTH + 1],
    /// Idle instances. `None` if instances are not reused.
    pub(crate) idle: Option<IdleInstances>,
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
        check_pin(pin, &version.digest).map_err(|reason| LoadError::new(&version.file, reason))?;
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
        let gate: Arc<str> = name.into();
        Ok(Self {
            id: SourceId::Gate(Arc::clone(&gate)),
            idle: reuse.then(|| IdleInstances::new(Arc::clone(&shared.reserve), limits.concurrency)),
            turns: std::array::from_fn(|_| FairSemaphore::for_turns(limits.concurrency)),
            facts: Arc::new(GateFacts {
                gate,
                grants: info.grants.clone(),
                ports: shared.ports.clone(),
                http,
                limits,
                memory: shared.capacity.memory.clone(),
                threads: shared.threads.for_gate(name),
            }),
            info,
            shared,
            version,
        })
    }

    /// Creates a gate with the same version and new settings. Fails if they pin another digest.
    pub fn with_settings(&self, settings: GateSettings) -> Result<Self, LoadError> {
        Self::new(&self.info.name, Arc::clone(&self.version), settings, Arc::clone(&self.shared))
    }

    /// Waits until three calls in a row have trapped, which makes a newly loaded version unfit for use.
    pub async fn wait_until_unfit(&self) {
        self.version.traps.unfit.cancelled().await;
    }

    pub fn info(&self) -> &GateInfo {
        &self.info
    }

    pub fn limits(&self) -> &SandboxLimits {
        &self.facts.limits
    }

    pub(crate) async fn component(&self) -> Result<&LoadedComponent, Fault> {
        self.version.component(&self.shared).await.map_err(|error| {
            let hint = match error.is_of_host {
                true => {
                    "Give the host more memory and address space; `ulimit -v` shows the limit of a shell."
                }
                false => "Build the gate again, or remove it from the preset.",
            };
            Fault::unavailable(format!("gate '{}' cannot be loaded: {error}", self.info.name)).hint(hint)
        })
    }

    /// Returns a new listing for these parameters, without validation. [`Source::list`] validates, and returns a cached
    /// listing if there is one.
    pub async fn describe(&self, given: &Map<String, Value>) -> Result<Listing, Fault> {
        let params: Arc<str> = serde_json::to_string(given).unwrap_or_default().into();
        let ready = self.component().await?;
        let _place = self.shared.places.take(&Principal::Local, &self.facts.gate, &[]).await;
        let facts = InstanceContext::new(&self.facts, params, None);
        let listing = ready.describe(facts, Instant::now() + DESCRIBE_TIME).await;
        listing.map_err(|ended| ended.fault)
    }

    /// Logs invisible characters that were removed from the listing.
    pub(crate) fn report_removed_text(&self, listing: Arc<Listing>) -> Arc<Listing> {
        for (tool, count) in &listing.removed {
            let gate = &*self.info.name;
            tracing::warn!(target: "gate", gate, tool, count, "removed invisible characters from the gate's listing");
        }
        listing
    }

    pub(crate) async fn prepare_folders(&self) -> Result<(), Fault> {
        if self.info.folders.is_empty() {
            return Ok(());
        }
        let (facts, given) = (Arc::clone(&self.facts), self.info.folders.clone());
        let work = move || Ok(folders::prepare(&facts.gate, &given, &facts.limits));
        let failed = |_| Fault::internal(format!("gate '{}': cannot check its folders", self.info.name));
        self.facts.threads.run(work).await.map_err(failed)?
    }

    /// Waits for a turn of this gate and a slot in the pool. A client's call takes its turn first, so it holds no slot
    /// while it waits. A tool's call takes its slot first, from its caller's share, so that no caller delays others.
    pub(crate) async fn admit(
        &self,
        principal: &Principal,
        within: &[SourceId],
    ) -> (Arc<GateTurn>, FairPermit) {
        let turns = &self.turns[within.len().min(MAX_DEPTH)];
        let turn = GateTurn::take(turns, principal, &self.facts.gate);
        let place = self.shared.places.take(principal, &self.facts.gate, within);
        if within.is_empty() {
            return (turn.await, place.await);
        }
        let place = place.await;
        (turn.await, place)
    }

    /// Like [`admit`](Self::admit), and records how long the call has waited.
    pub(crate) async fn admit_call(&self, context: &CallContext) -> (Arc<GateTurn>, FairPermit) {
        let gate = &self.facts.gate;
        let _wait = (metrics().is_some() || is_tracing()).then(|| GateWait {
            gate,
            trace: &context.trace,
            start: Instant::now(),
        });
        self.admit(context.principal(), &context.enclosing_sources).await
    }
}

/// The wait of a call for a gate, recorded at its end, also if the call gives up.
struct GateWait<'a> {
    gate: &'a str,
    trace: &'a Trace,
    start: Instant,
}

impl Drop for GateWait<'_> {
    fn drop(&mut self) {
        let waited = self.start.elapsed();
        self.trace.add_wait("gate", waited);
        if let Some(metrics) = metrics() {
            metrics.gate_wait.series([self.gate]).observe(waited.as_secs_f64());
        }
    }
}

#[async_trait]
impl DocumentConverter for Gate {
    /// Converts a file in an instance without capabilities, folders or parameters.
    async fn convert(&self, file: SourceFile) -> Result<ConvertedFile, Fault> {
        let ready = self.component().await?;
        let _admitted = self.admit(&Principal::Local, &[]).await;
        let context = InstanceContext::new(&self.facts, "{}".into(), None);
        let limit = self.limits().time;
        let end = Instant::now() + limit;
        let deadline = CallDeadline::fixed(end);
        let converting =
            ready.run(context, &[], &deadline, |exports, store| exports.convert(store, file), None);
        let converted = tokio::time::timeout_at(end, converting).await;
        match converted.unwrap_or_else(|_| Err(Fault::new(FaultKind::TimedOut, "").into())) {
            Ok(converted) => Ok(converted),
            Err(CallFailure { fault, .. }) if fault.kind == FaultKind::TimedOut => {
                let message = format!("took gate '{}' longer than {} s", self.info.name, limit.as_secs_f32());
                Err(Fault::new(FaultKind::TimedOut, message).hint(raise_hint(&self.info.name, "time")))
            }
            Err(CallFailure { fault, .. }) => Err(fault),
        }
    }
}

#[derive(Debug)]
pub enum ProbeOutcome {
    Replied(Reply),
    Faulted(Fault),
    /// The gate trapped, reached a limit or violated the contract.
    Failed(Fault),
}

#[derive(Debug)]
pub struct ProbeReport {
    pub outcome: ProbeOutcome,
    /// Bytes of linear memory at the end.
    pub memory: usize,
}

impl Gate {
    /// Calls a tool without a client or engines. Neither the tool's name nor the arguments are validated.
    pub async fn try_out(&self, tool: &str, arguments: &str, params: &str) -> ProbeReport {
        let failed = |fault| ProbeReport { outcome: ProbeOutcome::Failed(fault), memory: 0 };
        let ready = match self.component().await {
            Ok(ready) => ready,
            Err(fault) => return failed(fault),
        };
        let limits = self.limits();
        let request = ToolCall {
            id: "call-0".into(),
            tool: tool.to_owned(),
            arguments: arguments.to_owned(),
            params: params.to_owned(),
            caller: None,
            preset: "check".into(),
            deadline_ms: limits.time.as_millis() as u64,
            meta: None,
        };
        let (name, deadline) = (&self.info().name, Instant::now() + limits.time);
        let _running = ready.runtime.ticker.enter_guest();
        let facts = InstanceContext::new(&self.facts, params.into(), None);
        let mut instance = match ready.instance(facts, &[], CallDeadline::fixed(deadline)).await {
            Ok(instance) => instance,
            Err(failure) => return failed(failure.fault),
        };
        let GateInstance { store, exports, .. } = &mut instance;
        let call = exports.call(store, request);
        let slow = || Fault::new(FaultKind::TimedOut, format!("'{tool}' took longer than {:?}", limits.time));
        let outcome = match tokio::time::timeout_at(deadline, call).await {
            Ok(Ok(reply)) => ProbeOutcome::Replied(reply),
            Ok(Err(GuestError::Fault(fault))) => ProbeOutcome::Faulted(fault),
            Ok(Err(GuestError::Broken(reason))) => ProbeOutcome::Failed(broken(name, &reason)),
            Ok(Err(GuestError::Trap(error))) => match explain(store.data(), &error).fault {
                fault if fault.kind == FaultKind::TimedOut => ProbeOutcome::Failed(slow()),
                fault => ProbeOutcome::Failed(fault),
            },
            Err(_) => ProbeOutcome::Failed(slow()),
        };
        ProbeReport { outcome, memory: store.data().caps.memory_used() }
    }
}
