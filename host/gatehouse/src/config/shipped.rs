//! Merges the shipped presets under those of a file, which can extend or choose them.
//!
//! A file that refers to no shipped preset serves the same tools, with the same grants, as without them. Therefore a
//! shipped `[gates.NAME]` applies only to the shipped component, and not if a preset that extends no shipped one has
//! the gate.

use std::collections::BTreeSet;

use gatehouse_core::{
    CompiledPreset, Preset, SourceId,
    names::{did_you_mean, quoted},
    preset::PresetError,
};

use super::{Config, ConfigError, ConfigText, Env, TextValue, keys::with_bases, locate::SHIPPED};

/// Adds the shipped presets and gates that the file does not define.
pub(super) fn merge_shipped(config: &mut Config, env: &Env) -> Result<(), ConfigError> {
    let shipped = shipped_config()?;
    let own_presets: BTreeSet<String> = config.presets.keys().cloned().collect();
    for (name, preset) in shipped.presets {
        config.presets.entry(name).or_insert(preset);
    }
    let mut without_grants: BTreeSet<String> = env.enabled_gates().into_iter().flatten().collect();
    for (name, preset) in config.presets.iter().filter(|(name, _)| own_presets.contains(*name)) {
        if with_bases(&config.presets, name).into_iter().all(|base| own_presets.contains(base)) {
            without_grants.extend(gates(preset));
        }
    }
    for (name, mut gate) in shipped.gates {
        if !without_grants.contains(&name) {
            gate.shipped = true;
            config.gates.entry(name).or_insert(gate);
        }
    }
    config.own_presets = own_presets;
    Ok(())
}

fn shipped_config() -> Result<Config, ConfigError> {
    Config::parse(&ConfigText { file: None, content: SHIPPED.into() }, &Env::default())
}

fn gates(preset: &Preset) -> impl Iterator<Item = String> {
    preset.sources.iter().filter_map(|(source, _)| match source {
        SourceId::Gate(gate) => Some(gate.to_string()),
        SourceId::Server(_) => None,
    })
}

/// Checks that each name is one of a shipped preset.
pub(super) fn check(text: &ConfigText, names: &[TextValue<String>]) -> Result<(), ConfigError> {
    let shipped = names.first().map(|_| shipped_config()).transpose()?;
    let shipped = shipped.map(|config| config.presets).unwrap_or_default();
    if let Some(name) = names.iter().find(|name| !shipped.contains_key(name.as_str())) {
        let suggestion = did_you_mean(name, shipped.keys().map(String::as_str));
        let shipped_names = shipped.keys().cloned().collect::<Vec<_>>().join(", ");
        let display_name = quoted(name, 64);
        bail_at!(
            text,
            name,
            "there is no shipped preset '{display_name}'.{suggestion} There are: {shipped_names}"
        );
    }
    Ok(())
}

/// Name of the preset of clients that name none, on a host that has no default preset.
pub(crate) const NO_DEFAULT_PRESET: &str = "(none)";

impl Config {
    /// Returns the names of presets to serve: those of HTTP, and the default of a file without presets.
    pub(crate) fn served_presets(&self) -> impl Iterator<Item = &String> {
        let default = |name: &str| self.own_presets.is_empty() && *name == self.default_preset;
        self.presets.keys().filter(move |name| self.is_served(name) || default(name))
    }

    /// Returns whether HTTP serves a preset: one of the file, its default, or one that `shipped_presets` names. The
    /// built-in configuration serves all.
    pub(crate) fn is_served(&self, preset: &str) -> bool {
        self.is_own(preset)
            || self.shipped_presets.contains(preset)
            || self.sets_default_preset && *preset == self.default_preset
    }

    /// Returns the reason why HTTP does not serve a preset, with the line to add. `None` if it does.
    pub(crate) fn not_served(&self, preset: &str) -> Option<String> {
        let file = self.file.as_ref().filter(|_| !self.is_served(preset))?.display();
        let names: Vec<&str> = self.shipped_presets.iter().map(String::as_str).chain([preset]).collect();
        Some(format!(
            "The shipped preset '{preset}' is not served over HTTP. To serve it, write shipped_presets = {} under [host] \
             in {file}.",
            toml::Value::from(names)
        ))
    }

    /// Returns the reason why HTTP serves no preset to clients that name none, with the line to add. `None` if there is
    /// a default.
    pub(crate) fn no_default(&self) -> Option<String> {
        let file = self.file.as_ref().filter(|_| !self.sets_default_preset)?.display();
        let name = self.own_presets.first().map_or(self.default_preset.as_str(), String::as_str);
        Some(format!(
            "{file} sets no preset for clients that name none. To set one, write default_preset = \"{name}\" under [host]."
        ))
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

    /// Like [`Self::no_default`], for stdio: `None` too if the file has no presets or defines the one that is used instead.
    pub(crate) fn unnamed_default(&self) -> Option<String> {
        self.no_default().filter(|_| !self.own_presets.is_empty() && !self.is_own(&self.default_preset))
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
