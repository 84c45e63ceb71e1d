//! `kv`: the gate's own store of bytes under names. Granted as `kv`.

use std::sync::Arc;

use gatehouse_core::{
    capability::{Access, Capability, Grants},
    outcome, ports,
};

use super::CallFacts;
use crate::{
    abi::v0_1::gatehouse::gate::{kv::Host, types::Fault},
    state::State,
};

pub(crate) struct Kv {
    gate: Arc<str>,
    grants: Arc<Grants>,
    /// None while a gate describes itself.
    port: Option<Arc<dyn ports::Kv>>,
    /// Bytes of keys and values.
    quota: u64,
}

impl Kv {
    pub(super) fn new(facts: &CallFacts) -> Self {
        Self {
            gate: Arc::clone(&facts.gate),
            grants: Arc::clone(&facts.grants),
            port: facts.call.as_ref().map(|_| Arc::clone(&facts.ports.kv)),
            quota: facts.limits.kv,
        }
    }

    /// The one way to the store: through the grant. The gate's name comes with it, so that no gate can
    /// name another one.
    fn granted(&self) -> Result<(Arc<dyn ports::Kv>, Arc<str>), outcome::Fault> {
        self.grants.require(&self.gate, Capability::Kv, Access::Full)?;
        let describing =
            || outcome::Fault::denied("A gate that describes itself has no access to its store.");
        Ok((self.port.clone().ok_or_else(describing)?, Arc::clone(&self.gate)))
    }
}

impl Host for State {
    async fn get(&mut self, key: String) -> Result<Option<Vec<u8>>, Fault> {
        let (store, gate) = self.capabilities.kv.granted()?;
        Ok(store.get(&gate, &key).await?)
    }

    async fn set(&mut self, key: String, value: Vec<u8>, ttl_ms: Option<u64>) -> Result<(), Fault> {
        let (store, gate) = self.capabilities.kv.granted()?;
        Ok(store.set(&gate, &key, value, ttl_ms, self.capabilities.kv.quota).await?)
    }

    async fn delete(&mut self, key: String) -> Result<bool, Fault> {
        let (store, gate) = self.capabilities.kv.granted()?;
        Ok(store.delete(&gate, &key).await?)
    }

    async fn keys(&mut self, prefix: String) -> Result<Vec<String>, Fault> {
        let (store, gate) = self.capabilities.kv.granted()?;
        Ok(store.keys(&gate, &prefix).await?)
    }
}
