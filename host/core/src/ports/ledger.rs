//! The ledger: how calls went, for the whole machine and for ever. It never holds arguments or replies, and of a
//! tool's last failure a short text without secrets.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    outcome::{Fault, FaultKind},
    tool::{SourceId, ToolId},
};

/// A call that is over.
#[derive(Debug, Clone)]
pub struct CallSample {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub at: u64,
    /// The tool, by its source's own name.
    pub tool: ToolId,
    /// The preset it came through.
    pub preset: Arc<str>,
    /// Who called: the same for the same caller, and nothing that tells who it is.
    pub caller: u64,
    /// How it ended.
    pub ending: SampleEnding,
    /// The error of a call that failed: one line, bounded, without what looks like a secret.
    pub error: Option<Arc<str>>,
    /// Microseconds, without the time of connecting.
    pub took_us: u64,
    /// Microseconds of connecting.
    pub connecting_us: u64,
    /// Tokens of its arguments.
    pub tokens_in: u64,
    /// Tokens of its reply.
    pub tokens_out: u64,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampleEnding {
    /// With a reply.
    Replied,
    /// With a reply that is an error of the tool's own.
    ToolError,
    /// With a fault.
    Fault(FaultKind),
}

impl SampleEnding {
    /// Whether the tool answered: a tool that finds nothing got its call.
    pub const fn is_answered(self) -> bool {
        use FaultKind::{Denied, Exhausted, InvalidArguments, NotFound};
        match self {
            Self::Replied | Self::ToolError => true,
            Self::Fault(kind) => matches!(kind, Denied | Exhausted | InvalidArguments | NotFound),
        }
    }
}

/// Which calls are counted; empty for all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricsFilter {
    /// Of this gate or server.
    pub source: Option<SourceId>,
    /// Of this tool, by its source's own name.
    pub tool: Option<String>,
    /// Of the last so many days, today included.
    pub days: Option<u32>,
}

/// How calls of one tool went. Latencies are milliseconds without the time of connecting; times are milliseconds since
/// 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolMetrics {
    /// Whose tool.
    pub source: SourceId,
    /// Its source's own name for it.
    pub tool: String,
    /// All calls.
    pub calls: u64,
    /// Those that the tool answered with an error.
    pub tool_errors: u64,
    /// Those that did not get through.
    pub transport_errors: u64,
    /// Mean latency.
    pub mean_ms: f64,
    /// Median latency; none where the single calls are not kept any more.
    pub p50_ms: Option<f64>,
    /// The 95th percentile.
    pub p95_ms: Option<f64>,
    /// All calls together.
    pub connecting_ms: u64,
    /// All calls together.
    pub tokens_in: u64,
    /// All calls together.
    pub tokens_out: u64,
    /// When it was last called.
    pub last_called: Option<u64>,
    /// The error of the last call that failed, or its kind in a word if the text is not stored any more.
    pub last_error: Option<String>,
    /// Calls of each day, oldest first, for a sparkline.
    pub by_day: Vec<u64>,
}

impl ToolMetrics {
    /// Calls that got through and ended in no error, as a share; none where there was no call.
    pub fn success_rate(&self) -> Option<f64> {
        let failed = self.tool_errors + self.transport_errors;
        (self.calls > 0).then(|| self.calls.saturating_sub(failed) as f64 / self.calls as f64)
    }

    /// Probability that the next call succeeds, by Laplace's rule of succession: a few calls move it less than many.
    pub fn expected_success(&self) -> f64 {
        let failed = self.tool_errors + self.transport_errors;
        (self.calls.saturating_sub(failed) as f64 + 1.0) / (self.calls as f64 + 2.0)
    }
}

/// A tool that the same callers use soon after another, or too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelatedTool {
    /// Whose tool.
    pub source: SourceId,
    /// Its source's own name for it.
    pub tool: String,
    /// Whether it is called next; else by the same callers.
    pub follows: bool,
    /// How often both were seen together.
    pub together: u64,
    /// How often the first was seen.
    pub of: u64,
    /// How much more often than by chance.
    pub lift: f64,
}

/// The ledger. A store that cannot be reached is an `unavailable` fault that names it; recording never faults.
#[async_trait]
pub trait CallLedger: Send + Sync {
    /// Takes a sample and returns at once. Where more come than can be written, the oldest of those that wait are dropped,
    /// and counted in the log.
    fn record(&self, sample: CallSample);

    /// How calls went, by source and tool.
    async fn metrics(&self, filter: &MetricsFilter) -> Result<Vec<ToolMetrics>, Fault>;

    /// Forgets; the number of records that are gone.
    async fn reset(&self, filter: &MetricsFilter) -> Result<u64, Fault>;

    /// What is called after a tool within ten minutes by the same caller, and what its callers call too; empty where too
    /// little was seen. The most telling first.
    async fn related(&self, tool: &ToolId, limit: usize) -> Result<Vec<RelatedTool>, Fault>;

    /// Waits until everything recorded before is on disk.
    async fn flush(&self) -> Result<(), Fault>;
}
