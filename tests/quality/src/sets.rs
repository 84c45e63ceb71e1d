//! Reads the query sets.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};
use serde::{Deserialize, de::DeserializeOwned};

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Question {
    pub(crate) q: String,
    /// Ids of the right answers.
    pub(crate) rel: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Tool {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) description: String,
    #[serde(default)]
    pub(crate) params: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct ToolSet {
    pub(crate) docs: Vec<Tool>,
    pub(crate) queries: Vec<Question>,
}

pub(crate) fn questions(file: &Path) -> Result<Vec<Question>> {
    lines(file)
}

pub(crate) fn lines<T: DeserializeOwned>(file: &Path) -> Result<Vec<T>> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let lines = text.lines().enumerate();
    lines
        .map(|(at, line)| {
            serde_json::from_str(line).with_context(|| format!("{}, line {}", file.display(), at + 1))
        })
        .collect()
}

pub(crate) fn tools(file: &Path) -> Result<ToolSet> {
    json(file)
}

pub(crate) fn json<T: DeserializeOwned>(file: &Path) -> Result<T> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not a set of questions", file.display()))
}
