//! Presets that extend others, merged into one.

use std::collections::BTreeMap;

use super::{Preset, PresetError, suggest_presets};

/// Maximum presets above each other.
pub(super) const MAX_DEPTH: usize = 32;

/// Maximum presets that one preset merges. A preset that is reached twice counts twice: without a limit, presets that
/// each extend the two before take time that doubles with each.
pub(super) const MAX_BASES: usize = 256;

#[derive(Default)]
pub(super) struct ExtendsWalk {
    /// Presets that extend the current one, outermost first.
    path: Vec<String>,
    merged: usize,
}

impl ExtendsWalk {
    /// Merges the preset `name` into `merged`, after the presets that it extends.
    pub(super) fn merge(
        &mut self,
        presets: &BTreeMap<String, Preset>,
        name: &str,
        merged: &mut Preset,
    ) -> Result<(), PresetError> {
        let path = &mut self.path;
        if let Some(start) = path.iter().position(|step| step == name) {
            let circle = path[start..].iter().cloned().chain([name.to_owned()]).collect();
            return Err(PresetError::Cycle(circle));
        }
        let Some(preset) = presets.get(name) else {
            let preset = path.last().cloned().unwrap_or_default();
            return Err(PresetError::UnknownBase {
                preset,
                name: name.into(),
                known: suggest_presets(presets, name),
            });
        };
        self.merged += 1;
        if path.len() >= MAX_DEPTH || self.merged > MAX_BASES {
            return Err(PresetError::TooManyBases { preset: path.first().cloned().unwrap_or_default() });
        }
        path.push(name.to_owned());
        for base in &preset.extends {
            self.merge(presets, base, merged)?;
        }
        self.path.pop();
        for (source, params) in &preset.sources {
            match merged.sources.iter_mut().find(|(id, _)| id == source) {
                Some((_, merged_params)) => merged_params.extend(params.clone()),
                None => merged.sources.push((source.clone(), params.clone())),
            }
        }
        merged.deny.extend(preset.deny.iter().cloned());
        merged.aliases.extend(preset.aliases.clone());
        merged.filters.extend(preset.filters.clone());
        merged.structured = preset.structured.or(merged.structured);
        merged.surface = preset.surface.or(merged.surface);
        merged.pinned.extend(preset.pinned.iter().cloned());
        merged.tools.extend(preset.tools.clone());
        merged.approve.extend(preset.approve.iter().cloned());
        merged.workflow.extend(preset.workflow.iter().cloned());
        merged.project = preset.project.clone().or_else(|| merged.project.take());
        for folder in &preset.skills {
            if !merged.skills.contains(folder) {
                merged.skills.push(folder.clone());
            }
        }
        merged.proxied = preset.proxied.clone().or_else(|| merged.proxied.take());
        merged.listed = preset.listed.clone().or_else(|| merged.listed.take());
        Ok(())
    }
}
