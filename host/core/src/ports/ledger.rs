//! The ledger: single calls for some time, and permanent statistics of the whole machine. It stores arguments and replies
//! only if the configuration says so.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{Fault, FaultKind, Outcome, SourceId, ToolId};

#[derive(Debug, Clone)]
pub struct CallSample {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub at: u64,
    /// The tool, by its source's own name.
    pub tool: ToolId,
    pub preset: Arc<str>,
    /// An id of the caller that does not reveal the caller.
    pub caller: u64,
    pub ending: SampleEnding,
    /// The error text of a failed call: one line, bounded, without secrets.
    pub error: Option<Arc<str>>,
    /// Microseconds in the tool, without connection time.
    pub took_us: u64,
    /// Microseconds spent connecting.
    pub connecting_us: u64,
    pub tokens_in: u64,
    pub tokens_out: u64,
    pub details: CallDetails,
    /// `None` if the ledger does not store them.
    pub bodies: Option<CallBodies>,
}

/// Arguments and reply of a call: bounded, without secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CallBodies {
    /// JSON.
    pub arguments: String,
    pub reply: String,
}

impl CallBodies {
    pub fn bytes(&self) -> usize {
        self.arguments.len() + self.reply.len()
    }
}

/// Properties of a call that statistics do not need, which are stored as long as single calls are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallDetails {
    /// UUID version 7.
    pub id: String,
    pub principal: String,
    /// Name and version of the client, or empty.
    pub client: String,
    /// True if the call was refused before its tool ran. It counts in no statistics.
    pub refused: bool,
    /// The access rule or quota that decided.
    pub rule: Option<String>,
    /// How the user answered, if the call needed approval.
    pub approval: Option<String>,
    /// Microseconds from the request to the reply, without those that the call waited for its user.
    pub total_us: u64,
    pub waited_us: u64,
    /// Tokens of the reply before it was shortened.
    pub tokens_before: u64,
    /// Id of the trace, if it is sampled.
    pub trace: Option<String>,
}

/// A call as it was stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredCall {
    /// Increases with each stored call.
    pub number: i64,
    /// End of the call, in milliseconds since 1970-01-01T00:00:00Z.
    pub at: u64,
    pub source: SourceId,
    pub tool: String,
    pub preset: String,
    /// `ok`, `error` or the kind of a fault.
    pub outcome: String,
    pub error: Option<String>,
    pub took_us: u64,
    pub connecting_us: u64,
    pub tokens_in: u64,
    pub tokens_out: u64,
    #[serde(flatten)]
    pub details: CallDetails,
}

/// Filter for stored calls. Empty matches all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredCallFilter {
    /// A call, by its id.
    pub id: Option<String>,
    pub principal: Option<String>,
    /// Name of a gate or server.
    pub source: Option<String>,
    /// The source's own names of tools; `*` matches anything.
    pub tool: Option<String>,
    /// `ok`, `error`, the kind of a fault, or `failed` for all but `ok`.
    pub outcome: Option<String>,
    /// In milliseconds since 1970-01-01T00:00:00Z.
    pub since: u64,
    /// Only calls with a higher number.
    pub after: i64,
    /// Only calls with a lower number.
    pub before: Option<i64>,
    /// Maximum number of calls, of which the last are returned.
    pub limit: usize,
}

/// Filter for the calls that [`Activity`] counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivityFilter {
    /// Name of a gate or server.
    pub source: Option<String>,
    /// The source's own name of a tool.
    pub tool: Option<String>,
    /// Start of the first slot, in milliseconds since 1970-01-01T00:00:00Z.
    pub since: u64,
    /// Length of a slot.
    pub slot_ms: u64,
}

/// Calls that ended within a slot of time. Refused calls do not count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Activity {
    /// Number of the slot, from 0.
    pub slot: u64,
    pub calls: u64,
    pub failed: u64,
    /// Tokens of replies that were shortened away.
    pub saved: u64,
    pub p50_us: u64,
    pub p95_us: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampleEnding {
    Replied,
    /// A reply that the tool marked as an error.
    ToolError,
    Fault(FaultKind),
}

impl SampleEnding {
    pub(crate) fn from_outcome(outcome: &Outcome) -> Self {
        match outcome {
            Ok(reply) if reply.is_error => Self::ToolError,
            Ok(_) => Self::Replied,
            Err(fault) => Self::Fault(fault.kind),
        }
    }

