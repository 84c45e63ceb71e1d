//! One tool call on its way through the host.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    catalog::{Catalog, Entry},
    nesting::Ceiling,
    outcome::Fault,
    pipeline::Pipeline,
    tool::SourceId,
};

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Principal {
    /// The process that started the host over stdio, or anybody on loopback.
    #[default]
    Local,
    /// A name that a credential stands for.
    Named(Arc<str>),
}

/// Unique among the calls of one host, and the same in its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallId(u64);

impl CallId {
    /// The next one.
    pub fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call-{}", self.0)
    }
}

/// Takes progress messages to the client that asked for them.
pub trait ProgressSink: Send + Sync {
    /// `done` of `total` units of work, where the total is known. Never blocks; may drop messages.
    fn report(&self, done: u64, total: Option<u64>, message: Option<String>);
}

/// A request to run one tool. It holds its catalog, so a reload while it runs changes nothing for it.
pub struct Call {
    /// Its id.
    pub id: CallId,
    /// The tool's name as the client gave it, unchecked.
    pub name: String,
    /// The arguments as the client gave them; an object once they are validated.
    pub arguments: Value,
    /// Who calls.
    pub principal: Principal,
    /// What may be called.
    pub catalog: Arc<Catalog>,
    /// When it has to be over. Set by the deadline stage.
    pub deadline: Instant,
    /// Cancelled when the client gives up.
    pub cancel: CancellationToken,
    /// Where progress goes, if the client asked for it.
    pub progress: Option<Arc<dyn ProgressSink>>,
    /// The line it takes, for the calls it makes itself. Set by the pipeline.
    pub(crate) line: Option<Arc<Pipeline>>,
    /// The sources of the calls it is nested in, outermost first; none for a client's own call.
    pub within: Vec<SourceId>,
    /// What it may do at most, where a tool makes it that promised no more.
    pub(crate) ceiling: Option<Ceiling>,
}

impl Call {
    /// A call without deadline, progress or cancellation; the caller adds what it knows.
    pub fn new(catalog: Arc<Catalog>, name: impl Into<String>, arguments: Value) -> Self {
        Self {
            id: CallId::next(),
            name: name.into(),
            arguments,
            principal: Principal::Local,
            catalog,
            // The longest any policy allows is five minutes; the deadline stage only ever shortens this.
            deadline: Instant::now() + Duration::from_secs(300),
            cancel: CancellationToken::new(),
            progress: None,
            line: None,
            within: Vec::new(),
            ceiling: None,
        }
    }

    /// The tool it asks for.
    pub fn entry(&self) -> Result<&Entry, Fault> {
        self.catalog.find(&self.name)
    }

    /// What is left of its time.
    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}
