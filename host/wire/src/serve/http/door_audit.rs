//! Audit of requests that are not calls: refusals of credentials and presets, and sign-ins to servers.
//!
//! Anybody can cause refusals, so that their number is limited. An entry says how many were left out before it.

use std::sync::Arc;

use gatehouse_core::{
    LogLimit, Principal,
    ports::{
        AuditLog,
        audit::{AuditEntry, AuditKind},
    },
};

use super::client_address::ClientAddress;

/// Returns the principal of requests without a valid credential.
pub(super) fn unknown_principal() -> Principal {
    Principal::Named("unknown".into())
}

#[derive(Default)]
pub(super) struct DoorAudit {
    /// `None` if the audit is off.
    log: Option<Arc<dyn AuditLog>>,
    /// For unknown clients, and for known ones, so that a flood of the former hides none of the latter.
    limits: [LogLimit; 2],
}

impl DoorAudit {
    pub(super) fn new(log: Option<Arc<dyn AuditLog>>) -> Self {
        Self { log, limits: Default::default() }
    }

    /// Records a refused request. `principal` is `None` if its credential is not valid.
    pub(super) fn record_refusal(&self, principal: Option<&Principal>, client: ClientAddress, reason: &str) {
        let Some(log) = &self.log else { return };
        let Some(left_out) = self.limits[usize::from(principal.is_some())].admit_line() else { return };
        let details = match left_out {
            0 => reason.to_owned(),
            left_out => format!("{reason} ({left_out} refusals before this one were left out)"),
        };
        let unknown = unknown_principal();
        let entry = AuditEntry::event(AuditKind::Refusal, principal.unwrap_or(&unknown), "denied", &details);
        log.record_refusal(AuditEntry { address: Some(client.0), ..entry });
    }

    pub(super) fn record_sign_in(&self, principal: &Principal, client: ClientAddress, server: &str) {
        let Some(log) = &self.log else { return };
        let details = format!("signed in to server '{server}'");
        let entry = AuditEntry::event(AuditKind::SignIn, principal, "ok", &details);
        log.record(AuditEntry { address: Some(client.0), ..entry });
    }
}
