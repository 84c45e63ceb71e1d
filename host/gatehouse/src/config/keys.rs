//! Positions of keys in a TOML text, even one with syntax errors, for messages that point to a line. Messages about a
//! preset point into it or into one that it extends.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use gatehouse_core::{Preset, catalog::CatalogError, names::quoted, preset::PresetError};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{Config, ConfigError, ConfigText};

const MAX_SHOWN_CHARS: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ValueLocation {
    /// Keys from the top of the document to the value.
    pub(super) path: Vec<String>,
    pub(super) kind: &'static str,
    /// True if it is an entry of the list at `path`.
    pub(super) in_list: bool,
    value: Range<usize>,
}

/// Returns the byte range of the key at the end of `path`. The last step can be a text entry of a list.
pub(super) fn find(content: &str, path: &[&str]) -> Option<Range<usize>> {
    let (table, _) = DeTable::parse_recoverable(content);
    let (last, before) = path.split_last()?;
    let mut table = table.get_ref();
    let mut list = None;
    for step in before {
        if list.is_some() {
            return None;
        }
        match table.get(*step)?.get_ref() {
            DeValue::Table(below) => table = below,
            DeValue::Array(entries) => list = Some(entries),
            _ => return None,
        }
    }
    match list {
        None => table.keys().find(|key| key.get_ref() == last).map(Spanned::span),
        Some(list) => list.iter().find(|entry| entry.get_ref().as_str() == Some(last)).map(Spanned::span),
    }
}

/// Returns the smallest key or value that contains the start of `at`.
pub(super) fn locate_value(content: &str, at: &Range<usize>) -> Option<ValueLocation> {
    let (table, _) = DeTable::parse_recoverable(content);
    let mut best: Option<(usize, ValueLocation)> = None;
    visit(table.get_ref(), &mut Vec::new(), &mut |path, span, value, in_list| {
        let smaller = best.as_ref().is_none_or(|(size, _)| span.len() < *size);
        if span.contains(&at.start) && smaller {
            let path = path.iter().map(|key| (*key).to_owned()).collect();
            let spot = ValueLocation { path, kind: value.get_ref().type_str(), in_list, value: value.span() };
            best = Some((span.len(), spot));
        }
    });
    best.map(|(_, spot)| spot)
}

/// Returns the path of a duplicate key, and the range of its first occurrence.
pub(super) fn first_duplicate(content: &str, second: &Range<usize>) -> Option<(Vec<String>, Range<usize>)> {
    // Rename the second key to a unique name: then it gets a node in the tree, which shows its path.
    let mut fresh = "second".to_owned();
    while content.contains(&fresh) {
        fresh.push('_');
    }
    let mut renamed = content.to_owned();
    renamed.replace_range(second.clone(), &fresh);
    let at = locate_value(&renamed, &(second.start..second.start + fresh.len()))?;
    let name = content.get(second.clone())?.trim_matches(['"', '\'']);
    let mut path: Vec<String> = at.path.iter().take_while(|key| **key != fresh).cloned().collect();
    path.push(name.to_owned());
    let first = find(&renamed, &path.iter().map(String::as_str).collect::<Vec<_>>())?;
    Some((path, first))
}

/// Calls `found` with the path, byte range and value of each key, value and list entry.
fn visit<'t>(
    table: &'t DeTable<'_>,
    path: &mut Vec<&'t str>,
    found: &mut impl FnMut(&[&str], Range<usize>, &Spanned<DeValue<'_>>, bool),
) {
    for (key, value) in table {
        path.push(key.get_ref());
        found(path, key.span(), value, false);
        visit_value(value, path, found, false);
        path.pop();
    }
}

fn visit_value<'t>(
    value: &'t Spanned<DeValue<'_>>,
    path: &mut Vec<&'t str>,
    found: &mut impl FnMut(&[&str], Range<usize>, &Spanned<DeValue<'_>>, bool),
    in_list: bool,
) {
    found(path, value.span(), value, in_list);
    match value.get_ref() {
        DeValue::Table(below) => visit(below, path, found),
        DeValue::Array(entries) => entries.iter().for_each(|entry| visit_value(entry, path, found, true)),
        _ => {}
    }
}

impl ValueLocation {
    /// Returns the value as written, shortened for messages.
    pub(super) fn source_text(&self, content: &str) -> String {
        quoted(content.get(self.value.clone()).unwrap_or_default(), MAX_SHOWN_CHARS)
    }
}

/// Joins keys with dots. Keys that are not bare TOML keys are quoted.
pub(crate) fn dotted<S: AsRef<str>>(path: &[S]) -> String {
    path.iter().map(|key| toml_key(key.as_ref())).collect::<Vec<_>>().join(".")
}

