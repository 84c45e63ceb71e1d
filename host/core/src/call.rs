//! One tool call on its way through the host: what is settled once for the call, and what belongs to an attempt.

mod id;

use std::{
    any::Any,
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, atomic::AtomicU64},
    time::Duration,
};

use serde_json::{Map, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    call_time::{CallDeadline, CallTime},
    catalog::{Catalog, ToolEntry},
    envelope::RequestClaim,
    forwarding::ForwardedCalls,
    lock,
    nesting::{CallTree, EffectLimit},
    outcome::{Fault, Outcome},
    pipeline::Pipeline,
    ports::client::{CallingClient, NoClient},
    question::QuestionCount,
    source::Source,
    tool::SourceId,
};

pub use id::CallId;

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Principal {
    /// The process that started the host over stdio, or anybody on loopback.
    #[default]
    Local,
    /// A name that a credential stands for.
    Named(Arc<str>),
}

/// Takes progress messages to the client that asked for them.
pub trait ProgressSink: Send + Sync {
    /// `done` of `total` units of work, where the total is known. Never blocks; may drop messages.
    fn report(&self, done: u64, total: Option<u64>, message: Option<String>);
}

/// What holds for a call from its beginning to its end. It keeps its catalog, so a reload while it runs changes
/// nothing for it.
pub struct CallContext {
    /// Its id.
    pub id: CallId,
    /// The tool's name as the client gave it, unchecked.
    pub name: String,
    /// Who calls.
    pub principal: Principal,
    /// What may be called.
    pub catalog: Arc<Catalog>,
    /// When it began.
    pub started: Instant,
    /// Cancelled when the client gives up.
    pub cancel: CancellationToken,
    /// Where progress goes, if the client asked for it.
    pub progress: Option<Arc<dyn ProgressSink>>,
    /// Who can be asked while it runs.
    pub client: Arc<dyn CallingClient>,
    /// What the client said beside the arguments (`_meta`), for whoever runs the tool outside of this host; without what is
    /// between the client and this host.
    pub meta: Option<Arc<Map<String, Value>>>,
    /// The sources of the calls it is nested in, outermost first; none for a client's own call.
    pub enclosing_sources: Vec<SourceId>,
    /// The tool, or the fault of there being none. The outermost stage sees that fault like any other. What is asked of a
    /// source besides calls has no tool.
    entry: Result<Arc<ToolEntry>, Fault>,
    /// The longest it may take.
    limit: Duration,
    /// When the call around it has to be over.
    pub(crate) outer_deadline: Option<CallDeadline>,
    /// The time of the client's call that it is or belongs to.
    pub(crate) time: Arc<CallTime>,
    /// How long that had stood still when this began.
    paused: Duration,
    /// What it may do at most, where a tool makes it that promised no more.
    pub(crate) effect_limit: Option<EffectLimit>,
    /// The request that this call is, if it is one that can be read.
    pub(crate) claim: OnceLock<Arc<RequestClaim>>,
    /// The request that the call around it serves.
    pub(crate) outer_claim: Option<Arc<RequestClaim>>,
    /// The working directory of whoever called, if it is on this machine: over stdio, and at a shell.
    pub working_directory: Option<PathBuf>,
    /// It has a connection to its server of its own, which ends with it.
    pub isolated: bool,
    /// Microseconds that its source spent connecting to whatever runs the tool.
    pub connecting_us: AtomicU64,
    /// Microseconds that its source had it, at least one where it got there at all; with those of connecting.
    pub(crate) in_source_us: AtomicU64,
    /// What the client's call that it is or belongs to has caused.
    pub(crate) call_tree: Arc<CallTree>,
    /// Questions that its server has asked the client.
    pub(crate) questions: QuestionCount,
    /// True if code of a caller made it, through whichever tools.
    pub(crate) for_code: bool,
    /// Calls that its tool passed on.
    pub(crate) forwarded: ForwardedCalls,
    /// Shares of budgets that are held until it is over.
    kept_until_done: Mutex<Vec<Box<dyn Any + Send>>>,
    pub(crate) pipeline: Arc<Pipeline>,
}

impl CallContext {
    /// A call that passes `pipeline`, without progress or cancellation; the caller adds what it knows.
    pub fn new(pipeline: &Arc<Pipeline>, catalog: Arc<Catalog>, name: impl Into<String>) -> Self {
        let name = name.into();
        let entry = catalog.find(&name).cloned();
        Self::from_entry(pipeline, catalog, name, entry)
    }

    /// A call of a tool that was looked up elsewhere.
    pub(crate) fn from_entry(
        pipeline: &Arc<Pipeline>,
        catalog: Arc<Catalog>,
        name: impl Into<String>,
        entry: Result<Arc<ToolEntry>, Fault>,
    ) -> Self {
        let limit = entry.as_ref().map_or(Duration::ZERO, |entry| entry.source.time_limit());
        Self::with_limit(pipeline, catalog, name.into(), entry, limit)
    }

