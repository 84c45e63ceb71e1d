//! Granted capabilities of gates that are not available on this host. Reported at startup, by `status` and by `doctor`,
//! so that problems appear before a call fails.

use gatehouse_core::{
    Source,
    capability::{AccessLevel, Capability},
};
use serde_json::Map;

use super::Composition;

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
