//! Definitions for review: everything about a server's tools, prompts, templates and instructions that a model or user
//! reads, as canonical JSON. Approvals are bound to the digest.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Listing, ToolSpec, hash::sha256_hex, icon::Icon, prompt::Prompt, util::enum_words};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DefinitionKind {
    Tool,
    Prompt,
    Template,
    Instructions,
}

enum_words! { DefinitionKind {
    Tool: "tool", Prompt: "prompt", Template: "template", Instructions: "instructions"
} }

impl DefinitionKind {
    /// Returns the name under which users approve it. Only names of tools have no colon.
    pub fn label(self, name: &str) -> String {
        match self {
            Self::Tool => name.to_owned(),
            Self::Instructions => "server:instructions".to_owned(),
            kind => format!("{}:{name}", kind.as_str()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewedDefinition {
    pub kind: DefinitionKind,
    /// The server's own name for it; the template itself for templates, empty for instructions.
    pub name: String,
    /// JSON with sorted keys.
    pub text: String,
    pub digest: String,
}

impl ReviewedDefinition {
    fn new(kind: DefinitionKind, name: &str, mut value: Value) -> Self {
        value.sort_all_objects();
        let text = value.to_string();
        Self { kind, name: name.to_owned(), digest: sha256_hex(&text), text }
    }

    /// Returns a tool's definition, with the hints that presets and users rely on.
    pub fn from_tool(tool: &ToolSpec) -> Self {
        let hints = tool.annotations();
        let value = json!({
            "name": &*tool.name, "title": tool.title, "description": tool.description,
            "inputSchema": *tool.input_schema, "outputSchema": tool.output_schema.as_deref(),
            "annotations": {"readOnlyHint": hints.read_only, "destructiveHint": hints.destructive,
                "idempotentHint": hints.idempotent, "openWorldHint": hints.open_world},
            "icons": icons(&tool.icons), "_meta": tool.meta.as_deref(),
        });
        Self::new(DefinitionKind::Tool, &tool.name, value)
    }

    fn from_prompt(prompt: &Prompt) -> Self {
        let value = json!({
            "name": &*prompt.name, "title": prompt.title, "description": prompt.description,
            "arguments": prompt.arguments, "icons": icons(&prompt.icons),
        });
        Self::new(DefinitionKind::Prompt, &prompt.name, value)
    }
}

impl Listing {
    /// Returns the definitions of everything but the tools.
    pub fn non_tool_definitions(&self) -> Vec<ReviewedDefinition> {
        let prompts = self.prompts.iter().map(ReviewedDefinition::from_prompt);
        let templates = self.templates.iter().map(|template| {
            ReviewedDefinition::new(DefinitionKind::Template, &template.uri_template, json!(template))
        });
        let instructions = Some(&self.summary).filter(|text| !text.is_empty());
        let instructions = instructions.map(|text| {
            ReviewedDefinition::new(DefinitionKind::Instructions, "", json!({"instructions": text}))
        });
        prompts.chain(templates).chain(instructions).collect()
    }
}

/// Returns icons with digests instead of pictures, since a review cannot read base64.
fn icons(icons: &[Icon]) -> Vec<Value> {
    let icon =
        |icon: &Icon| json!({"sha256": sha256_hex(&icon.src), "sizes": icon.sizes, "theme": icon.theme});
    icons.iter().map(icon).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::testing::tool;

    #[test]
    fn everything_that_is_read_is_part_of_a_definition() {
        let plain = tool("rename", None);
        let icon = Icon { src: "data:image/png;base64,AAAA".into(), sizes: Vec::new(), theme: None };
        let meta = json!({"note": "Call this first."}).as_object().cloned().map(Arc::new);
        let changed = [
            ToolSpec { title: Some("Rename".into()), ..plain.clone() },
            ToolSpec { description: "Other".into(), ..plain.clone() },
            ToolSpec { meta, ..plain.clone() },
            ToolSpec { icons: vec![icon], ..plain.clone() },
            ToolSpec { open_world: !plain.open_world, ..plain.clone() },
        ];
        let digest = |tool: &ToolSpec| ReviewedDefinition::from_tool(tool).digest;
        assert!(changed.iter().all(|tool| digest(tool) != digest(&plain)));
        assert_eq!(digest(&plain.clone()), digest(&plain));
    }

    #[test]
    fn labels_of_other_kinds_are_not_names_of_tools() {
        let labels = DefinitionKind::ALL.map(|kind| kind.label("plan"));
        assert_eq!(labels, ["plan", "prompt:plan", "template:plan", "server:instructions"]);
    }
}
