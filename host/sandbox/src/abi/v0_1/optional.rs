//! Types of the optional exports: origins of replies, resources, prompts and completions.

use gatehouse_core::{
    InvalidValue,
    budget::ByteBudget,
    catalog::ToolEntry,
    completion::{CompletionRequest, CompletionTarget, Completions},
    effect,
    json::JsonReader,
    prompt::{self, PromptMessage},
    resource,
    tool::ToolSpec,
};
use serde_json::Value;

use super::{
    bindings::exports::gatehouse::gate::{completion, filter, prompts, resources},
    gatehouse::gate::types,
    tools,
};

pub(super) fn origin(entry: &ToolEntry) -> filter::Origin {
    filter::Origin {
        name: entry.name.to_string(),
        source: entry.id.source.name().to_string(),
        version: entry.version.to_string(),
        tool: (&*entry.declared).into(),
    }
}

/// Converts the messages of a prompt. The error names the JSON text that does not parse.
pub(super) fn messages(
    messages: Vec<prompts::Message>,
    budget: &ByteBudget,
) -> Result<Vec<PromptMessage>, InvalidValue> {
    let mut reader = JsonReader::new(budget);
    let message = |message: prompts::Message| {
        let content = tools::content(&mut reader, message.content)?;
        Ok(PromptMessage { role: message.role.into(), content })
    };
    messages.into_iter().map(message).collect()
}

impl From<&ToolSpec> for types::Tool {
    fn from(tool: &ToolSpec) -> Self {
        let schema = |schema: &serde_json::Map<String, Value>| Value::Object(schema.clone()).to_string();
        Self {
            name: tool.name.to_string(),
            title: tool.title.clone(),
            description: tool.description.clone(),
            input_schema: schema(&tool.input_schema),
            output_schema: tool.output_schema.as_deref().map(schema),
            intent: tool.intent.into(),
            effect: tool.effect.into(),
            idempotent: tool.idempotent,
            open_world: tool.open_world,
            dry_run: tool.dry_run.clone(),
            additive: tool.additive,
            meta: tool.meta.as_ref().map(|meta| Value::Object((**meta).clone()).to_string()),
            icons: tool.icons.iter().cloned().map(Into::into).collect(),
        }
    }
}

impl From<CompletionRequest> for completion::Question {
    fn from(typed: CompletionRequest) -> Self {
        let CompletionRequest { target, argument, value, filled } = typed;
        let target = match target {
            CompletionTarget::Prompt(name) => completion::Target::Prompt(name),
            CompletionTarget::Template(template) => completion::Target::Template(template),
        };
        Self { target, argument, value, filled }
    }
}

enums! {
    effect::Intent => types::Intent { Query, Analyze, Generate, Modify, Execute }
    prompts::Role => prompt::PromptRole { User, Assistant }
}

records! {
    completion::Suggestions => Completions { values, total, more };
    resources::Template => resource::UriTemplate { uri_template, name, title, description, mime_type };
    resources::ResourcePage => resource::ResourcePage { next } [resources];
    prompts::PromptArgument => prompt::PromptArgument { name, description, required };
    prompts::Prompt => prompt::Prompt { name, title, description } [arguments, icons];
}