pub(crate) fn toml_key(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if !key.is_empty() && key.chars().all(bare) {
        return quoted(key, MAX_SHOWN_CHARS);
    }
    format!("\"{}\"", quoted(key, MAX_SHOWN_CHARS).replace('\\', "\\\\").replace('"', "\\\""))
}

/// Limit on presets searched for a line. A message without a line is better than a long wait.
const MAX_PRESETS: usize = 64;

impl Config {
    /// Prefixes `reason` with the location of the key in a preset or a preset it extends. Returns `reason` unchanged if
    /// there is none.
    pub(crate) fn with_line(&self, preset: &str, path: &[&str], reason: String) -> String {
        self.with_location(reason, |text| line_of(text, &self.presets, preset, path))
    }

    /// Prefixes `reason` with the location of the key at `path`, if there is one.
    pub(crate) fn with_line_of(&self, path: &[&str], reason: String) -> String {
        self.with_location(reason, |text| find(&text.content, path))
    }

    fn with_location(
        &self,
        reason: String,
        find: impl FnOnce(&ConfigText) -> Option<Range<usize>>,
    ) -> String {
        let Some(content) = &self.text else { return reason };
        let text = ConfigText { file: self.file.clone(), content: content.clone() };
        match find(&text) {
            Some(at) => text.error_at(at, reason).to_string(),
            None => reason,
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
        PresetError::Unknown { .. } => return text.error(error),
        PresetError::UnknownBase { preset, name, .. } => (preset, vec!["extends", name], ""),
        PresetError::Cycle(circle) => match circle.as_slice() {
            [first, second, ..] => (first, vec!["extends", second], "; remove one of them from extends"),
            _ => return text.error(error),
        },
        PresetError::TooManyBases { preset } => (preset, vec!["extends"], ""),
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
    with_bases(presets, preset).into_iter().take(MAX_PRESETS).find_map(|preset| {
        let path: Vec<&str> = ["presets", preset].into_iter().chain(path.iter().copied()).collect();
        find(&text.content, &path)
    })
}

/// Returns a preset and those that it extends, directly or not, the last one first, as in merging.
pub(crate) fn with_bases<'p>(presets: &'p BTreeMap<String, Preset>, preset: &'p str) -> Vec<&'p str> {
    let (mut seen, mut next, mut all) = (BTreeSet::from([preset]), vec![preset], Vec::new());
    while let Some(preset) = next.pop() {
        all.push(preset);
        let bases = presets.get(preset).into_iter().flat_map(|preset| &preset.extends);
        next.extend(bases.map(String::as_str).filter(|base| seen.insert(base)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[presets.a]\nextends = [\"b\", \"c\"]\ngates.kg = { top_k = 5 }\n";

    fn shown(at: Option<Range<usize>>) -> Option<&'static str> {
        TEXT.get(at?)
    }

    #[test]
    fn a_path_leads_to_a_key_or_to_an_entry_of_a_list() {
        assert_eq!(shown(find(TEXT, &["presets", "a", "gates", "kg", "top_k"])), Some("top_k"));
        assert_eq!(shown(find(TEXT, &["presets", "a", "extends", "c"])), Some("\"c\""));
        assert_eq!(shown(find(TEXT, &["presets", "a", "extends", "d"])), None);
        assert_eq!(shown(find(TEXT, &["presets", "a", "extends", "c", "d"])), None);
        assert_eq!(find("x = [\n[host]\n", &["host"]), None, "what cannot be read has no place");
    }

    #[test]
    fn locations_have_the_path_of_their_keys() {
        let five = TEXT.find('5').expect("there");
        let spot = locate_value(TEXT, &(five..five + 1)).expect("a spot");
        assert_eq!((dotted(&spot.path).as_str(), spot.kind), ("presets.a.gates.kg.top_k", "integer"));
        assert_eq!(spot.source_text(TEXT), "5");
    }

    #[test]
    fn of_two_keys_the_first_is_found_however_they_are_written() {
        for (text, path) in [
            ("[host]\nx = 1\nx = 2\n", "host.x"),
            ("[a]\nx = 1\n[host]\nx = 1\nx = 2\n", "host.x"),
            ("[host]\n[host]\n", "host"),
            ("[a.b]\n[c]\n[a.b]\n", "a.b"),
            ("[p]\ng.k = {}\ng.k = {}\n", "p.g.k"),
            ("[p]\ng = { k = 1, k = 2 }\n", "p.g.k"),
            ("[p]\n\"a b\" = 1\n\"a b\" = 2\n", "p.\"a b\""),
        ] {
            let error = toml::from_str::<toml::Table>(text).expect_err("twice");
            let (found, first) = first_duplicate(text, &error.span().expect("a place")).expect(text);
            assert_eq!(dotted(&found), path, "{text}");
            assert!(first.end <= error.span().expect("a place").start, "{text}");
        }
    }
}
