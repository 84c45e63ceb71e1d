//! `get_tool_metrics` and `reset_tool_metrics`: show and delete call statistics.

use std::cmp::Ordering;

use gatehouse_sdk::{
    Call, Count, Effect, Fault, Intent, Reply, Tool,
    servers::{self, MetricsFilter, ToolMetrics},
    servers_admin,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Params, reply_format, servers::with_names};

const MAX_LINES: usize = 50;

const MAX_DAYS: u32 = 36_500;

// No doc comments: the schema would describe each value.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum MetricsOrder {
    #[default]
    Calls,
    Failures,
    // Descending by p95, or by mean if single calls are no longer stored.
    Latency,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GetArgs {
    server: Option<String>,
    tool: Option<String>,
    days: Option<Count>,
    sort: Option<MetricsOrder>,
    min_calls: Option<Count>,
}

#[derive(Serialize, JsonSchema)]
struct ToolMetricsRow {
    server: String,
    tool: String,
    call_count: u64,
    tool_errors: u64,
    transport_errors: u64,
    /// 0 to 1.
    success_rate: f64,
    /// Excludes connecting.
    avg_latency_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_latency_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p95_latency_ms: Option<f64>,
    connecting_ms: u64,
    tokens_in: u64,
    tokens_out: u64,
    /// Milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_called: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct AllMetrics {
    metrics: Vec<ToolMetricsRow>,
    total_calls: u64,
}

pub(crate) fn get() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, GetArgs>("get_tool_metrics")
        .description(|_| "Call statistics.")
        .output::<AllMetrics>()
        .run(run_get)
}

fn run_get(_: &Call<Params>, args: GetArgs) -> Result<Reply, Fault> {
    let days = args.days.map(|days| days.at_most(MAX_DAYS));
    let filter = MetricsFilter { server: args.server, tool: args.tool, days };
    let mut metrics: Vec<ToolMetricsRow> =
        servers::metrics(&filter).map_err(with_names)?.into_iter().map(metrics_row).collect();
    let recorded = !metrics.is_empty();
    let min_calls = args.min_calls.map_or(0, |min| u64::from(min.at_most(u32::MAX)));
    metrics.retain(|row| row.call_count >= min_calls);
    sort(&mut metrics, args.sort.unwrap_or_default());
    let mut lines: Vec<String> = metrics.iter().take(MAX_LINES).map(line).collect();
    if metrics.is_empty() && recorded {
        lines.push(format!("No tool was called {min_calls} times."));
    } else if metrics.is_empty() {
        lines.push("No call was recorded.".into());
    } else if metrics.len() > MAX_LINES {
        lines.push(format!("{} tools in all; these are the first.", metrics.len()));
    }
    let total_calls = metrics.iter().map(|row| row.call_count).sum();
    Reply::markdown(lines.join("\n")).structured(&AllMetrics { metrics, total_calls })
}

/// Sorts tools; ties are broken by calls, then by name.
fn sort(metrics: &mut [ToolMetricsRow], by: MetricsOrder) {
    let latency = |row: &ToolMetricsRow| row.p95_latency_ms.unwrap_or(row.avg_latency_ms);
    // Unrounded, because one failure in a thousand calls would round to zero.
    let failed = |row: &ToolMetricsRow| {
        row.tool_errors.saturating_add(row.transport_errors) as f64 / row.call_count.max(1) as f64
    };
    metrics.sort_by(|a, b| {
        let first = match by {
            MetricsOrder::Calls => Ordering::Equal,
            MetricsOrder::Failures => failed(b).total_cmp(&failed(a)),
            MetricsOrder::Latency => latency(b).total_cmp(&latency(a)),
        };
        first
            .then_with(|| b.call_count.cmp(&a.call_count))
            .then_with(|| (&a.server, &a.tool).cmp(&(&b.server, &b.tool)))
    });
}

/// Returns the share of calls that succeeded; 0.5 without calls.
pub(crate) fn success_rate(metrics: &ToolMetrics) -> f64 {
    match metrics.calls {
        0 => 0.5,
        calls => {
            let failed = metrics.tool_errors.saturating_add(metrics.transport_errors);
            calls.saturating_sub(failed) as f64 / calls as f64
        }
    }
}

fn metrics_row(row: ToolMetrics) -> ToolMetricsRow {
    ToolMetricsRow {
        success_rate: reply_format::two_places(success_rate(&row)),
        server: row.server,
        tool: row.tool,
        call_count: row.calls,
        tool_errors: row.tool_errors,
        transport_errors: row.transport_errors,
        avg_latency_ms: reply_format::one_place(row.mean_ms),
        p50_latency_ms: row.p50_ms.map(reply_format::one_place),
        p95_latency_ms: row.p95_ms.map(reply_format::one_place),
        connecting_ms: row.connecting_ms,
        tokens_in: row.tokens_in,
        tokens_out: row.tokens_out,
        last_called: row.last_called,
        last_error: row.last_error.map(|error| reply_format::line(&error, 200)),
    }
}

fn line(row: &ToolMetricsRow) -> String {
    let (success, latency) = (row.success_rate * 100.0, row.avg_latency_ms);
    let spread = match (row.p50_latency_ms, row.p95_latency_ms) {
        (Some(p50), Some(p95)) => format!(" (p50 {p50}, p95 {p95})"),
        _ => String::new(),
    };
    let error = row.last_error.as_ref().map(|error| format!(", last error: {error}")).unwrap_or_default();
    format!(
        "{}: {}: {} calls, {success:.0} % succeeded, {latency} ms{spread}{error}",
        row.server, row.tool, row.call_count
    )
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ResetConfirmation {
    Yes,
    All,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ResetArgs {
    server: Option<String>,
    tool: Option<String>,
    /// `all` if neither is given.
    confirm: ResetConfirmation,
}

#[derive(Serialize, JsonSchema)]
struct ResetReply {
    deleted_count: u64,
}

pub(crate) fn reset() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, ResetArgs>("reset_tool_metrics")
        .description(|_| "Delete call statistics.")
        .only_if(|params| params.admin)
        .intent(Intent::Modify)
        .effect(Effect::Mutating)
        .idempotent()
        .output::<ResetReply>()
        .run(run_reset)
}

fn run_reset(_: &Call<Params>, args: ResetArgs) -> Result<Reply, Fault> {
    let everything = args.server.is_none() && args.tool.is_none();
    if everything && !matches!(args.confirm, ResetConfirmation::All) {
        return Err(Fault::invalid("resetting without server or tool deletes all call records")
            .hint("Set server or tool, or set confirm to \"all\"."));
    }
    let filter = MetricsFilter { server: args.server, tool: args.tool, days: None };
    let deleted_count = servers_admin::reset_metrics(&filter)?;
    Reply::markdown(format!("Deleted {deleted_count} records.")).structured(&ResetReply { deleted_count })
}
