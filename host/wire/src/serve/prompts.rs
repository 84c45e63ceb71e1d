//! Conversion of prompts to MCP. Prompts are listed at load, so the list is one page.

use gatehouse_core::{
    Catalog, Fault, FaultKind,
    prompt::{PromptMessage, PromptRole},
    resources_and_prompts::PromptEntry,
};
use rmcp::{
    ErrorData,
    model::{self, GetPromptResult, Prompt, PromptArgument},
};

use super::{icons, reply};

/// Returns the `prompts/list` result, sorted by name. The same catalog gives the same bytes.
pub(super) fn listed(catalog: &Catalog) -> Vec<Prompt> {
    catalog.resources_and_prompts.prompts().iter().map(prompt).collect()
}

fn prompt(entry: &PromptEntry) -> Prompt {
    let spec = &entry.prompt;
    let arguments = spec.arguments.iter().map(|argument| {
        let mut told = PromptArgument::new(&argument.name).with_required(argument.required);
        told.description.clone_from(&argument.description);
        told
    });
    let arguments: Vec<_> = arguments.collect();
    let arguments = (!arguments.is_empty()).then_some(arguments);
    let mut prompt = Prompt::new(entry.name.as_str(), spec.description.clone(), arguments);
    prompt.title.clone_from(&spec.title);
    prompt.icons = icons::to_mcp(&spec.icons);
    prompt
}

pub(super) fn result(
    entry: &PromptEntry,
    made: Result<Vec<PromptMessage>, Fault>,
) -> Result<GetPromptResult, ErrorData> {
    let message = |message: PromptMessage| {
        let role = match message.role {
            PromptRole::User => model::Role::User,
            PromptRole::Assistant => model::Role::Assistant,
        };
        Ok(model::PromptMessage::new(role, reply::block(message.content)?))
    };
    let messages = made.and_then(|made| made.into_iter().map(message).collect::<Result<Vec<_>, Fault>>());
    let mut result = GetPromptResult::new(messages.map_err(|fault| refused(&fault))?);
    result.description.clone_from(&entry.prompt.description);
    Ok(result)
}

/// Converts a fault to a protocol error, since a prompt result cannot be an error.
pub(super) fn refused(fault: &Fault) -> ErrorData {
    let (message, data) = (fault.in_one_line(), Some(reply::fault_data(fault, None)));
    match fault.kind {
        FaultKind::InvalidArguments | FaultKind::NotFound => ErrorData::invalid_params(message, data),
        _ => ErrorData::internal_error(message, data),
    }
}
