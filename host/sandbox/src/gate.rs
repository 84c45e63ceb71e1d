//! A gate: a component file under a name, with its grants and limits, listed and called as a source.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use gatehouse_core::{
    Outcome, Source, SourceId,
    capability::{Ask, Grants},
    http::Rules,
    names::quoted,
    outcome::Fault,
    schema::Schema,
    source::{Listing, SourceCall},
};
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::{OnceCell, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::{
    abi::v0_1::{self, ToolCall},
    capability::{CallFacts, Client},
    folders::{self, Folder},
    index::Stamp,
    instance::{self, Ended, Ready, broken},
    limits::Limits,
    loader::{LoadError, Shared},
    warm::Warm,
};

/// The longest a gate may take to describe itself.
pub(crate) const DESCRIBE_TIME: Duration = Duration::from_secs(5);

/// Traps in a row after which a version is not fit to stay.
const MAX_TRAPS: u32 = 3;

/// What can be told of a gate without calling a tool.
#[derive(Debug, Clone, Serialize)]
pub struct GateInfo {
    /// Its name in presets.toml.
    pub name: String,
    /// The component's file.
    pub file: PathBuf,
    /// The file as it was when this gate was made of it.
    #[serde(skip)]
    pub stamp: Stamp,
    /// Bytes of the file.
    pub size: u64,
    /// SHA-256 of the file, hexadecimal.
    pub digest: String,
    /// What it imports.
    pub ask: Ask,
    /// What presets.toml grants it.
    pub grants: Grants,
    /// Hosts that it may send HTTP requests to.
    pub http: Vec<String>,
    /// Folders that presets.toml shows it.
    pub folders: Vec<Folder>,
    /// Whether an instance serves one call after the other.
    pub reuse: bool,
}

/// One loaded gate. Loading is lazy: until a call needs it, only its digest and its ask are known.
pub struct Gate {
    id: SourceId,
    name: Arc<str>,
    info: GateInfo,
    grants: Arc<Grants>,
    http: Arc<Rules>,
    limits: Limits,
    shared: Arc<Shared>,
    ready: OnceCell<Ready>,
    turns: Semaphore,
    /// Calls in a row that ended in a trap.
    traps: AtomicU32,
    /// Cancelled when there were too many of them.
    unfit: CancellationToken,
    warm: Option<Warm>,
}

impl Gate {
    /// `ready` is the component where it has been loaded on the way.
    pub(crate) fn new(
        info: GateInfo,
        http: Arc<Rules>,
        limits: Limits,
        shared: Arc<Shared>,
        ready: Option<Ready>,
    ) -> Self {
        let name: Arc<str> = info.name.as_str().into();
        Self {
            id: SourceId::Gate(Arc::clone(&name)),
            name,
            grants: Arc::new(info.grants.clone()),
            warm: info.reuse.then(|| Warm::new(Arc::clone(&shared.reserve), limits.concurrency)),
            info,
            http,
            turns: Semaphore::new(limits.concurrency),
            limits,
            shared,
            ready: OnceCell::new_with(ready),
            traps: AtomicU32::new(0),
            unfit: CancellationToken::new(),
        }
    }

    /// Ends when calls have trapped three times in a row: a version that was just loaded is then not fit
    /// to stay.
    pub async fn unfit(&self) {
        self.unfit.cancelled().await;
    }

    fn observe(&self, trapped: bool) {
        if !trapped {
            self.traps.store(0, Ordering::Relaxed);
        } else if self.traps.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_TRAPS {
            self.unfit.cancel();
        }
    }

    /// What is known about it.
    pub fn info(&self) -> &GateInfo {
        &self.info
    }

    /// Its limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) async fn ready(&self) -> Result<&Ready, Fault> {
        let load = || async {
            let (shared, info) = (Arc::clone(&self.shared), self.info.clone());
            let loaded = tokio::task::spawn_blocking(move || shared.load(&info)).await;
            loaded.unwrap_or_else(|_| Err(LoadError::new(&self.info.file, "the compiler failed on it")))
        };
        self.ready.get_or_try_init(load).await.map_err(|error| {
            Fault::unavailable(format!("Gate '{}' cannot be loaded: {error}", self.name))
                .hint("Build the gate again, or remove it from the preset.")
        })
    }

    /// What it says about itself under these parameters, asked anew and not judged yet. [`Source::list`]
    /// answers from what is known, and judges.
    pub async fn describe(&self, given: &Map<String, Value>) -> Result<Listing, Fault> {
        let params: Arc<str> = serde_json::to_string(given).unwrap_or_default().into();
        let ready = self.ready().await?;
        let _place = self.shared.place(0).await?;
        let facts = self.facts(Arc::clone(&params), None);
        let manifest = ready.describe(facts, Instant::now() + DESCRIBE_TIME, &params).await;
        let manifest = manifest.map_err(|ended| ended.fault)?;
        v0_1::listing(manifest).map_err(|why| broken(&self.name, &why))
    }

    pub(crate) fn facts(&self, params: Arc<str>, call: Option<Client>) -> CallFacts {
        CallFacts {
            gate: Arc::clone(&self.name),
            grants: Arc::clone(&self.grants),
            ports: self.shared.ports.clone(),
            params,
            http: Arc::clone(&self.http),
            limits: self.limits.clone(),
            call,
        }
    }

    /// Tells the operator what was taken out of the listing before anybody saw it.
    fn said(&self, listing: Arc<Listing>) -> Arc<Listing> {
        for (tool, count) in &listing.removed {
            let gate = &*self.name;
            tracing::warn!(target: "gate", gate, tool, count, "invisible characters were removed from what the gate says about itself");
        }
        listing
    }

    async fn prepare_folders(&self) -> Result<(), Fault> {
        if self.info.folders.is_empty() {
            return Ok(());
        }
        let (gate, limits) = (Arc::clone(&self.name), self.limits.clone());
        let given = self.info.folders.clone();
        let work = tokio::task::spawn_blocking(move || folders::prepare(&gate, &given, &limits));
        let failed =
            |_| Fault::internal(format!("Gate '{}': its folders could not be looked at.", self.name));
        work.await.map_err(failed)?
    }

    async fn turn(&self) -> Result<tokio::sync::SemaphorePermit<'_>, Fault> {
        self.turns
            .acquire()
            .await
            .map_err(|_| Fault::unavailable(format!("Gate '{}' is closing.", self.name)))
    }
}

