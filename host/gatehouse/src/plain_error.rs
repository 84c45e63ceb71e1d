//! The error of functions whose callers show it or add to it, and never distinguish cases. Errors with cases have types
//! of their own: `ConfigError` has the location, `CommandError` the exit code.

use std::ops::Deref;

use gatehouse_core::{Fault, preset::PresetError};
use serde::Serialize;

use crate::config::ConfigError;

/// A message for users, readable as text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize)]
#[error("{0}")]
pub(crate) struct PlainError(String);

impl Deref for PlainError {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<Fault> for PlainError {
    fn from(fault: Fault) -> Self {
        Self(fault.in_one_line())
    }
}

impl From<PlainError> for String {
    fn from(error: PlainError) -> Self {
        error.0
    }
}

/// Returns from a function with a formatted error.
macro_rules! bail {
    ($($message:tt)*) => {
        return Err($crate::plain_error::PlainError::from(format!($($message)*)).into())
    };
}

macro_rules! from_displayed {
    ($($error:ty),*) => {
        $(impl From<$error> for PlainError {
            fn from(error: $error) -> Self {
                Self(error.to_string())
            }
        })*
    };
}

from_displayed!(&str, String, ConfigError, PresetError);
