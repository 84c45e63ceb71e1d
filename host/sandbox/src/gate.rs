//! A gate: a component file under a name, with its grants and limits, listed and called as a source.

use std::{
    path::PathBuf,
    sync::Arc,
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

use crate::{
    abi::v0_1::{self, ToolCall},
    capability::{CallFacts, Client},
    instance::{self, Ready, broken},
    limits::Limits,
    loader::{LoadError, Shared},
};

/// The longest a gate may take to describe itself.
const DESCRIBE_TIME: Duration = Duration::from_secs(5);

/// What can be told of a gate without calling a tool.
#[derive(Debug, Clone, Serialize)]
pub struct GateInfo {
    /// Its name in presets.toml.
    pub name: String,
    /// The component's file.
    pub file: PathBuf,
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
            info,
            http,
            turns: Semaphore::new(limits.concurrency),
            limits,
            shared,
            ready: OnceCell::new_with(ready),
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
        let _place = self.shared.place().await?;
        let facts = self.facts(Arc::clone(&params), None);
        let limits = Limits { time: DESCRIBE_TIME, ..self.limits.clone() };
        let manifest = ready.describe(facts, &limits, Instant::now() + DESCRIBE_TIME, &params).await?;
        v0_1::listing(manifest).map_err(|why| broken(&self.name, &why))
    }

    pub(crate) fn facts(&self, params: Arc<str>, call: Option<Client>) -> CallFacts {
        CallFacts {
            gate: Arc::clone(&self.name),
            grants: Arc::clone(&self.grants),
            ports: self.shared.ports.clone(),
            params,
            log_lines: self.limits.log_lines,
            http: Arc::clone(&self.http),
            http_requests: self.limits.http_requests,
            call,
        }
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
            return Ok(listing);
        }
        let listing = self.describe(given).await?;
        listing.check().map_err(|why| broken(&self.name, &why))?;
        // Checked before it is learnt: what the index knows needs no validator at the next start.
        let schema = Schema::new(Arc::clone(&listing.params_schema));
        schema.check(&Value::Object(given.clone()), "parameter").map_err(Fault::invalid)?;
        let listing = Arc::new(listing);
        self.shared.index.learn_listing(&self.info.digest, &params, Arc::clone(&listing));
        Ok(listing)
    }

    async fn call(&self, call: SourceCall<'_>) -> Outcome {
        let _turn = self.turn().await?;
        let ready = self.ready().await?;
        let _place = self.shared.place().await?;
        let SourceCall { call, tool, params } = call;
        let facts = self.facts(params.into(), Some(Client::of(call)));
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
        let reply = ready.call(facts, &self.limits, call.deadline.into_std(), &request).await?;
        instance::reply(&self.name, reply)
    }
}