#[async_trait]
impl Source for Gate {
    fn id(&self) -> &SourceId {
        &self.id
    }

    fn time_limit(&self) -> Duration {
        self.limits.time
    }

    async fn list(&self, given: &Map<String, Value>) -> Result<Arc<Listing>, Fault> {
        let params: Arc<str> = serde_json::to_string(given).unwrap_or_default().into();
        if let Some(listing) = self.shared.index.listing(&self.info.digest, &params) {
            return Ok(self.said(listing));
        }
        let mut listing = self.describe(given).await?;
        listing.clean();
        listing.check().map_err(|why| broken(&self.name, &why))?;
        // Checked before it is learnt: what the index knows needs no validator at the next start.
        let schema = Schema::new(Arc::clone(&listing.params_schema));
        schema.check(&Value::Object(given.clone()), "parameter").map_err(Fault::invalid)?;
        let listing = Arc::new(listing);
        self.shared.index.learn_listing(&self.info.digest, &params, Arc::clone(&listing));
        Ok(self.said(listing))
    }

    async fn call(&self, call: SourceCall<'_>) -> Outcome {
        let SourceCall { call, tool, params } = call;
        // A gate that calls itself runs on the turn that its call around holds; another would never come.
        let _turn = if call.within.contains(&self.id) { None } else { Some(self.turn().await?) };
        let ready = self.ready().await?;
        let _place = self.shared.place(call.within.len()).await?;
        let facts = self.facts(params.into(), Some(Client::of(call, &self.id, tool, &self.grants)));
        let request = ToolCall {
            id: call.id.to_string(),
            tool: tool.name.to_string(),
            arguments: call.arguments.to_string(),
            params: params.to_owned(),
            caller: match &call.principal {
                gatehouse_core::Principal::Local => None,
                gatehouse_core::Principal::Named(name) => Some(quoted(name, 128)),
            },
            preset: call.catalog.preset.to_string(),
            deadline_ms: call.remaining().as_millis() as u64,
        };
        self.prepare_folders().await?;
        let (folders, deadline) = (&self.info.folders, call.deadline.into_std());
        let reply = ready.call(facts, folders, deadline, &request, self.warm.as_ref()).await;
        self.observe(matches!(reply, Err(Ended { trapped: true, .. })));
        instance::reply(&self.name, reply.map_err(|ended| ended.fault)?)
    }
}
