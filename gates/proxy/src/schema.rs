//! `get_tool_schema`: shows one tool in full.

use gatehouse_sdk::{
    Call, Effect, Fault, Reply, Tool,
    servers::{self, ServerTool},
    to_json,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Params;

pub(crate) const NAME: &str = "get_tool_schema";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
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

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Args>(NAME)
        .description(|_| "One tool with its full schema.")
        .idempotent()
        .output::<ToolDefinition>()
        .run(run)
}

fn run(_: &Call<Params>, args: Args) -> Result<Reply, Fault> {
    let tool = servers::tool(&args.server, &args.tool)?;
    let input_schema = read(&tool.input_schema)?;
    let output_schema = tool.output_schema.as_deref().map(read).transpose()?;
    let annotations = annotations(&tool);
    let ServerTool { name, description, last_schema_change, .. } = tool;
    let definition =
        ToolDefinition { name, description, input_schema, output_schema, annotations, last_schema_change };
    Reply::markdown(to_json(&definition)?).structured(&definition)
}

fn annotations(tool: &ServerTool) -> ToolAnnotations {
    let read_only = tool.effect == Effect::ReadOnly;
    ToolAnnotations {
        read_only_hint: read_only,
        destructive_hint: !read_only && !tool.additive,
        idempotent_hint: read_only || tool.idempotent,
        open_world_hint: tool.open_world || tool.effect == Effect::ExternalExec,
    }
}

pub(crate) fn read(schema: &str) -> Result<Value, Fault> {
    serde_json::from_str(schema)
        .map_err(|e| Fault::internal(format!("the host returned an invalid schema: {e}")))
}
