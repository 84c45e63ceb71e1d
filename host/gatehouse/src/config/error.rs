//! Configuration errors, with file, line and column wherever there is a place to point to.

use std::{fmt, ops::Range, path::PathBuf};

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
pub(crate) struct ConfigText {
    /// The file, or none for the built-in copy.
    pub(crate) file: Option<PathBuf>,
    /// What it says.
    pub(crate) content: String,
}

impl ConfigText {
    /// The name for messages.
    pub(crate) fn name(&self) -> String {
        self.file.as_ref().map_or_else(|| "built-in presets.toml".into(), |file| file.display().to_string())
    }

    /// An error at these bytes.
    pub(crate) fn error_at(&self, span: Range<usize>, message: impl Into<String>) -> ConfigError {
        let (line, column) = self.line_and_column(span.start);
        ConfigError { place: format!("{}:{line}:{column}", self.name()), message: message.into() }
    }

    /// Line and column of a byte, both from 1; a column is a character.
    pub(super) fn line_and_column(&self, byte: usize) -> (usize, usize) {
        let before = self.content.get(..byte).unwrap_or(&self.content);
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        (before.matches('\n').count() + 1, column)
    }

    /// An error in the file as a whole.
    pub(crate) fn error(&self, message: impl Into<String>) -> ConfigError {
        ConfigError { place: self.name(), message: message.into() }
    }
}
