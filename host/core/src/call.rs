//! Tool calls and their context.

pub(crate) mod call_bodies;
pub mod call_time;
mod caller;
pub mod envelope;
pub(crate) mod failure_text;
pub mod forwarding;
pub mod gate_turn;
pub mod ledger_observer;
pub mod nesting;
pub mod outcome;

use std::{
    any::Any,
    fmt,
    path::PathBuf,
    sync::{
        Arc, Mutex, OnceLock, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

pub use caller::{CallNotes, Caller, ModelTokens, Principal, RequestOrigin};
use gatehouse_telemetry::Trace;
use serde_json::{Map, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    CallDeadline, Catalog, Effect, Fault, Outcome, Pipeline, Source, SourceId, ToolEntry,
    call_time::CallClock,
    envelope::RequestEnvelope,
    forwarding::ForwardedCalls,
    gate_turn::GateTurn,
    lock,
    nesting::{CallTree, EffectLimit},
    ports::client::{CallingClient, NoClient},
    question::QuestionCount,
};

/// An id that is unique among all hosts: a UUID of version 7, which sorts by time. Log lines of a call carry it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallId(Uuid);

impl CallId {
    pub fn next() -> Self {
        Self(Uuid::now_v7())
    }

    pub(crate) const fn uuid(self) -> Uuid {
        self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Sends progress to the client that requested it.
pub trait ProgressSink: Send + Sync {
    /// Reports `done` of `total` units; `total` is `None` if unknown. Never blocks, and may drop messages.
    fn report(&self, done: f64, total: Option<f64>, message: Option<String>);
}

/// Everything that stays the same during a call. It holds its catalog, so a reload does not affect it.
pub struct CallContext {
    pub id: CallId,
    pub name: String,
    pub caller: Arc<Caller>,
    /// Where the client's request came from. `None` if unknown.
    pub origin: Option<Arc<RequestOrigin>>,
    pub notes: CallNotes,
    pub catalog: Arc<Catalog>,
    pub started: Instant,
    pub cancel: CancellationToken,
    pub progress: Option<Arc<dyn ProgressSink>>,
    pub client: Arc<dyn CallingClient>,
    /// The request's `_meta` for servers, without the members meant for this host.
    pub meta: Option<Arc<Map<String, Value>>>,
    /// The span of this call, or of the client's request.
    pub trace: Trace,
    /// Sources of the enclosing calls, outermost first.
    pub enclosing_sources: Vec<SourceId>,
    /// The turn of the gate that runs the call, and those of the enclosing calls.
    pub(crate) turn: Mutex<Weak<GateTurn>>,
    pub(crate) enclosing_turns: Vec<Weak<GateTurn>>,
    /// The tool, or the fault of the lookup, which stages handle like any other fault.
    entry: Result<Arc<ToolEntry>, Fault>,
    limit: Duration,
    /// Limit if progress extends the time.
    max_limit: Duration,
    pub(crate) outer_deadline: Option<CallDeadline>,
    /// Clock, shared with the client's call.
    pub(crate) time: Arc<CallClock>,
    /// How long the clock had been paused when this call began.
    paused: Duration,
    /// Time that the clock had not counted when this call began.
    uncounted: Duration,
    pub(crate) effect_limit: Option<EffectLimit>,
    /// The envelope of this call, if it is a readable request.
    pub(crate) envelope: OnceLock<Arc<RequestEnvelope>>,
    /// The envelope that the enclosing call serves.
    pub(crate) outer_envelope: Option<Arc<RequestEnvelope>>,
    /// Working directory of the caller, if it runs on this machine.
    pub working_directory: Option<PathBuf>,
    /// True if a program gets the reply, such as a shell, so that no filter shortens it.
    pub for_program: bool,
    /// True if the call uses its own connection to the server, which ends with it.
    pub isolated: bool,
    pub connecting_us: AtomicU64,
    /// Includes connecting. Zero only if the call never reached its source.
    pub(crate) in_source_us: AtomicU64,
    /// Bytes of text in the reply of the source, before filters.
    pub(crate) source_text_bytes: AtomicU64,
    pub(crate) call_tree: Arc<CallTree>,
    pub(crate) questions: QuestionCount,
    pub(crate) from_script: bool,
    pub(crate) forwarded: ForwardedCalls,
    held_until_done: Mutex<Vec<Box<dyn Any + Send>>>,
    pub(crate) pipeline: Arc<Pipeline>,
}

impl CallContext {
    /// Creates a call without progress or cancellation; the caller sets the other fields.
    pub fn new(pipeline: &Arc<Pipeline>, catalog: Arc<Catalog>, name: impl Into<String>) -> Self {
        let name = name.into();
        let entry = catalog.find(&name).cloned();
        Self::from_entry(pipeline, catalog, name, entry)
    }

    pub(crate) fn from_entry(
        pipeline: &Arc<Pipeline>,
        catalog: Arc<Catalog>,
        name: impl Into<String>,
        entry: Result<Arc<ToolEntry>, Fault>,
    ) -> Self {
        let limits = |source: &dyn Source| (source.time_limit(), source.max_time_limit());
        let (limit, max_limit) = entry.as_ref().map(|entry| limits(&*entry.source)).unwrap_or_default();
        Self {
            id: CallId::next(),
            entry,
            name: name.into(),
            limit,
            max_limit,
            caller: Caller::local(),
            origin: None,
            notes: CallNotes::default(),
            catalog,
            started: Instant::now(),
            cancel: CancellationToken::new(),
            progress: None,
            client: Arc::new(NoClient),
            meta: None,
            trace: Trace::default(),
            enclosing_sources: Vec::new(),
            turn: Mutex::default(),
            enclosing_turns: Vec::new(),
            outer_deadline: None,
            time: Arc::default(),
            paused: Duration::ZERO,
            uncounted: Duration::ZERO,
            effect_limit: None,
            envelope: OnceLock::new(),
            outer_envelope: None,
            working_directory: None,
            for_program: false,
            isolated: false,
            from_script: false,
            connecting_us: AtomicU64::new(0),
            in_source_us: AtomicU64::new(0),
            source_text_bytes: AtomicU64::new(0),
            call_tree: Arc::default(),
            questions: QuestionCount::default(),
            forwarded: ForwardedCalls::default(),
            held_until_done: Mutex::default(),
            pipeline: Arc::clone(pipeline),
        }
    }

    /// Creates the context of another request. It cannot call tools, because no tool promised an effect limit.
    pub fn for_method(
        pipeline: &Arc<Pipeline>,
        catalog: Arc<Catalog>,
        method: impl Into<String>,
        source: &dyn Source,
    ) -> Self {
        let method = method.into();
        let no_tool = Fault::denied(format!("'{method}' cannot call tools"));
        let (limit, max_limit) = (source.time_limit(), source.max_time_limit());
        Self { limit, max_limit, ..Self::from_entry(pipeline, catalog, method, Err(no_tool)) }
    }

    /// Returns the context in which a filter processes this call's reply. It cannot call tools, and ignores this client's
    /// cancellation, because other calls may wait for the same short form. `meta` comes from the host.
    pub(crate) fn for_filter(&self, meta: Option<Arc<Map<String, Value>>>) -> Self {
        let no_tool = Fault::denied("a filter cannot call tools");
        Self {
            id: self.id,
            limit: self.limit,
            caller: Arc::clone(&self.caller),
            notes: CallNotes::for_filter(&self.notes),
            started: self.started,
            meta,
            ..Self::from_entry(&self.pipeline, Arc::clone(&self.catalog), &*self.name, Err(no_tool))
        }
    }

    pub fn principal(&self) -> &Principal {
        &self.caller.principal
    }

    pub fn entry(&self) -> Result<&Arc<ToolEntry>, Fault> {
        self.entry.as_ref().map_err(Fault::clone)
    }

    /// Holds a budget reservation until the call ends.
    pub fn keep_until_done(&self, share: impl Any + Send) {
        lock(&self.held_until_done).push(Box::new(share));
    }

    /// Whether a source ran the call, or began to.
    pub(crate) fn reached_source(&self) -> bool {
        self.in_source_us.load(Ordering::Relaxed) > 0
    }

    pub fn time_limit(&self) -> Duration {
        self.limit
    }

    pub fn deadline(&self) -> CallDeadline {
        let own_deadline = self.own_deadline();
        match &self.outer_deadline {
            Some(outer) => own_deadline.min(outer.clone()),
            None => own_deadline,
        }
    }

    fn own_deadline(&self) -> CallDeadline {
        CallDeadline::new(self.started + self.time_limit(), self.uncounted, &self.time)
    }

    /// Gives the call its time again because its server has reported progress, up to the source's [maximum](
    /// Source::max_time_limit). The calls around it get the time, too.
    pub fn record_progress(&self) {
        self.time.record_progress(self.max_limit.saturating_sub(self.limit));
    }

    /// Returns the source whose call leaves this one less time than its own limit.
    pub(crate) fn shortened_by(&self) -> Option<&SourceId> {
        let outer = self.outer_deadline.as_ref()?;
        self.enclosing_sources.last().filter(|_| outer.instant() < self.own_deadline().instant())
    }

    /// Returns the effect that this call can have at most: `declared`, or less if its request envelope says so.
    pub(crate) fn effect_within_envelope(&self, declared: Effect) -> Effect {
        self.envelope.get().map_or(declared, |envelope| envelope.effect.min(declared))
    }

    /// Returns how long this call, or one around or within it, has waited for answers of the client.
    pub fn waited(&self) -> Duration {
        self.time.paused().saturating_sub(self.paused)
    }
}

pub struct Call {
    pub context: Arc<CallContext>,
    /// Arguments as sent; after validation an object with artifact references replaced.
    pub arguments: Value,
    /// Original arguments, if references in them were replaced.
    pub sent: Option<Arc<Value>>,
    deadline: CallDeadline,
}

impl Call {
    pub fn new(context: CallContext, arguments: Value) -> Self {
        let deadline = context.deadline();
        Self { context: Arc::new(context), arguments, sent: None, deadline }
    }

    pub fn deadline(&self) -> &CallDeadline {
        &self.deadline
    }

    pub async fn run(mut self) -> Outcome {
        self.run_in_place().await
    }

    pub(crate) async fn run_in_place(&mut self) -> Outcome {
        let pipeline = Arc::clone(&self.context.pipeline);
        pipeline.run(self).await
    }
}

#[cfg(test)]
mod tests;
