//! Notes that stages leave on a call for other stages and for the audit.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};

use crate::quota_meter::estimated_tokens;

/// Notes on a call. The first note of a kind stays.
#[derive(Debug, Default)]
pub struct CallNotes {
    rule: OnceLock<Arc<str>>,
    approval: OnceLock<&'static str>,
    stored_limit: OnceLock<u64>,
    /// Tokens that models used, shared by all calls within a client's call.
    pub model_tokens: ModelTokens,
}

impl CallNotes {
    /// Creates notes of a call within another, which counts the same model tokens.
    pub(crate) fn within(outer: &Self) -> Self {
        Self { model_tokens: outer.model_tokens.clone(), ..Self::default() }
    }

    /// Creates notes for a filter, which acts for the same call.
    pub(crate) fn for_filter(outer: &Self) -> Self {
        let notes = Self::within(outer);
        notes.set_stored_limit(outer.stored_limit());
        notes
    }

    /// Notes the rule that decided about the call, such as an access rule with its line. Only operators see it.
    pub fn set_rule(&self, rule: &str) {
        let _ = self.rule.set(rule.into());
    }

    pub fn rule(&self) -> Option<Arc<str>> {
        self.rule.get().cloned()
    }

    pub(crate) fn set_approval(&self, approval: &'static str) {
        let _ = self.approval.set(approval);
    }

    /// Returns how the call was approved or refused. `None` if it needed no approval.
    pub fn approval(&self) -> Option<&'static str> {
        self.approval.get().copied()
    }

    pub(crate) fn set_stored_limit(&self, limit: Option<u64>) {
        if let Some(limit) = limit {
            let _ = self.stored_limit.set(limit);
        }
    }

    /// Returns the maximum bytes that the caller may store. `None` if no quota limits them.
    pub fn stored_limit(&self) -> Option<u64> {
        self.stored_limit.get().copied()
    }
}

/// Tokens that models of the host used for one client call.
#[derive(Debug, Clone, Default)]
pub struct ModelTokens(Arc<AtomicU64>);

impl ModelTokens {
    pub fn add(&self, tokens: u64) {
        self.0.fetch_add(tokens, Ordering::Relaxed);
    }

    /// Adds the estimated tokens of a text.
    pub fn add_bytes(&self, bytes: usize) {
        self.add(estimated_tokens(bytes));
    }

    pub fn total(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
