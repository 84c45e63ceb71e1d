//! Counts of what one principal used of its quotas, and permits of calls that were admitted by them.

use std::sync::{Arc, Mutex};

use super::{CallerQuotas, QuotaMeter, estimated_tokens};
use crate::{
    Fault, Principal, lock,
    ports::quota::{StoredUsage, WindowUsage},
    quota::{QuotaAllowance, QuotaPeriod, QuotaRule},
    utc_time::rfc3339,
};

/// Share of an allowance, in percent, at which the caller gets a note.
const NOTE_PERCENT: u64 = 80;

pub(super) struct PrincipalUsage {
    pub(super) principal: Principal,
    pub(super) counts: Mutex<Vec<QuotaCount>>,
}

#[derive(Default)]
pub(super) struct QuotaCount {
    pub(super) quota: Arc<str>,
    pub(super) calls: WindowCount,
    pub(super) tokens: WindowCount,
    pub(super) running: u32,
    pub(super) is_changed: bool,
}

#[derive(Default)]
pub(super) struct WindowCount {
    pub(super) usage: WindowUsage,
    is_noted: bool,
}

impl WindowCount {
    /// Begins the window of `now` if the current one is over. Keeps the count if the clock was set back.
    pub(super) fn roll(&mut self, period: QuotaPeriod, now: u64) {
        let start = period.window_start(now);
        // A window far in the future comes from a clock that was wrong.
        if start > self.usage.start || self.usage.start > now.saturating_add(period.millis()) {
            *self = Self { usage: WindowUsage { start, used: 0 }, is_noted: false };
        }
    }

    /// Returns the note that most of the allowance is used, once per window.
    pub(super) fn note(&mut self, unit: &str, rule: &QuotaRule, allowance: QuotaAllowance) -> Option<String> {
        let QuotaAllowance { amount, period } = allowance;
        let percent = self.usage.used.saturating_mul(100) / amount;
        if percent < NOTE_PERCENT || self.is_noted {
            return None;
        }
        self.is_noted = true;
        let resets = rfc3339(self.usage.start + period.millis());
        let percent = percent.min(100);
        Some(format!(
            "[quota '{}': {percent} % of {amount} {unit} per {period} used; resets at {resets}]",
            rule.name
        ))
    }
}

impl QuotaCount {
    /// Returns the allowances of a rule, each with its name and its window at `now`.
    fn limited(
        &mut self,
        rule: &QuotaRule,
        now: u64,
    ) -> impl Iterator<Item = (&'static str, QuotaAllowance, &mut WindowCount)> {
        let windows = [("calls", rule.calls, &mut self.calls), ("tokens", rule.tokens, &mut self.tokens)];
        windows.into_iter().filter_map(move |(unit, allowance, window)| {
            window.roll(allowance?.period, now);
            Some((unit, allowance?, window))
        })
    }

    pub(super) fn stored(&self, principal: &Principal) -> StoredUsage {
        StoredUsage {
            quota: Arc::clone(&self.quota),
            principal: principal.clone(),
            calls: self.calls.usage,
            tokens: self.tokens.usage,
        }
    }
}

impl PrincipalUsage {
    pub(super) fn new(principal: Principal) -> Self {
        Self { principal, counts: Mutex::default() }
    }

    pub(super) fn is_idle(&self, now: u64) -> bool {
        let is_over = |window: &WindowCount| window.usage.start + QuotaPeriod::Day.millis() < now;
        lock(&self.counts)
            .iter()
            .all(|count| count.running == 0 && is_over(&count.calls) && is_over(&count.tokens))
    }
}

pub(super) fn count_of<'a>(counts: &'a mut Vec<QuotaCount>, quota: &Arc<str>) -> &'a mut QuotaCount {
    let at = counts.iter().position(|count| count.quota == *quota).unwrap_or_else(|| {
        counts.push(QuotaCount { quota: Arc::clone(quota), ..QuotaCount::default() });
        counts.len() - 1
    });
    &mut counts[at]
}

/// Returns the fault of a call above an allowance. It ends by itself when the window does.
fn exhausted(
    unit: &str,
    rule: &QuotaRule,
    (allowance, window): (QuotaAllowance, &WindowCount),
    now: u64,
) -> Fault {
    let QuotaAllowance { amount, period } = allowance;
    let reset = window.usage.start + period.millis();
    let seconds = reset.saturating_sub(now).div_ceil(1_000);
    let (name, resets) = (&rule.name, rfc3339(reset));
    let message = format!("quota '{name}' is used up: {amount} {unit} per {period}");
    let hint = format!("It resets at {resets}, in {seconds} s. Retry after that.");
    Fault { retryable: true, ..Fault::exhausted(message).hint(hint) }
}

/// Checks one quota for one more call.
pub(super) fn check(rule: &QuotaRule, count: &mut QuotaCount, is_outer: bool, now: u64) -> Result<(), Fault> {
    for (unit, allowance, window) in count.limited(rule, now) {
        if window.usage.used >= allowance.amount {
            return Err(exhausted(unit, rule, (allowance, window), now));
        }
    }
    if let Some(limit) = rule.concurrency.filter(|limit| is_outer && count.running >= *limit) {
        let message = format!("quota '{}' is used up: {limit} concurrent calls", rule.name);
        let hint = "Retry when one of your calls has ended.";
        return Err(Fault { retryable: true, ..Fault::exhausted(message).hint(hint) });
    }
    Ok(())
}

/// An admitted call. It stops counting as concurrent when this is dropped.
pub struct QuotaPermit {
    pub(super) meter: Arc<QuotaMeter>,
    pub(super) quotas: Arc<CallerQuotas>,
    pub(super) is_outer: bool,
}

impl QuotaPermit {
    /// Charges the call for bytes that reach its caller.
    pub fn charge_bytes(&self, bytes: usize) {
        self.charge_tokens(estimated_tokens(bytes));
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
            for (unit, allowance, window) in count.limited(rule, now) {
                notes.extend(window.note(unit, rule, allowance));
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
