//! The audit: an append-only record of who called what, and of changes to the host.

use std::{net::IpAddr, sync::Arc};

use async_trait::async_trait;

use crate::{Fault, Principal, util::enum_words};

/// Subject of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditKind {
    /// A call of a tool, also a refused one.
    Call,
    SignIn,
    /// A request without a valid credential, or with one that lacks a scope.
    Refusal,
    /// A change of `presets.toml` that a host applied or refused.
    Configuration,
    /// A key that was created, rotated or revoked.
    Key,
    /// Data of a principal that was erased.
    Erasure,
    /// Arguments and reply of a call that an operator read in the ledger.
    Reading,
    /// Old entries that were deleted.
    Retention,
    /// Entries that could not be stored.
    Loss,
}

enum_words! { AuditKind {
    Call: "call", SignIn: "sign-in", Refusal: "refusal", Configuration: "configuration", Key: "key",
    Erasure: "erasure", Reading: "reading", Retention: "retention", Loss: "loss",
} }

/// An entry. The store adds its number, time and digest.
///
/// Only `principal`, `credential`, `client` and `address` may identify a person: the store keeps them under a key that
/// an erasure deletes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub kind: AuditKind,
    pub principal: Principal,
    pub credential: Arc<str>,
    /// Name and version of the client, or empty.
    pub client: String,
    pub address: Option<IpAddr>,
    pub preset: Option<Arc<str>>,
    pub tool: Option<String>,
    /// The access rule or quota that decided.
    pub rule: Option<Arc<str>>,
    pub approval: Option<&'static str>,
    /// `ok`, `error`, `cancelled` or the kind of a fault.
    pub outcome: &'static str,
    pub took_us: u64,
    pub tokens_in: u64,
    pub tokens_out: u64,
    /// SHA-256 of the arguments. The store keys it, because arguments could be guessed from it.
    pub arguments: Option<[u8; 32]>,
    /// Text about an event, without names of principals.
    pub details: Option<String>,
}

impl AuditEntry {
    /// Creates an entry about an event that is not a call.
    pub fn event(kind: AuditKind, principal: &Principal, outcome: &'static str, details: &str) -> Self {
        Self {
            kind,
            principal: principal.clone(),
            credential: "".into(),
            client: String::new(),
            address: None,
            preset: None,
            tool: None,
            rule: None,
            approval: None,
            outcome,
            took_us: 0,
            tokens_in: 0,
            tokens_out: 0,
            arguments: None,
            details: Some(details.to_owned()),
        }
    }
}

/// The audit log. Entries are stored in the order in which they were passed.
#[async_trait]
pub trait AuditLog: Send + Sync {
    /// Queues an entry, which is stored soon. Never blocks.
    fn record(&self, entry: AuditEntry);

    /// Queues the entry of a refused request, which any client can cause. It may be counted only, so that a flood leaves
    /// room for other entries.
    fn record_refusal(&self, entry: AuditEntry) {
        self.record(entry);
    }

    /// Stores an entry, and returns when it survives a power failure.
    async fn commit(&self, entry: AuditEntry) -> Result<(), Fault>;

    /// Returns the first digits of a principal's pseudonym, for the log. `None` if it cannot be read now.
    async fn pseudonym(&self, _principal: &Principal) -> Option<Arc<str>> {
        None
    }

    /// Fails if entries cannot be stored now. Costs nothing while storing works.
    async fn check(&self) -> Result<(), Fault>;

    /// Records an event that is not a call: a refusal at the door, a reload, a change of keys.
    fn record_event(&self, kind: AuditKind, principal: &Principal, outcome: &'static str, details: &str) {
        self.record(AuditEntry::event(kind, principal, outcome, details));
    }
}
