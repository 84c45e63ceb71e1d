//! What may be meant by what a person types: suggestions for an argument of a prompt, or for a name in the template of
//! resources. The source that has the prompt or the template is asked.

use std::sync::Arc;

use crate::{
    catalog::Catalog,
    names,
    outcome::{Fault, FaultKind},
    source::Source,
};

/// The most suggestions for one value, which is what the protocol allows.
pub const MAX_COMPLETIONS: usize = 100;

/// The most bytes of what is typed, and of each value that is filled in.
pub const MAX_INPUT_BYTES: usize = 4_096;

/// The most arguments that are filled in.
const MAX_FILLED_ARGUMENTS: usize = 64;

/// What a value belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompletionTarget {
    /// A prompt, by the name of whoever is asked.
    Prompt(String),
    /// A template of resources.
    Template(String),
}

/// What is typed, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionRequest {
    /// What the value belongs to.
    pub target: CompletionTarget,
    /// The argument of the prompt, or the name in the template.
    pub argument: String,
    /// So far.
    pub value: String,
    /// Arguments that are filled in already, with their values.
    pub filled: Vec<(String, String)>,
}

/// What may be meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completions {
    /// The likeliest first, at most [`MAX_COMPLETIONS`].
    pub values: Vec<String>,
    /// How many there are in all, where that is known.
    pub total: Option<u32>,
    /// Whether there are more.
    pub more: bool,
}

impl Completions {
    /// No more than the protocol allows.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        self.more |= self.values.len() > MAX_COMPLETIONS;
        self.values.truncate(MAX_COMPLETIONS);
        self
    }
}

/// Who is asked for suggestions, under which parameters, and as whom it knows the target. None where it makes none.
pub struct CompletionSource<'a> {
    /// Who has the target.
    pub source: &'a Arc<dyn Source>,
    /// The preset's parameters with defaults, as JSON text.
    pub params: &'a Arc<str>,
}

impl Catalog {
    /// Whether anything that this preset offers is completed.
    pub fn has_completions(&self) -> bool {
        let prompts = self.resources_and_prompts.prompts().iter().any(|entry| entry.completes);
        prompts || self.resources_and_prompts.resource_sources().iter().any(|known| known.completes)
    }

    /// Who completes a value, in whose words it then is. `invalid-arguments` where there is no such prompt, template or
    /// argument; nobody where the source that has it makes no suggestions.
    pub fn completion_source(
        &self,
        typed: &mut CompletionRequest,
    ) -> Result<Option<CompletionSource<'_>>, Fault> {
        let invalid = |why: String| Fault::new(FaultKind::InvalidArguments, why);
        let too_long = |text: &String| text.len() > MAX_INPUT_BYTES;
        let filled = typed.filled.iter().any(|(name, value)| too_long(name) || too_long(value));
        if too_long(&typed.value) || filled || typed.filled.len() > MAX_FILLED_ARGUMENTS {
            return Err(invalid(format!(
                "What is typed may have {MAX_INPUT_BYTES} bytes, with at most {MAX_FILLED_ARGUMENTS} other arguments."
            )));
        }
        let argument = typed.argument.as_str();
        let has_none = |what: &str, name: &str, known: &mut dyn Iterator<Item = &str>| {
            let near = names::did_you_mean(argument, known);
            let (name, argument) = (names::quoted(name, 128), names::quoted(argument, 64));
            invalid(format!("{what} '{name}' has no argument '{argument}'.{near}"))
        };
        let (source, params, completes) = match &mut typed.target {
            CompletionTarget::Prompt(name) => {
                let entry = self.resources_and_prompts.prompt(name)?;
                let mut known = entry.prompt.arguments.iter().map(|known| known.name.as_str());
                if !known.clone().any(|known| known == argument) {
                    return Err(has_none("Prompt", name, &mut known));
                }
                *name = entry.prompt.name.to_string();
                (&entry.source, &entry.params, entry.completes)
            }
            CompletionTarget::Template(template) => {
                let known = self.resources_and_prompts.resource_sources().iter();
                let found = known.flat_map(|known| known.templates.iter().map(move |one| (known, one)));
                let found = found.into_iter().find(|(_, one)| one.uri_template == *template);
                let (known, found) = found.ok_or_else(|| {
                    invalid(format!("Unknown resource template: '{}'", names::quoted(template, 256)))
                })?;
                let values = found.value_names();
                if !values.contains(&argument) {
                    return Err(has_none("Template", template, &mut values.into_iter()));
                }
                (&known.source, &known.params, known.completes)
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
