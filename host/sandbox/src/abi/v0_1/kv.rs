//! `kv`: the gate's key-value store of bytes. Requires the grant `kv`.

use super::gatehouse::gate::{
    kv::{Host, Scope},
    types::Fault,
};
use crate::{capability, state::State};

impl Host for State {
    async fn get(&mut self, scope: Scope, key: String) -> Result<Option<Vec<u8>>, Fault> {
        let kv = self.capabilities.kv(scope.into())?;
        Ok(kv.store.get(kv.gate, &kv.key(&key)?).await?)
    }

    async fn set(
        &mut self,
        scope: Scope,
        key: String,
        value: Vec<u8>,
        ttl_ms: Option<u64>,
    ) -> Result<(), Fault> {
        let kv = self.capabilities.kv(scope.into())?;
        Ok(kv.store.set(kv.gate, &kv.key(&key)?, value, ttl_ms, kv.quota().await?).await?)
    }

    async fn add(
        &mut self,
        scope: Scope,
        key: String,
        delta: i64,
        ttl_ms: Option<u64>,
    ) -> Result<i64, Fault> {
        let kv = self.capabilities.kv(scope.into())?;
        Ok(kv.store.add(kv.gate, &kv.key(&key)?, delta, ttl_ms, kv.quota().await?).await?)
    }

    async fn delete(&mut self, scope: Scope, key: String) -> Result<bool, Fault> {
        let kv = self.capabilities.kv(scope.into())?;
        Ok(kv.store.delete(kv.gate, &kv.key(&key)?).await?)
    }

    async fn keys(&mut self, scope: Scope, prefix: String) -> Result<Vec<String>, Fault> {
        Ok(self.capabilities.kv(scope.into())?.keys(&prefix).await?)
    }
}

enums! {
    Scope => capability::KvScope { Gate, Preset, Caller }
}
