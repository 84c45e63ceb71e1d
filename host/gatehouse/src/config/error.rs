//! Configuration errors, with file, line and column wherever there is a place to point to.

use std::{fmt, ops::Range, path::PathBuf};

use gatehouse_core::names;

/// What is wrong with the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigError {
    /// Where, as `file:line:column`, `file`, or the name of a variable.
    pub(crate) place: String,
    /// What, and what to do about it.
    pub(crate) message: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// A configuration text and its name, to point into it.
pub(crate) struct Text {
    /// The file, or none for the built-in copy.
    pub(crate) file: Option<PathBuf>,
    /// What it says.
    pub(crate) content: String,
}

impl Text {
    /// The name for messages.
    pub(crate) fn name(&self) -> String {
        self.file.as_ref().map_or_else(|| "built-in presets.toml".into(), |file| file.display().to_string())
    }

    /// An error at these bytes.
    pub(crate) fn error_at(&self, span: Range<usize>, message: impl Into<String>) -> ConfigError {
        let before = self.content.get(..span.start).unwrap_or(&self.content);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        ConfigError { place: format!("{}:{line}:{column}", self.name()), message: message.into() }
    }

    /// An error in the file as a whole.
    pub(crate) fn error(&self, message: impl Into<String>) -> ConfigError {
        ConfigError { place: self.name(), message: message.into() }
    }

    /// What the parser says, with a hint where it lists the keys it knows.
    pub(crate) fn parse_error(&self, error: &toml::de::Error) -> ConfigError {
        let message = error.message();
        let message = match quoted_names(message) {
            Some((wrong, known)) if message.starts_with("unknown field") => {
                let near = names::did_you_mean(wrong, known.iter().copied());
                format!("unknown key '{}'.{near} There are: {}.", names::quoted(wrong, 64), known.join(", "))
            }
            Some((wrong, known)) if message.starts_with("unknown variant") => {
                let near = names::did_you_mean(wrong, known.iter().copied());
                format!(
                    "'{}' is not allowed here.{near} There are: {}.",
                    names::quoted(wrong, 64),
                    known.join(", ")
                )
            }
            _ => names::quoted(message.trim(), 300),
        };
        match error.span() {
            Some(span) => self.error_at(span, message),
            None => self.error(message),
        }
    }
}

/// serde words an unknown key as: unknown field `x`, expected one of `a`, `b`.
fn quoted_names(message: &str) -> Option<(&str, Vec<&str>)> {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let wrong = quoted.next()?;
    Some((wrong, quoted.collect()))
}
