//! The error of all checks of values from outside.

/// Reason that a value of a gate, server or user is refused. Unless a function says otherwise, the words continue a
/// sentence about the value: `has more than 4 icons`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidValue(String);

impl From<String> for InvalidValue {
    fn from(reason: String) -> Self {
        Self(reason)
    }
}

impl From<&str> for InvalidValue {
    fn from(reason: &str) -> Self {
        Self(reason.to_owned())
    }
}

/// Returns an error with the words that follow unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err(format!($($words)+).into());
        }
    };
}

pub(crate) use ensure;

impl From<InvalidValue> for String {
    fn from(error: InvalidValue) -> Self {
        error.0
    }
}
