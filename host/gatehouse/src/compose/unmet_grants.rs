//! Granted capabilities of gates that are not available on this host, and gates without grants. Reported at startup or
//! by `presets check`, and by `status` and `doctor`, so that problems appear before a call fails.

use gatehouse_core::{
    CompiledPreset, Source,
    capability::{AccessLevel, Capability},
};
use serde_json::Map;

use super::Composition;
use crate::config::keys;

impl Composition {
    pub(crate) async fn unmet_grants(&self) -> Vec<String> {
        let mut lacks = Vec::new();
        let mut models = self.granted(Capability::Models).await;
        let why = match (&self.missing.answers, &self.missing.web_search) {
            (Some(why), _) => Some(why),
            (None, Some(why)) => {
                models = self.with_open_world_tools(models).await;
                Some(why)
            }
            (None, None) => None,
        };
        if let (Some(why), false) = (why, models.is_empty()) {
            lacks.push(format!("{} language models: {why}", gates_ask(&models)));
        }
        let knowledge = self.granted(Capability::Knowledge).await;
        if let (false, Err(fault)) = (knowledge.is_empty(), self.stores.knowledge.get()) {
            lacks.push(format!("{} the knowledge graph: {}", gates_ask(&knowledge), fault.message));
        }
        let documents = self.granted(Capability::Documents).await;
        if let (false, Err(fault)) = (documents.is_empty(), self.stores.documents.get()) {
            lacks.push(format!("{} the document repositories: {}", gates_ask(&documents), fault.message));
        }
        lacks
    }

    /// Returns a warning for each gate of a preset that is granted nothing of what it asks for, with the line to add. A
    /// gate with some of it was configured on purpose.
    pub(super) async fn ungranted(&self, compiled: &CompiledPreset) -> Vec<String> {
        let loaded = self.gates.loaded().await;
        let mut warnings = Vec::new();
        for info in compiled.gates().filter_map(|name| loaded.get(&**name)).map(|gate| gate.info()) {
            let asked = info.ask.capabilities.iter().copied().filter(|asked| !asked.always_granted());
            let (blocks, entries): (Vec<Capability>, Vec<Capability>) =
                asked.clone().partition(|asked| asked.granted_by_block());
            if asked.clone().next().is_none()
                || asked.clone().any(|asked| info.grants.access(asked).is_some())
            {
                continue;
            }
            let (gate, name) = (keys::toml_key(&info.name), &info.name);
            let entries: Vec<String> = entries.iter().map(|entry| format!("\"{entry}\"")).collect();
            let grants = format!("grants = [{}] under [gates.{gate}]", entries.join(", "));
            let lines = (!entries.is_empty()).then_some(grants).into_iter();
            let blocks = blocks.iter().map(|block| format!("a block [gates.{gate}.{block}]"));
            let why = format!(
                "preset '{}': gate '{name}' is granted nothing that it asks for, so its calls will be denied; write {} in \
                presets.toml",
                compiled.preset,
                lines.chain(blocks).collect::<Vec<_>>().join(" and ")
            );
            warnings.push(self.config.with_line(&compiled.preset, &["gates", name], why));
        }
        warnings
    }

    /// Retains the gates with a tool that declares open-world access.
    async fn with_open_world_tools(&self, gates: Vec<String>) -> Vec<String> {
        let loaded = self.gates.loaded().await;
        let mut reaching = Vec::new();
        for name in gates {
            let Some(gate) = loaded.get(&name) else { continue };
            let listing = gate.list(&Map::new()).await;
            if listing.is_ok_and(|listing| listing.tools.iter().any(|tool| tool.open_world)) {
                reaching.push(name);
            }
        }
        reaching
    }

    /// Returns the loaded gates that request a capability and may use it, sorted.
    pub(super) async fn granted(&self, capability: Capability) -> Vec<String> {
        let uses = |info: &gatehouse_sandbox::GateInfo| {
            info.ask.capabilities.contains(&capability)
                && info.grants.require(&info.name, capability, AccessLevel::Read).is_ok()
        };
        let loaded = self.gates.loaded().await;
        loaded.into_iter().filter(|(_, gate)| uses(gate.info())).map(|(name, _)| name).collect()
    }
}

fn gates_ask(gates: &[String]) -> String {
    match gates {
        [gate] => format!("gate {gate} requests"),
        _ => format!("gates {} request", gates.join(", ")),
    }
}
