//! Lines in the configuration that a message about a preset can point to: in the preset or in one that it extends.

use std::{collections::BTreeMap, ops::Range};

use gatehouse_core::{Preset, catalog::CatalogError, preset::PresetError};

use super::{Config, ConfigError, error::ConfigText, keys};

/// Limit on presets searched for a line. A message without a line is better than a long wait.
const MAX_PRESETS: usize = 64;

impl Config {
    /// Prefixes `why` with the location of the key in a preset or a preset it extends. Returns `why` unchanged if there
    /// is none.
    pub(crate) fn with_line(&self, preset: &str, path: &[&str], why: String) -> String {
        self.with_location(why, |text| line_of(text, &self.presets, preset, path))
    }

    /// Prefixes `why` with the location of the key at `path`, if there is one.
    pub(crate) fn with_line_of(&self, path: &[&str], why: String) -> String {
        self.with_location(why, |text| keys::find(&text.content, path))
    }

    fn with_location(&self, why: String, find: impl FnOnce(&ConfigText) -> Option<Range<usize>>) -> String {
        let Some(content) = &self.text else { return why };
        let text = ConfigText { file: self.file.clone(), content: content.clone() };
        match find(&text) {
            Some(at) => text.error_at(at, why).to_string(),
            None => why,
        }
    }

    pub(crate) fn catalog_error(&self, preset: &str, error: &CatalogError) -> String {
        let path: Vec<&str> = match error {
            CatalogError::BadAlias { alias, .. } => vec!["aliases", alias],
            CatalogError::BadFilter { gate, .. } => vec!["filters", gate],
            // Concerns the preset as a whole.
            _ => Vec::new(),
        };
        self.with_line(preset, &path, error.to_string())
    }
}

/// Converts a preset compile error to a configuration error at the line that causes it.
pub(super) fn does_not_compile(
    text: &ConfigText,
    presets: &BTreeMap<String, Preset>,
    error: &PresetError,
) -> ConfigError {
    let (preset, path, advice): (&str, Vec<&str>, &str) = match error {
        PresetError::Unknown { .. } => return text.error(error.to_string()),
        PresetError::UnknownBase { preset, name, .. } => (preset, vec!["extends", name], ""),
        PresetError::Cycle(circle) => match circle.as_slice() {
            [first, second, ..] => (first, vec!["extends", second], "; remove one of them from extends"),
            _ => return text.error(error.to_string()),
        },
        PresetError::UnknownFilter { preset, gate } => {
            (preset, vec!["filters", gate], "; add it under `gates` of the preset, or remove the filter")
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

/// Finds the key in the preset itself, else in the presets it extends, the last one first, as in merging.
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
