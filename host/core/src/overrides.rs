//! What a preset changes about one tool: its name, its description, parameters that are fixed, or that it is hidden or
//! unlisted.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::tool::ToolSpec;

/// Changes to one tool, by the name under which it would be exposed without them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolOverride {
    /// The name that clients see instead.
    pub name: Option<String>,
    /// The description that clients see instead.
    pub description: Option<String>,
    /// Arguments that the host sets. Clients see no such parameter and cannot set it.
    pub fixed: Map<String, Value>,
    /// Whether nobody sees the tool.
    pub hidden: bool,
    /// True if clients are not shown the tool, though they can call it.
    pub unlisted: bool,
}

impl ToolOverride {
    /// The tool as clients see it.
    pub(crate) fn apply(&self, spec: &Arc<ToolSpec>) -> Arc<ToolSpec> {
        let mut spec = Arc::clone(spec);
        if let Some(description) = &self.description {
            Arc::make_mut(&mut spec).description.clone_from(description);
        }
        if !self.fixed.is_empty() {
            let schema = Arc::make_mut(&mut Arc::make_mut(&mut spec).input_schema);
            if let Some(Value::Object(properties)) = schema.get_mut("properties") {
                properties.retain(|name, _| !self.fixed.contains_key(name));
            }
            if let Some(Value::Array(required)) = schema.get_mut("required") {
                required.retain(|name| !name.as_str().is_some_and(|name| self.fixed.contains_key(name)));
            }
        }
        spec
    }
}