    /// What a client asks of a source by another method than a call of a tool. Tools cannot be called from there: no tool
    /// has said what they may do at most.
    pub fn for_method(
        pipeline: &Arc<Pipeline>,
        catalog: Arc<Catalog>,
        method: impl Into<String>,
        source: &dyn Source,
    ) -> Self {
        let method = method.into();
        let no_tool = Fault::denied(format!("'{method}' calls no tools."));
        Self::with_limit(pipeline, catalog, method, Err(no_tool), source.time_limit())
    }

    /// The same call as a filter of its reply sees it. It calls no tools, it reports no progress, and it goes on where this
    /// client gives up: others may wait for the same short form. `meta` is the host's, not the client's.
    pub(crate) fn for_filter(&self, meta: Option<Arc<Map<String, Value>>>) -> Self {
        let no_tool = Fault::denied("A filter calls no tools.");
        let (pipeline, catalog) = (&self.pipeline, Arc::clone(&self.catalog));
        let mut seen = Self::with_limit(pipeline, catalog, self.name.clone(), Err(no_tool), self.limit);
        seen.id = self.id;
        seen.principal = self.principal.clone();
        seen.started = self.started;
        seen.meta = meta;
        seen
    }

    fn with_limit(
        pipeline: &Arc<Pipeline>,
        catalog: Arc<Catalog>,
        name: String,
        entry: Result<Arc<ToolEntry>, Fault>,
        limit: Duration,
    ) -> Self {
        Self {
            id: CallId::next(),
            entry,
            name,
            limit,
            principal: Principal::Local,
            catalog,
            started: Instant::now(),
            cancel: CancellationToken::new(),
            progress: None,
            client: Arc::new(NoClient),
            meta: None,
            enclosing_sources: Vec::new(),
            outer_deadline: None,
            time: Arc::default(),
            paused: Duration::ZERO,
            effect_limit: None,
            claim: OnceLock::new(),
            outer_claim: None,
            working_directory: None,
            isolated: false,
            for_code: false,
            connecting_us: AtomicU64::new(0),
            in_source_us: AtomicU64::new(0),
            call_tree: Arc::default(),
            questions: QuestionCount::default(),
            forwarded: ForwardedCalls::default(),
            kept_until_done: Mutex::default(),
            pipeline: Arc::clone(pipeline),
        }
    }

    /// The tool it asks for.
    pub fn entry(&self) -> Result<&Arc<ToolEntry>, Fault> {
        self.entry.as_ref().map_err(Fault::clone)
    }

    /// Keeps a share of a budget until the call is over.
    pub fn keep_until_done(&self, share: impl Any + Send) {
        lock(&self.kept_until_done).push(Box::new(share));
    }

    /// The longest it may take.
    pub fn time_limit(&self) -> Duration {
        self.limit
    }

    /// When it has to be over, however many attempts it takes.
    pub fn deadline(&self) -> CallDeadline {
        let own = self.own_deadline();
        match &self.outer_deadline {
            Some(outer) => own.min(outer.clone()),
            None => own,
        }
    }

    fn own_deadline(&self) -> CallDeadline {
        CallDeadline::new(self.started + self.time_limit(), self.paused, &self.time)
    }

    /// Returns the source whose call leaves this one less time than its own limit.
    pub(crate) fn shortened_by(&self) -> Option<&SourceId> {
        let outer = self.outer_deadline.as_ref()?;
        self.enclosing_sources.last().filter(|_| outer.instant() < self.own_deadline().instant())
    }

    /// How long it waited for answers of its client, or one of those around and within it did.
    pub fn waited(&self) -> Duration {
        self.time.paused().saturating_sub(self.paused)
    }

    /// Has it share the time of the call around it.
    pub(crate) fn share_time(&mut self, outer: &Arc<CallTime>) {
        self.paused = outer.paused();
        self.time = Arc::clone(outer);
    }
}

/// One attempt at a call.
pub struct Call {
    /// What all attempts share.
    pub context: Arc<CallContext>,
    /// The arguments as the client gave them; an object once they are validated, with what stands for parts of
    /// artifacts replaced by them.
    pub arguments: Value,
    /// The arguments as the client gave them, where something in them was replaced.
    pub sent: Option<Arc<Value>>,
    deadline: CallDeadline,
}

impl Call {
    /// The first attempt, which has all the time of the call.
    pub fn new(context: CallContext, arguments: Value) -> Self {
        let deadline = context.deadline();
        Self { context: Arc::new(context), arguments, sent: None, deadline }
    }

    /// A further attempt that takes no longer than `limit`. The attempts after it have their own time.
    #[must_use]
    pub fn attempt(&self, limit: Duration) -> Self {
        Self {
            context: Arc::clone(&self.context),
            arguments: self.arguments.clone(),
            sent: self.sent.clone(),
            deadline: self.deadline.within(limit),
        }
    }

    /// When this attempt has to be over.
    pub fn deadline(&self) -> &CallDeadline {
        &self.deadline
    }

    /// Takes the call down its pipeline and its outcome back.
    pub async fn run(mut self) -> Outcome {
        self.run_mut().await
    }

    /// Takes the call down its pipeline and its outcome back, and leaves the call to be looked at.
    pub(crate) async fn run_mut(&mut self) -> Outcome {
        let pipeline = Arc::clone(&self.context.pipeline);
        pipeline.run(self).await
    }
}

#[cfg(test)]
mod tests;
