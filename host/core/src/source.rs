//! A source lists tools and runs them: a gate, or later a proxied MCP server.

use std::{collections::HashSet, sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    call::Call,
    outcome::{Fault, Outcome},
    schema::Schema,
    tool::{ExposedName, SourceId, ToolSpec},
};

/// What a source offers under one set of parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Listing {
    /// The name the source gives itself.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it is, in a sentence.
    pub summary: String,
    /// JSON Schema of the parameters a preset may set, each with its default.
    pub params_schema: Arc<Map<String, Value>>,
    /// Its tools, in the order it declares them.
    pub tools: Vec<Arc<ToolSpec>>,
}

/// One tool call on its way to a source: what the pipeline knows, and which tool the source calls it.
pub struct SourceCall<'a> {
    /// The call; its arguments are an object that matches the tool's schema.
    pub call: &'a Call,
    /// The tool as the source declares it.
    pub tool: &'a ToolSpec,
    /// The preset's parameters, defaults filled in, as JSON text.
    pub params: &'a str,
}

/// Something that has tools.
#[async_trait]
pub trait Source: Send + Sync {
    /// Who it is.
    fn id(&self) -> &SourceId;

    /// The longest one call may take.
    fn time_limit(&self) -> Duration;

    /// What it offers under these parameters. The same parameters give the same listing.
    async fn list(&self, params: &Map<String, Value>) -> Result<Arc<Listing>, Fault>;

    /// Runs a tool. Dropping the future ends the call and frees what it holds.
    async fn call(&self, call: SourceCall<'_>) -> Outcome;
}

/// The most tools one source may list; a client that is shown more has lost its context anyway.
pub const MAX_TOOLS: usize = 512;

/// The most bytes a description or a schema may have.
pub const MAX_TEXT: usize = 64 * 1024;

impl Listing {
    /// Checks what a source says about itself before anybody sees it: names, duplicates, sizes, schemas.
    /// The error says which tool and what.
    pub fn check(&self) -> Result<(), String> {
        if self.tools.len() > MAX_TOOLS {
            return Err(format!("lists {} tools, the most is {MAX_TOOLS}", self.tools.len()));
        }
        Schema::new(Arc::clone(&self.params_schema))
            .compile()
            .map_err(|why| format!("params-schema: {why}"))?;
        let mut seen = HashSet::new();
        for tool in &self.tools {
            ExposedName::new(&tool.name).map_err(|why| format!("tool name {why}"))?;
            let bad = |why: String| format!("tool '{}': {why}", tool.name);
            if !seen.insert(&*tool.name) {
                return Err(bad("is listed twice".into()));
            }
            if tool.description.len() > MAX_TEXT {
                return Err(bad(format!("its description is longer than {MAX_TEXT} bytes")));
            }
            for (what, schema) in
                [("input", Some(&tool.input_schema)), ("output", tool.output_schema.as_ref())]
            {
                let Some(schema) = schema else { continue };
                if schema.get("type").and_then(Value::as_str) != Some("object") {
                    return Err(bad(format!("its {what} schema is not of type object")));
                }
                Schema::new(Arc::clone(schema))
                    .compile()
                    .map_err(|why| bad(format!("its {what} schema: {why}")))?;
            }
        }
        Ok(())
    }
}
