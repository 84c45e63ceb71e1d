//! Which line of the file a preset has something from: its own, or one of a preset that it extends.

use std::{collections::BTreeMap, ops::Range};

use gatehouse_core::{Preset, catalog::CatalogError, preset::PresetError};

use super::{Config, ConfigError, error::ConfigText, keys};

/// The most presets that are looked through for a line; a message without one is better than a long wait.
const MAX_PRESETS: usize = 64;

impl Config {
    /// A sentence about what a preset says under these keys, after the line that says so. Without a file, or where no line
    /// does, the sentence alone.
    pub(crate) fn with_line(&self, preset: &str, path: &[&str], why: String) -> String {
        let Some(content) = &self.text else { return why };
        let text = ConfigText { file: self.file.clone(), content: content.clone() };
        match line_of(&text, &self.presets, preset, path) {
            Some(at) => text.error_at(at, why).to_string(),
            None => why,
        }
    }

    /// A sentence about the key at this path, after its line.
    pub(crate) fn with_line_of(&self, path: &[&str], why: String) -> String {
        let Some(content) = &self.text else { return why };
        let text = ConfigText { file: self.file.clone(), content: content.clone() };
        match keys::find(content, path) {
            Some(at) => text.error_at(at, why).to_string(),
            None => why,
        }
    }

    /// Why a catalog of this preset cannot be built, after the line that is to blame.
    pub(crate) fn catalog_error(&self, preset: &str, error: &CatalogError) -> String {
        let path: Vec<&str> = match error {
            CatalogError::BadAlias { alias, .. } => vec!["aliases", alias],
            CatalogError::BadFilter { gate, .. } => vec!["filters", gate],
            // About what the preset has together, and no line of it.
            _ => Vec::new(),
        };
        self.with_line(preset, &path, error.to_string())
    }
}

/// Why a preset does not compile, at the line that is to blame.
pub(super) fn does_not_compile(
    text: &ConfigText,
    presets: &BTreeMap<String, Preset>,
    error: &PresetError,
) -> ConfigError {
    let (preset, path, advice): (&str, Vec<&str>, &str) = match error {
        PresetError::Unknown { .. } => return text.error(error.to_string()),
        PresetError::UnknownBase { preset, name, .. } => (preset, vec!["extends", name], ""),
        PresetError::Cycle(circle) => match circle.as_slice() {
            [first, second, ..] => (first, vec!["extends", second], "; take one of them out of extends"),
            _ => return text.error(error.to_string()),
        },
        PresetError::UnknownFilter { preset, gate } => {
            (preset, vec!["filters", gate], "; write it under `gates` of the preset, or take the filter out")
        }
        PresetError::BadGlob { preset, list, glob, .. } => {
            (preset, list.split('.').chain([glob.as_str()]).collect(), "")
        }
    };
    let message = format!("{error}{advice}");
    match line_of(text, presets, preset, &path) {
        Some(at) => text.error_at(at, message),
        None => text.error(message),
    }
}

/// The preset's own line, else that of what it extends, the last first: what comes later wins.
fn line_of(
    text: &ConfigText,
    presets: &BTreeMap<String, Preset>,
    preset: &str,
    path: &[&str],
) -> Option<Range<usize>> {
    let mut seen = vec![preset];
    let mut next = vec![preset];
    while let Some(preset) = next.pop() {
        let path: Vec<&str> = ["presets", preset].into_iter().chain(path.iter().copied()).collect();
        if let Some(at) = keys::find(&text.content, &path) {
            return Some(at);
        }
        for base in presets.get(preset).into_iter().flat_map(|preset| &preset.extends) {
            if seen.len() < MAX_PRESETS && !seen.contains(&base.as_str()) {
                seen.push(base);
                next.push(base);
            }
        }
    }
    None
}
