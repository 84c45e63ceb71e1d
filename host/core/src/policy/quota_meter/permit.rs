//! Permits of admitted calls.

use std::sync::Arc;

use super::{BYTES_PER_TOKEN, CallerQuotas, QuotaMeter, usage::count_of};
use crate::lock;

/// An admitted call. It stops counting as concurrent when this is dropped.
pub struct QuotaPermit {
    pub(super) meter: Arc<QuotaMeter>,
    pub(super) quotas: Arc<CallerQuotas>,
    pub(super) is_outer: bool,
}

impl QuotaPermit {
    /// Charges the call for bytes that reach its caller.
    pub fn charge_bytes(&self, bytes: u64) {
        self.charge_tokens(bytes.div_ceil(BYTES_PER_TOKEN));
    }

    pub fn charge_tokens(&self, tokens: u64) {
        self.meter.charge(&self.quotas, tokens);
    }

    /// Returns notes of quotas that are mostly used, each once per window.
    pub fn take_notes(&self) -> Vec<String> {
        let now = self.meter.clock.now_ms();
        let mut notes = Vec::new();
        let mut counts = lock(&self.quotas.usage.counts);
        for rule in &self.quotas.rules {
            let count = count_of(&mut counts, &rule.name);
            for (what, allowance, window) in
                [("calls", rule.calls, &mut count.calls), ("tokens", rule.tokens, &mut count.tokens)]
            {
                let Some(allowance) = allowance else { continue };
                window.roll(allowance.period, now);
                notes.extend(window.note(what, rule, allowance));
            }
        }
        notes
    }

    /// Returns the maximum bytes of artifacts and kv. `None` if no quota limits them.
    pub fn stored_limit(&self) -> Option<u64> {
        self.quotas.stored
    }
}

impl Drop for QuotaPermit {
    fn drop(&mut self) {
        if !self.is_outer {
            return;
        }
        let mut counts = lock(&self.quotas.usage.counts);
        for rule in &self.quotas.rules {
            let count = count_of(&mut counts, &rule.name);
            count.running = count.running.saturating_sub(1);
        }
    }
}
