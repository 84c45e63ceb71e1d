//! Gates in the directories that are not in any preset. Each is logged once, because the user may expect its tools.

use std::collections::BTreeSet;

use gatehouse_core::SourceId;

use super::Reloader;
use crate::built_in;

impl Reloader {
    pub(super) async fn say_idle_gates(&mut self) {
        let config = &self.current.config;
        let loaded = self.current.gates.loaded().await;
        let is_served = |name: &str| {
            let has = |source: &SourceId| matches!(source, SourceId::Gate(gate) if **gate == *name);
            let mut presets = config.served_presets().filter_map(|name| config.presets.get(name));
            loaded.contains_key(name)
                || presets.any(|preset| preset.sources.iter().any(|(source, _)| has(source)))
        };
        let mut idle = BTreeSet::new();
        for name in self.current.gates.names().into_iter().filter(|name| !is_served(name)) {
            // Shipped gates are expected to be idle.
            let folders = config.gate_folders.iter().filter(|folder| !built_in::is_folder(folder));
            let mut files = folders.map(|folder| folder.join(format!("{name}.wasm")));
            let Some(file) = files.find(|file| file.is_file()) else {
                continue;
            };
            if !self.idle.contains(&name) {
                let key = toml_edit::Key::new(&name);
                tracing::warn!(
                    "{} is not in any preset; to serve it, add to a preset: gates.{key} = {{}}",
                    file.display()
                );
            }
            idle.insert(name);
        }
        self.idle = idle;
    }
}