    /// Returns every word of [`as_str`](Self::as_str).
    pub fn words() -> impl Iterator<Item = &'static str> {
        let faults = FaultKind::ALL.into_iter().map(Self::Fault);
        [Self::Replied, Self::ToolError].into_iter().chain(faults).map(Self::as_str)
    }

    /// Returns the word for logs and the audit.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Replied => "ok",
            Self::ToolError => "error",
            Self::Fault(kind) => kind.as_str(),
        }
    }

    /// Returns the `error.type` of a span. Empty if the tool succeeded.
    pub(crate) const fn error_type(self) -> &'static str {
        match self {
            Self::Replied => "",
            Self::ToolError => "tool_error",
            Self::Fault(kind) => kind.as_str(),
        }
    }

    /// Returns true if the tool handled the call, even if it found nothing.
    pub const fn is_answered(self) -> bool {
        use FaultKind::{Denied, Exhausted, InvalidArguments, NotFound};
        match self {
            Self::Replied | Self::ToolError => true,
            Self::Fault(kind) => matches!(kind, Denied | Exhausted | InvalidArguments | NotFound),
        }
    }
}

/// Filter for calls. Empty matches all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricsFilter {
    pub source: Option<SourceId>,
    /// The source's own name of a tool.
    pub tool: Option<String>,
    /// Number of days, including today.
    pub days: Option<u32>,
}

/// Statistics of a tool. Latencies exclude connection time. Times are milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolMetrics {
    pub source: SourceId,
    pub tool: String,
    pub calls: u64,
    /// Calls that the tool answered with an error.
    pub tool_errors: u64,
    /// Calls that did not reach the tool.
    pub transport_errors: u64,
    pub mean_ms: f64,
    /// Median latency. `None` if individual calls are no longer stored.
    pub p50_ms: Option<f64>,
    pub p95_ms: Option<f64>,
    /// Total of all calls.
    pub connecting_ms: u64,
    pub tokens_in: u64,
    pub tokens_out: u64,
    pub last_called: Option<u64>,
    /// Error of the last failed call, or its kind if the text is no longer stored. The text can have arguments of the
    /// caller.
    pub last_error: Option<String>,
    /// Kind of the last failure, such as `tool-error`.
    pub last_error_kind: Option<String>,
    /// Calls per day, oldest first, for a sparkline.
    pub by_day: Vec<u64>,
}

impl ToolMetrics {
    /// Returns the share of calls that succeeded. `None` without calls.
    pub fn success_rate(&self) -> Option<f64> {
        let failed = self.tool_errors + self.transport_errors;
        (self.calls > 0).then(|| self.calls.saturating_sub(failed) as f64 / self.calls as f64)
    }

    /// Returns the probability that the next call succeeds, by Laplace's rule of succession.
    pub fn expected_success(&self) -> f64 {
        let failed = self.tool_errors + self.transport_errors;
        (self.calls.saturating_sub(failed) as f64 + 1.0) / (self.calls as f64 + 2.0)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelatedTool {
    pub source: SourceId,
    pub tool: String,
    /// True if it is called after the other tool. False if it shares callers.
    pub follows: bool,
    pub together: u64,
    /// How often the other tool occurs.
    pub of: u64,
    /// Ratio of `together` to its expected value by chance.
    pub lift: f64,
}

/// The ledger. Methods fail with `unavailable` and the store's name if it is unreachable. Recording never fails.
#[async_trait]
pub trait CallLedger: Send + Sync {
    /// Queues a sample without blocking. If the queue is full, drops its oldest samples and logs their number.
    fn record(&self, sample: CallSample);

    async fn metrics(&self, filter: &MetricsFilter) -> Result<Vec<ToolMetrics>, Fault>;

    async fn reset(&self, filter: &MetricsFilter) -> Result<u64, Fault>;

    /// Returns tools that the same caller calls within ten minutes after `tool`, and tools that its callers also use.
    ///
    /// Sorted by significance. Empty if there is too little data.
    async fn related(&self, tool: &ToolId, limit: usize) -> Result<Vec<RelatedTool>, Fault>;

    /// Waits until all earlier samples are on disk.
    async fn flush(&self) -> Result<(), Fault>;
}
