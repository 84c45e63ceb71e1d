//! What gates count, for people who look after them: numbers that a gate keeps with `kv` under `n:` and a name.

use std::collections::BTreeMap;

use gatehouse_core::{
    capability::{AccessLevel, Capability},
    ports::KvStore,
};

use super::Composition;

/// What the keys of numbers begin with; docs/gate-reference.md says so.
const PREFIX: &str = "n:";

/// Numbers by their names.
pub(crate) type GateCounts = BTreeMap<String, i64>;

impl Composition {
    /// The numbers of each gate that keeps some. A store that cannot be read has none, and whoever calls gates hears why.
    pub(crate) async fn counts(&self) -> BTreeMap<String, GateCounts> {
        let mut all = BTreeMap::new();
        // Looking makes no database.
        if !self.config.state.join("kv.db").exists() {
            return all;
        }
        let may_keep = |grants: &gatehouse_core::capability::Grants| {
            grants.access(Capability::Kv).is_some_and(|access| access == AccessLevel::Full)
        };
        for (gate, _) in self.config.gates.iter().filter(|(_, gate)| may_keep(&gate.settings.grants)) {
            let keys = self.stores.kv.keys(gate, PREFIX).await.unwrap_or_default();
            let mut counts = GateCounts::new();
            for key in keys {
                let value = self.stores.kv.get(gate, &key).await.ok().flatten();
                let number = value.and_then(|value| std::str::from_utf8(&value).ok()?.parse().ok());
                counts.extend(number.map(|number| (key[PREFIX.len()..].to_owned(), number)));
            }
            if !counts.is_empty() {
                all.insert(gate.clone(), counts);
            }
        }
        all
    }
}
