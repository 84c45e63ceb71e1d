//! `list_tools`: lists the tools of one server, one per line.

use std::collections::HashMap;

use gatehouse_sdk::{
    Call, Fault, Reply, Tool,
    servers::{self, MetricsFilter},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Params, metrics, reply_format, servers::with_names};

pub(crate) const NAME: &str = "list_tools";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    server: String,
    include_metrics: Option<bool>,
}

/// Call statistics of a tool.
#[derive(Serialize, JsonSchema)]
struct MetricsSummary {
    /// 0 to 1.
    success_rate: f64,
    avg_latency_ms: f64,
    call_count: u64,
}

#[derive(Serialize, JsonSchema)]
struct ToolListEntry {
    name: String,
    brief: String,
    category: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<MetricsSummary>,
}

#[derive(Serialize, JsonSchema)]
struct ToolListReply {
    tools: Vec<ToolListEntry>,
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Args>(NAME)
        .description(|_| "A server's tools in brief.")
        .idempotent()
        .output::<ToolListReply>()
        .run(run)
}

fn run(_: &Call<Params>, args: Args) -> Result<Reply, Fault> {
    let listed = servers::tools(&args.server).map_err(with_names)?;
    let mut known = match args.include_metrics {
        Some(true) => server_metrics(&args.server)?,
        _ => HashMap::new(),
    };
    let tools: Vec<ToolListEntry> = listed
        .into_iter()
        .map(|tool| ToolListEntry {
            metrics: known.remove(&tool.name),
            name: tool.name,
            brief: tool.brief,
            category: tool.category,
        })
        .collect();
    let text = if tools.is_empty() { "It has no tools.".to_owned() } else { by_category(&tools).join("\n") };
    Reply::markdown(text).structured(&ToolListReply { tools })
}

/// Formats one line per tool, in groups that begin with a category line.
fn by_category(tools: &[ToolListEntry]) -> Vec<String> {
    let mut sorted: Vec<&ToolListEntry> = tools.iter().collect();
    sorted.sort_by(|a, b| a.category.cmp(&b.category));
    let mut lines = Vec::new();
    for group in sorted.chunk_by(|a, b| a.category == b.category) {
        lines.push(format!("[{}]", group[0].category));
        lines.extend(group.iter().map(|tool| line(tool)));
    }
    lines
}

fn line(tool: &ToolListEntry) -> String {
    let metrics = tool.metrics.as_ref().map(|metrics| {
        let MetricsSummary { success_rate, avg_latency_ms, call_count } = metrics;
        format!(" [{call_count} calls, {:.0} % succeeded, {avg_latency_ms} ms]", success_rate * 100.0)
    });
    format!("{}: {}{}", tool.name, tool.brief, metrics.unwrap_or_default())
}

fn server_metrics(server: &str) -> Result<HashMap<String, MetricsSummary>, Fault> {
    let filter = MetricsFilter { server: Some(server.to_owned()), ..MetricsFilter::all() };
    let called = servers::metrics(&filter)?.into_iter().filter(|row| row.calls > 0);
    let metrics = called.map(|row| {
        let metrics = MetricsSummary {
            success_rate: reply_format::two_places(metrics::success_rate(&row)),
            avg_latency_ms: reply_format::one_place(row.mean_ms),
            call_count: row.calls,
        };
        (row.tool, metrics)
    });
    Ok(metrics.collect())
}
