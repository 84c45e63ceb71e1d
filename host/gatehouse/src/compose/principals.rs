//! Data of each principal in the stores, and its erasure.

use std::collections::BTreeMap;

use gatehouse_core::{
    Fault, Principal,
    ports::{KeyStore as _, KvStore as _, keys::KeyRecord},
};
use gatehouse_sandbox::caller_key_prefix;
use gatehouse_stores::KnownPrincipal;
use serde::Serialize;

use super::{Composition, QuotaUse};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct PrincipalData {
    pub(crate) name: String,
    pub(crate) artifacts: u64,
    pub(crate) artifact_bytes: u64,
    pub(crate) kv_bytes: u64,
    /// Servers to which it has a login of its own.
    pub(crate) logins: Vec<String>,
    pub(crate) quotas: Vec<QuotaUse>,
    /// Single calls in the ledger.
    pub(crate) calls: u64,
    /// Entries in the audit. `None` without any.
    pub(crate) audit: Option<KnownPrincipal>,
}

/// Counts of what an erasure deleted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ErasedData {
    pub(crate) artifacts: u64,
    pub(crate) kv_entries: u64,
    /// Logins to servers, revoked where the authorization server supports that.
    pub(crate) logins: u64,
    /// Calls in the ledger that no longer name it.
    pub(crate) calls: u64,
    /// True if the audit can no longer name the principal.
    pub(crate) audit_key: bool,
}

pub(crate) fn principal_named(name: &str) -> Principal {
    if name == Principal::Local.as_str() { Principal::Local } else { Principal::Named(name.into()) }
}

impl Composition {
    /// Returns every principal that some store knows, sorted by name.
    pub(crate) async fn principals(&self) -> Result<Vec<PrincipalData>, Fault> {
        let stores = &self.stores;
        let mut audit_by_name: BTreeMap<String, Option<KnownPrincipal>> = BTreeMap::new();
        let mut quotas: BTreeMap<String, Vec<QuotaUse>> = BTreeMap::new();
        if stores.audit.exists().await? {
            for principal in stores.audit.principals().await? {
                audit_by_name.insert(principal.name.clone(), Some(principal));
            }
            for used in self.quota_uses().await? {
                audit_by_name.entry(used.principal.clone()).or_default();
                quotas.entry(used.principal.clone()).or_default().push(used);
            }
        }
        let artifacts = stores.artifacts.get()?;
        for owner in artifacts.owners().await?.into_iter().chain(stores.kv.owners().await?) {
            audit_by_name.entry(owner).or_default();
        }
        let mut logins: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for id in stores.logins.of_principals().await? {
            let Some(owner) = id.owner() else { continue };
            audit_by_name.entry(owner.as_str().to_owned()).or_default();
            logins.entry(owner.as_str().to_owned()).or_default().push(id.server().to_owned());
        }
        let mut calls: BTreeMap<String, u64> = stores.recorded.principals().await?.into_iter().collect();
        for name in calls.keys().filter(|name| **name != *Principal::Local.as_str()) {
            audit_by_name.entry(name.clone()).or_default();
        }
        let mut principals = Vec::new();
        for (name, audit) in audit_by_name {
            let (count, artifact_bytes) = artifacts.holding(&principal_named(&name)).await?;
            principals.push(PrincipalData {
                artifacts: count,
                artifact_bytes,
                kv_bytes: stores.kv.owner_bytes(&name).await?,
                logins: logins.remove(&name).unwrap_or_default(),
                quotas: quotas.remove(&name).unwrap_or_default(),
                calls: calls.remove(&name).unwrap_or_default(),
                name,
                audit,
            });
        }
        Ok(principals)
    }

    /// Returns the API key of a principal. `None` if it has none.
    pub(crate) async fn api_key(&self, principal: &str) -> Result<Option<KeyRecord>, Fault> {
        let Some(name) = principal.strip_prefix("key:") else { return Ok(None) };
        let keys = self.stores.keys.list().await?;
        Ok(keys.into_iter().find(|key| key.name == name))
    }

    /// Deletes everything that a principal owns, and the key by which the audit names it.
    ///
    /// Deletes again what is gone already, so it can be repeated after a failure.
    pub(crate) async fn erase_principal(&self, name: &str) -> Result<ErasedData, Fault> {
        let owner = principal_named(name);
        let artifacts = self.stores.artifacts.get()?.erase(&owner).await?;
        let prefixes = self.config.presets.keys().map(|preset| caller_key_prefix(preset, &owner)).collect();
        let kv_entries = self.stores.kv.erase(name, prefixes).await?;
        let mut logins = 0;
        for id in self.stores.logins.of_principal(&owner).await? {
            self.stores.logins.log_out(&id).await?;
            logins += 1;
        }
        let calls = self.stores.recorded.erase(name).await?;
        let audit = &self.stores.audit;
        let details = format!(
            "erased a principal: {artifacts} artifacts, {kv_entries} values of kv, {logins} logins, {calls} calls"
        );
        let audit_key = (self.stores.audits || audit.exists().await?) && audit.erase(name, &details).await?;
        Ok(ErasedData { artifacts, kv_entries, logins, calls, audit_key })
    }
}
