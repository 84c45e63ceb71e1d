//! Presets as the composition hands them over to be served.

use std::collections::BTreeMap;

use gatehouse_core::Catalog;

use super::InstructionsWriter;

/// Catalog and instructions of a preset, ready to be served.
pub struct PresetView {
    pub catalog: Catalog,
    /// `None` if the preset has no instructions.
    pub instructions: Option<InstructionsWriter>,
}

/// All presets of a host, ready to be served.
pub struct PresetViews {
    /// View for clients that name no preset.
    pub default: PresetView,
    /// Views that HTTP serves by name, or the reason they cannot be served.
    pub presets: BTreeMap<String, Result<PresetView, String>>,
    /// Presets that exist and are not served over HTTP, each with the reason for the operator. `None` is the default
    /// preset.
    pub unserved: BTreeMap<Option<String>, String>,
}

impl PresetViews {
    /// Returns the presets that cannot be served, with the reason.
    pub fn failing(&self) -> BTreeMap<String, String> {
        let failing = |(name, view): (&String, &Result<PresetView, String>)| {
            Some((name.clone(), view.as_ref().err()?.clone()))
        };
        self.presets.iter().filter_map(failing).collect()
    }
}

/// Views of a default preset alone.
impl From<PresetView> for PresetViews {
    fn from(default: PresetView) -> Self {
        Self { default, presets: BTreeMap::new(), unserved: BTreeMap::new() }
    }
}
