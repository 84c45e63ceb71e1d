//! Completions for prompt arguments and values in resource templates, provided by their source.

use std::sync::Arc;

use crate::{Catalog, Fault, Source, names};

/// Maximum completions for one value; the MCP limit.
pub const MAX_COMPLETIONS: usize = 100;

/// Maximum bytes of the text to complete, and of each other argument.
pub const MAX_INPUT_BYTES: usize = 4_096;

const MAX_FILLED_ARGUMENTS: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompletionTarget {
    /// A prompt, by its exposed name. [`Catalog::completion_source`] replaces it with the source's own name.
    Prompt(String),
    Template(String),
}

/// A value to complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionRequest {
    pub target: CompletionTarget,
    /// Argument of the prompt, or name in the template.
    pub argument: String,
    /// Text request so far.
    pub value: String,
    pub filled: Vec<(String, String)>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completions {
    /// Best first, at most [`MAX_COMPLETIONS`].
    pub values: Vec<String>,
    /// Total number, if known.
    pub total: Option<u32>,
    pub more: bool,
}

impl Completions {
    /// Truncates the values to the protocol's limit.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        self.more |= self.values.len() > MAX_COMPLETIONS;
        self.values.truncate(MAX_COMPLETIONS);
        self
    }
}

pub struct CompletionSource<'a> {
    pub source: &'a Arc<dyn Source>,
    /// The preset's parameters with defaults, as JSON text.
    pub params: &'a Arc<str>,
}

impl Catalog {
    pub fn has_completions(&self) -> bool {
        let prompts = self.resources_and_prompts.prompts().iter().any(|entry| entry.completes);
        prompts || self.resources_and_prompts.resource_sources().iter().any(|source| source.listing.completes)
    }

    /// Returns the source that completes a value, or `None` if it provides no completions. Replaces the prompt's
    /// exposed name in `request` with the source's own.
    ///
    /// # Errors
    /// `invalid-arguments` if there is no such prompt, template or argument, or a value is too long.
    pub fn completion_source(
        &self,
        request: &mut CompletionRequest,
    ) -> Result<Option<CompletionSource<'_>>, Fault> {
        let too_long = |text: &String| text.len() > MAX_INPUT_BYTES;
        let filled = request.filled.iter().any(|(name, value)| too_long(name) || too_long(value));
        if too_long(&request.value) || filled || request.filled.len() > MAX_FILLED_ARGUMENTS {
            return Err(Fault::invalid(format!(
                "completion request is too large: the limits are {MAX_INPUT_BYTES} bytes per value and \
                {MAX_FILLED_ARGUMENTS} other arguments"
            )));
        }
        let argument = request.argument.as_str();
        let has_none = |kind: &str, name: &str, candidates: &mut dyn Iterator<Item = &str>| {
            let suggestion = names::did_you_mean(argument, candidates);
            let (name, argument) = (names::quoted(name, 128), names::quoted(argument, 64));
            Fault::invalid(format!("{kind} '{name}' has no argument '{argument}'.{suggestion}"))
        };
        let (source, params, completes) = match &mut request.target {
            CompletionTarget::Prompt(name) => {
                let entry = self.resources_and_prompts.prompt(name)?;
                let mut argument_names =
                    entry.prompt.arguments.iter().map(|prompt_argument| prompt_argument.name.as_str());
                if !argument_names.clone().any(|candidate| candidate == argument) {
                    return Err(has_none("prompt", name, &mut argument_names));
                }
                *name = entry.prompt.name.to_string();
                (&entry.source, &entry.params, entry.completes)
            }
            CompletionTarget::Template(template) => {
                let sources = self.resources_and_prompts.resource_sources().iter();
                let mut templates =
                    sources.flat_map(|entry| entry.templates.iter().map(move |candidate| (entry, candidate)));
                let hit = templates.find(|(_, candidate)| candidate.uri_template == *template);
                let (entry, resource_template) = hit.ok_or_else(|| {
                    Fault::invalid(format!("Unknown resource template: '{}'", names::quoted(template, 256)))
                })?;
                let values = resource_template.value_names();
                if !values.contains(&argument) {
                    return Err(has_none("template", template, &mut values.into_iter()));
                }
                (&entry.source, &entry.params, entry.listing.completes)
            }
        };
        Ok(completes.then_some(CompletionSource { source, params }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_protocol_allows_is_shown() {
        let values: Vec<String> = (0..=MAX_COMPLETIONS).map(|number| number.to_string()).collect();
        let bounded = Completions { values: values.clone(), total: Some(101), more: false }.bounded();
        assert_eq!((bounded.values.len(), bounded.total, bounded.more), (MAX_COMPLETIONS, Some(101), true));
        let few = Completions { values: values[..2].to_vec(), ..Completions::default() };
        assert_eq!(few.clone().bounded(), few);
    }
}
