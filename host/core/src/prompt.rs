//! Prompts: messages that a person picks to begin with, made by a source from arguments.

use std::{collections::HashSet, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    icon::{self, Icon},
    names,
    outcome::{ContentPart, Fault},
};

/// The most prompts of one source.
pub const MAX_PROMPTS: usize = 128;

/// The most arguments of one prompt.
const MAX_ARGUMENTS: usize = 64;

/// One prompt as its source declares it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// As the name of a tool.
    pub name: Arc<str>,
    /// A name for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// What it is made from.
    pub arguments: Vec<PromptArgument>,
    /// Pictures for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
}

/// One argument of a prompt; its value is text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptArgument {
    /// Unique within the prompt.
    pub name: String,
    /// What it means.
    pub description: Option<String>,
    /// Whether the prompt cannot be made without.
    pub required: bool,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptRole {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptMessage {
    /// Who speaks.
    pub role: PromptRole,
    /// What is said.
    pub content: ContentPart,
}

impl Prompt {
    /// Whether its arguments can be told apart; the error is the rest of a sentence about it.
    pub fn check(&self) -> Result<(), String> {
        icon::check_all(&self.icons)?;
        if self.arguments.len() > MAX_ARGUMENTS {
            return Err(format!("has {} arguments, the most is {MAX_ARGUMENTS}", self.arguments.len()));
        }
        let mut seen = HashSet::new();
        for argument in &self.arguments {
            let name = &argument.name;
            if name.is_empty() || name.len() > 64 || name.chars().any(char::is_control) {
                return Err(format!("has an argument '{}', which is no name", names::quoted(name, 64)));
            }
            if !seen.insert(name) {
                return Err(format!("has the argument '{name}' twice"));
            }
        }
        Ok(())
    }

    /// Checks what a client sends for them: texts, all that are required, and no others.
    pub fn check_arguments(&self, given: &Map<String, Value>) -> Result<(), Fault> {
        let wrong = |why: String| Err(Fault::invalid(format!("Prompt '{}': {why}", self.name)));
        for argument in self.arguments.iter().filter(|argument| argument.required) {
            if !given.contains_key(&argument.name) {
                return wrong(format!("the argument '{}' is missing.", argument.name));
            }
        }
        for (name, value) in given {
            let shown = names::quoted(name, 64);
            let known = || self.arguments.iter().map(|argument| argument.name.as_str());
            if !known().any(|argument| argument == name) {
                let near = names::did_you_mean(name, known());
                return wrong(format!("there is no argument '{shown}'.{near}"));
            }
            if !value.is_string() {
                return wrong(format!("the argument '{shown}' must be a text."));
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
        for (given, why) in [
            (json!({"style": "y"}), "Prompt 'plan': the argument 'task' is missing."),
            (json!({"task": 1}), "Prompt 'plan': the argument 'task' must be a text."),
            (
                json!({"task": "x", "styl": "y"}),
                "Prompt 'plan': there is no argument 'styl'. Did you mean 'style'?",
            ),
        ] {
            assert_eq!(check(given).expect_err("refused").message, why);
        }
        let twice = Prompt { arguments: vec![argument("a", true), argument("a", false)], ..prompt };
        assert_eq!(twice.check(), Err("has the argument 'a' twice".into()));
    }
}
