//! Merges the shipped presets under those of a file, which can extend or choose them.
//!
//! A file that refers to no shipped preset serves the same tools, with the same grants, as without them. Therefore a
//! shipped `[gates.NAME]` applies only to the shipped component, and not if a preset that extends no shipped one has
//! the gate.

use std::collections::BTreeSet;

use gatehouse_core::{CompiledPreset, Preset, SourceId, preset::PresetError};

use super::{Config, ConfigError, ConfigText, Env, keys::with_bases, locate::SHIPPED};

/// Adds the shipped presets and gates that the file does not define.
pub(super) fn merge_shipped(config: &mut Config, env: &Env) -> Result<(), ConfigError> {
    let shipped = Config::parse(&ConfigText { file: None, content: SHIPPED.into() }, &Env::default())?;
    let own: BTreeSet<String> = config.presets.keys().cloned().collect();
    for (name, preset) in shipped.presets {
        config.presets.entry(name).or_insert(preset);
    }
    let mut without_grants: BTreeSet<String> = env.enabled_gates().into_iter().flatten().collect();
    for (name, preset) in config.presets.iter().filter(|(name, _)| own.contains(*name)) {
        if with_bases(&config.presets, name).into_iter().all(|base| own.contains(base)) {
            without_grants.extend(gates(preset));
        }
    }
    for (name, mut gate) in shipped.gates {
        if !without_grants.contains(&name) {
            gate.shipped = true;
            config.gates.entry(name).or_insert(gate);
        }
    }
    config.own_presets = own;
    Ok(())
}

fn gates(preset: &Preset) -> impl Iterator<Item = String> {
    preset.sources.iter().filter_map(|(source, _)| match source {
        SourceId::Gate(gate) => Some(gate.to_string()),
        SourceId::Server(_) => None,
    })
}

impl Config {
    /// Returns the names of presets to serve: those of the file, and the default. The built-in configuration serves
    /// all.
    pub(crate) fn served_presets(&self) -> impl Iterator<Item = &String> {
        let named = self.sets_default_preset || self.own_presets.is_empty();
        let default = move |name: &str| named && *name == self.default_preset;
        self.presets.keys().filter(move |name| self.is_own(name) || default(name))
    }

    pub(crate) fn served_gates(&self) -> BTreeSet<String> {
        self.gates_of(self.served_presets())
    }

    pub(crate) fn compiled(&self, preset: &str) -> Result<CompiledPreset, PresetError> {
        CompiledPreset::compile(&self.presets, preset)
    }

    /// Returns the gates of those of these presets that compile.
    pub(crate) fn gates_of<'p>(&self, presets: impl Iterator<Item = &'p String>) -> BTreeSet<String> {
        let mut gates = BTreeSet::new();
        for compiled in presets.filter_map(|preset| self.compiled(preset).ok()) {
            gates.extend(compiled.gates().map(|gate| gate.to_string()));
        }
        gates
    }

    /// Returns a notice if the file has presets but the default is a shipped one that the file does not name.
    pub(crate) fn unnamed_default(&self) -> Option<String> {
        let (file, default) = (self.file.as_ref()?, &self.default_preset);
        if self.served_presets().any(|name| name == default) {
            return None;
        }
        let own: Vec<&str> = self.own_presets.iter().map(String::as_str).collect();
        Some(format!(
            "the default preset is the shipped '{default}', because {} has no default_preset under [host]; its own presets are: {}",
            file.display(),
            own.join(", ")
        ))
    }

    /// Returns whether the preset is defined in the file itself. Always true for the built-in copy.
    pub(crate) fn is_own(&self, preset: &str) -> bool {
        self.file.is_none() || self.own_presets.contains(preset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(content: &str, env: &Env) -> Config {
        crate::config::tests::parse(content, env).expect("valid")
    }

    fn served(config: &Config) -> Vec<&str> {
        config.served_presets().map(String::as_str).collect()
    }

    fn granted(config: &Config, gate: &str) -> Vec<String> {
        config.gates.get(gate).map(|gate| gate.settings.grants.entries()).unwrap_or_default()
    }

    #[test]
    fn a_file_that_names_no_shipped_preset_serves_its_own_with_its_own_grants() {
        let content = "[gates.idea]\ngrants = []\n[presets.mine]\ngates.kg = {}\ngates.idea = {}\n[presets.more]\nextends = [\"mine\"]\ngates.code = {}\n";
        let config = parse(content, &Env::default());
        assert_eq!(served(&config), ["mine", "more"]);
        for gate in ["kg", "idea", "code"] {
            assert!(granted(&config, gate).is_empty(), "{gate}");
        }
        let enabled = Env::from_pairs([("MCP_ENABLED_GATES", "research")]);
        assert!(granted(&parse("", &enabled), "research").is_empty());
    }

    #[test]
    fn shipped_presets_are_extended_and_replaced_as_a_whole() {
        let content = "[host]\ndefault_preset = \"documents\"\n[gates.research]\n[presets.proxy]\ngates.kg = {}\n[presets.mine]\nextends = [\"gateway\"]\n[presets.mine.gates]\nkg = { include_content = true }\n";
        let config = parse(content, &Env::default());
        assert_eq!(served(&config), ["documents", "mine", "proxy"]);
        let compiled = CompiledPreset::compile(&config.presets, "mine").expect("compiled");
        let gates: Vec<&str> = compiled.gates().map(|gate| &**gate).collect();
        assert!(gates.contains(&"summarizer") && gates.contains(&"kg"), "{gates:?}");
        // The file defines `proxy`, which extends no shipped preset and has kg. It also defines [gates.research].
        assert!(granted(&config, "kg").is_empty() && granted(&config, "research").is_empty());
        assert_eq!(granted(&config, "idea"), ["knowledge:read", "models"]);
        assert!(config.gates["idea"].shipped && !config.gates["research"].shipped);
    }

    #[test]
    fn a_file_without_presets_serves_the_shipped_default() {
        let config = parse("[servers.git]\ncommand = \"git-mcp\"\n", &Env::default());
        assert_eq!(served(&config), ["full"]);
        assert_eq!(
            config.select(None, &Env::default()).map(|compiled| compiled.preset).as_deref(),
            Ok("full")
        );
        assert_eq!(granted(&config, "kg"), ["knowledge"]);
        assert_eq!(config.select(Some("proxy"), &Env::default()).map(|e| e.preset).as_deref(), Ok("proxy"));
    }
}
