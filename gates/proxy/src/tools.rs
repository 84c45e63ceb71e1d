//! `list_tools` lists the tools of one server, one per line. `get_tool_schema` shows one tool in full.

use std::collections::HashMap;

use gatehouse_sdk::{
    Call, Effect, Fault, Reply, Tool,
    servers::{self, MetricsFilter, ServerTool},
    to_json,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Params, metrics, reply_format, servers::with_names};

pub(crate) const NAME: &str = "list_tools";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListArgs {
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

pub(crate) fn list() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, ListArgs>(NAME)
        .description(|_| "A server's tools in brief.")
        .idempotent()
        .output::<ToolListReply>()
        .run(run_list)
}

fn run_list(_: &Call<Params>, args: ListArgs) -> Result<Reply, Fault> {
    let listed = servers::tools(&args.server).map_err(with_names)?;
    let mut metrics = match args.include_metrics {
        Some(true) => server_metrics(&args.server)?,
        _ => HashMap::new(),
    };
    let tools: Vec<ToolListEntry> = listed
        .into_iter()
        .map(|tool| ToolListEntry {
            metrics: metrics.remove(&tool.name),
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

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SchemaArgs {
    server: String,
    tool: String,
}

/// MCP's hints.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ToolAnnotations {
    read_only_hint: bool,
    destructive_hint: bool,
    idempotent_hint: bool,
    open_world_hint: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ToolDefinition {
    name: String,
    description: String,
    input_schema: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<Value>,
    annotations: ToolAnnotations,
    /// Milliseconds since 1970.
    #[serde(rename = "last_schema_change", skip_serializing_if = "Option::is_none")]
    last_schema_change: Option<u64>,
}

pub(crate) fn schema() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, SchemaArgs>("get_tool_schema")
        .description(|_| "One tool with its full schema.")
        .idempotent()
        .output::<ToolDefinition>()
        .run(run_schema)
}

fn run_schema(_: &Call<Params>, args: SchemaArgs) -> Result<Reply, Fault> {
    let tool = servers::tool(&args.server, &args.tool)?;
    let input_schema = parse_schema(&tool.input_schema)?;
    let output_schema = tool.output_schema.as_deref().map(parse_schema).transpose()?;
    let read_only = tool.effect == Effect::ReadOnly;
    let annotations = ToolAnnotations {
        read_only_hint: read_only,
        destructive_hint: !read_only && !tool.additive,
        idempotent_hint: read_only || tool.idempotent,
        open_world_hint: tool.open_world || tool.effect == Effect::ExternalExec,
    };
    let ServerTool { name, description, last_schema_change, .. } = tool;
    let definition =
        ToolDefinition { name, description, input_schema, output_schema, annotations, last_schema_change };
    Reply::markdown(to_json(&definition)?).structured(&definition)
}

pub(crate) fn parse_schema(schema: &str) -> Result<Value, Fault> {
    serde_json::from_str(schema)
        .map_err(|e| Fault::internal(format!("the host returned an invalid schema: {e}")))
}
