//! Configuration errors, with file, line and column if known.

use std::{
    fmt,
    ops::{Deref, Range},
    path::PathBuf,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// A value with its place in the text. This is no doc comment, because the schema would take it for the description of
// each value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(with = "T")]
pub(crate) struct TextValue<T>(toml::Spanned<T>);

impl<T> TextValue<T> {
    /// Creates a default value, which is at no place.
    pub(super) fn default_value(value: T) -> Self {
        Self(toml::Spanned::new(0..0, value))
    }

    pub(super) fn span(&self) -> Range<usize> {
        self.0.span()
    }

    pub(super) fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T> Deref for TextValue<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.get_ref()
    }
}

impl<T: fmt::Display> fmt::Display for TextValue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Returns from a function with a formatted error at a place of the text.
macro_rules! bail_at {
    ($text:expr, $place:expr, $($message:tt)*) => {
        return Err($text.error_at($place.span(), format!($($message)*)))
    };
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{location}: {message}")]
pub(crate) struct ConfigError {
    /// `file:line:column`, `file`, or the name of a variable.
    pub(crate) location: String,
    pub(crate) message: String,
}

impl ConfigError {
    #[cfg(not(all(feature = "postgres", feature = "weaviate-neo4j")))]
    pub(super) fn not_built(key: &str, engine: &str) -> Self {
        let reason =
            format!("this build does not have the engine '{engine}'; build with --features {engine}");
        Self::new(key, reason)
    }

    pub(crate) fn new(location: impl fmt::Display, message: impl fmt::Display) -> Self {
        Self { location: location.to_string(), message: message.to_string() }
    }
}

/// A configuration text with its name, for errors that point into it.
pub(crate) struct ConfigText {
    /// `None` for the built-in copy.
    pub(crate) file: Option<PathBuf>,
    pub(crate) content: String,
}

impl ConfigText {
    pub(crate) fn name(&self) -> String {
        self.file.as_ref().map_or_else(|| "built-in presets.toml".into(), |file| file.display().to_string())
    }

    pub(crate) fn error_at(&self, span: Range<usize>, message: impl fmt::Display) -> ConfigError {
        let (line, column) = self.line_and_column(span.start);
        ConfigError::new(format!("{}:{line}:{column}", self.name()), message)
    }

    /// Adds the location of a value to the error of its check.
    pub(super) fn at<T, S>(
        &self,
        value: &TextValue<S>,
        checked: Result<T, impl fmt::Display>,
    ) -> Result<T, ConfigError> {
        checked.map_err(|reason| self.error_at(value.span(), reason))
    }

    /// Returns line and column of a byte, both from 1. Columns count characters.
    pub(super) fn line_and_column(&self, byte: usize) -> (usize, usize) {
        let before = self.content.get(..byte).unwrap_or(&self.content);
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        (before.matches('\n').count() + 1, column)
    }

    pub(crate) fn error(&self, message: impl fmt::Display) -> ConfigError {
        ConfigError::new(self.name(), message)
    }
}
