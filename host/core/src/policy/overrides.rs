//! Changes that a preset makes to one tool.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::ToolSpec;

/// Changes to one tool, keyed by its name without them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolOverride {
    pub name: Option<String>,
    pub description: Option<String>,
    /// Arguments that the host sets and clients do not see.
    pub fixed: Map<String, Value>,
    /// True if the tool is removed.
    pub hidden: bool,
    /// True if clients do not see the tool but can call it.
    pub unlisted: bool,
}

impl ToolOverride {
    /// Returns the tool as clients see it.
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
