//! A part of what `gatehouse status` shows: how it is, or why it is not.

use std::fmt;

use serde::Serialize;

/// Something that works, or the reason why it does not.
#[derive(Serialize)]
pub(super) struct StatusPart<T> {
    ok: bool,
    #[serde(flatten)]
    works: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl<T> From<Result<T, String>> for StatusPart<T> {
    fn from(result: Result<T, String>) -> Self {
        match result {
            Ok(works) => Self { ok: true, works: Some(works), error: None },
            Err(error) => Self { ok: false, works: None, error: Some(error) },
        }
    }
}

impl<T: fmt::Display> fmt::Display for StatusPart<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.works, &self.error) {
            (Some(works), _) => works.fmt(f),
            (None, why) => write!(f, "broken: {}", why.as_deref().unwrap_or_default()),
        }
    }
}

impl<T: fmt::Display> StatusPart<T> {
    /// What works, or that it is down; `name` begins the line.
    pub(super) fn write_line(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        match &self.works {
            Some(works) => write!(f, "{name}  {works}"),
            None => write!(f, "{name}  down: {}", self.error.as_deref().unwrap_or_default()),
        }
    }
}
