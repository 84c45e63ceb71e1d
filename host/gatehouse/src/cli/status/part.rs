//! A part of `gatehouse status` that can fail independently.

use std::fmt;

use serde::Serialize;

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
    pub(super) fn write_line(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        match &self.works {
            Some(works) => write!(f, "{name}  {works}"),
            None => write!(f, "{name}  down: {}", self.error.as_deref().unwrap_or_default()),
        }
    }
}
