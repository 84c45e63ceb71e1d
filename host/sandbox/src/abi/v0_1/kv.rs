//! `kv`: the gate's own store of bytes under names. Granted as `kv`.

use gatehouse_core::{
    capability::{Access, Capability},
    outcome, ports,
};

use super::gatehouse::gate::{kv::Host, types::Fault};
use crate::state::State;

/// The store, and the gate's name: with it comes that no gate can name another one.
fn store(state: &State) -> Result<(&dyn ports::Kv, &str, u64), outcome::Fault> {
    let facts = state.capabilities.granted(Capability::Kv, Access::Full)?.facts;
    Ok((&*facts.ports.kv, &facts.gate, facts.limits.kv))
}

impl Host for State {
    async fn get(&mut self, key: String) -> Result<Option<Vec<u8>>, Fault> {
        let (store, gate, _) = store(self)?;
        Ok(store.get(gate, &key).await?)
    }

    async fn set(&mut self, key: String, value: Vec<u8>, ttl_ms: Option<u64>) -> Result<(), Fault> {
        let (store, gate, quota) = store(self)?;
        Ok(store.set(gate, &key, value, ttl_ms, quota).await?)
    }

    async fn add(&mut self, key: String, delta: i64, ttl_ms: Option<u64>) -> Result<i64, Fault> {
        let (store, gate, quota) = store(self)?;
        Ok(store.add(gate, &key, delta, ttl_ms, quota).await?)
    }

    async fn delete(&mut self, key: String) -> Result<bool, Fault> {
        let (store, gate, _) = store(self)?;
        Ok(store.delete(gate, &key).await?)
    }

    async fn keys(&mut self, prefix: String) -> Result<Vec<String>, Fault> {
        let (store, gate, _) = store(self)?;
        Ok(store.keys(gate, &prefix).await?)
    }
}
