//! Merges presets with the presets that they extend.

use std::collections::BTreeMap;

use super::{Preset, PresetError, suggest_presets};

/// Merges the preset `name` into `into`, after the presets that it extends.
pub(super) fn merge(
    presets: &BTreeMap<String, Preset>,
    name: &str,
    path: &mut Vec<String>,
    into: &mut Preset,
) -> Result<(), PresetError> {
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
    path.push(name.to_owned());
    for base in &preset.extends {
        merge(presets, base, path, into)?;
    }
    path.pop();
    for (source, params) in &preset.sources {
        match into.sources.iter_mut().find(|(known, _)| known == source) {
            Some((_, merged)) => merged.extend(params.clone()),
            None => into.sources.push((source.clone(), params.clone())),
        }
    }
    into.deny.extend(preset.deny.iter().cloned());
    into.aliases.extend(preset.aliases.clone());
    into.filters.extend(preset.filters.clone());
    into.structured = preset.structured.or(into.structured);
    into.tools.extend(preset.tools.clone());
    into.approve.extend(preset.approve.iter().cloned());
    into.workflow.extend(preset.workflow.iter().cloned());
    into.project = preset.project.clone().or_else(|| into.project.take());
    into.proxied = preset.proxied.clone().or_else(|| into.proxied.take());
    into.listed = preset.listed.clone().or_else(|| into.listed.take());
    Ok(())
}
