//! Counters of gates for operators: numbers that a gate stores with `kv` under `n:` and a name.

use std::collections::BTreeMap;

use gatehouse_core::{
    capability::{AccessLevel, Capability},
    ports::KvStore,
};

use super::Composition;

/// Prefix of counter keys, documented in docs/gate-reference.md.
const PREFIX: &str = "n:";

pub(crate) type GateCounts = BTreeMap<String, i64>;

impl Composition {
    /// Returns the counters of each gate that has some. If the store cannot be read, returns none; calls report the
    /// error.
    pub(crate) async fn counts(&self) -> BTreeMap<String, GateCounts> {
        let mut all = BTreeMap::new();
        // Opening the store would create the database.
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
