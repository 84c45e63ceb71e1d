//! Prompts: messages that a user starts with, made by a source from arguments.

use std::{collections::HashSet, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    ContentPart, Fault, InvalidValue,
    icon::{self, Icon},
    invalid::ensure,
    names,
};

pub const MAX_PROMPTS: usize = 128;

const MAX_ARGUMENTS: usize = 64;

/// A prompt as its source declares it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// Follows the rules for tool names.
    pub name: Arc<str>,
    pub title: Option<String>,
    pub description: Option<String>,
    pub arguments: Vec<PromptArgument>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
}

/// An argument of a prompt; its value is text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptArgument {
    pub name: String,
    pub description: Option<String>,
    pub required: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptRole {
    User,
    Assistant,
}

/// A prompt with its arguments filled in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FilledPrompt {
    pub description: Option<String>,
    pub messages: Vec<PromptMessage>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PromptMessage {
    pub role: PromptRole,
    pub content: ContentPart,
}

impl Prompt {
    /// Checks the icons and argument names. The error continues a sentence about the prompt.
    pub fn check(&self) -> Result<(), InvalidValue> {
        icon::check_all(&self.icons)?;
        let count = self.arguments.len();
        ensure!(count <= MAX_ARGUMENTS, "has {count} arguments; the limit is {MAX_ARGUMENTS}");
        let mut seen = HashSet::new();
        for argument in &self.arguments {
            let name = &argument.name;
            let is_valid = (1..=64).contains(&name.len()) && !name.chars().any(char::is_control);
            ensure!(is_valid, "has an argument with the invalid name '{}'", names::quoted(name, 64));
            ensure!(seen.insert(name), "has the argument '{name}' twice");
        }
        Ok(())
    }

    /// Checks a client's arguments: strings, all required ones, and no unknown ones.
    pub fn check_arguments(&self, arguments: &Map<String, Value>) -> Result<(), Fault> {
        let wrong = |reason: String| Err(Fault::invalid(format!("prompt '{}': {reason}", self.name)));
        for argument in self.arguments.iter().filter(|argument| argument.required) {
            if !arguments.contains_key(&argument.name) {
                return wrong(format!("argument '{}' is missing", argument.name));
            }
        }
        for (name, value) in arguments {
            let display_name = names::quoted(name, 64);
            let argument_names = || self.arguments.iter().map(|argument| argument.name.as_str());
            if !argument_names().any(|argument| argument == name) {
                let suggestion = names::did_you_mean(name, argument_names());
                return wrong(format!("unknown argument '{display_name}'.{suggestion}"));
            }
            if !value.is_string() {
                return wrong(format!("argument '{display_name}' must be a string"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_texts_that_the_prompt_knows() {
        let argument =
            |name: &str, required| PromptArgument { name: name.into(), description: None, required };
        let arguments = vec![argument("task", true), argument("style", false)];
        let prompt =
            Prompt { name: "plan".into(), title: None, description: None, arguments, icons: Vec::new() };
        assert_eq!(prompt.check(), Ok(()));
        let check = |given: Value| prompt.check_arguments(given.as_object().expect("an object"));
        assert_eq!(check(json!({"task": "x"})), Ok(()));
        assert_eq!(check(json!({"task": "", "style": "y"})), Ok(()));
        for (given, reason) in [
            (json!({"style": "y"}), "prompt 'plan': argument 'task' is missing"),
            (json!({"task": 1}), "prompt 'plan': argument 'task' must be a string"),
            (
                json!({"task": "x", "styl": "y"}),
                "prompt 'plan': unknown argument 'styl'. Did you mean 'style'?",
            ),
        ] {
            assert_eq!(check(given).expect_err("refused").message, reason);
        }
        let twice = Prompt { arguments: vec![argument("a", true), argument("a", false)], ..prompt };
        assert_eq!(twice.check(), Err("has the argument 'a' twice".into()));
    }
}
