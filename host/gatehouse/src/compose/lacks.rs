//! What gates ask for, are granted, and do not find here: said at the start, by `status` and by `doctor`, and not
//! only by the first call that fails.

use gatehouse_core::capability::{Access, Capability};

use super::Composition;

impl Composition {
    /// A line for each thing that loaded gates lack.
    pub(crate) async fn lacks(&self) -> Vec<String> {
        let mut lacks = Vec::new();
        let models = self.granted(Capability::Models).await;
        if !models.is_empty() {
            let why = self.missing.answers.as_ref().or(self.missing.web_search.as_ref());
            lacks.extend(why.map(|why| format!("{} language models: {why}", asking(&models))));
        }
        let knowledge = self.granted(Capability::Knowledge).await;
        if let (false, Err(fault)) = (knowledge.is_empty(), self.knowledge.there()) {
            lacks.push(format!("{} the knowledge graph: {}", asking(&knowledge), fault.message));
        }
        lacks
    }

    /// Loaded gates that ask for a capability and may use it, sorted.
    async fn granted(&self, capability: Capability) -> Vec<String> {
        let uses = |info: &gatehouse_sandbox::GateInfo| {
            info.ask.capabilities.contains(&capability)
                && info.grants.require(&info.name, capability, Access::Read).is_ok()
        };
        let loaded = self.gates.loaded().await;
        loaded.into_iter().filter(|(_, gate)| uses(gate.info())).map(|(name, _)| name).collect()
    }
}

fn asking(gates: &[String]) -> String {
    match gates {
        [gate] => format!("gate {gate} asks"),
        _ => format!("gates {} ask", gates.join(", ")),
    }
}
