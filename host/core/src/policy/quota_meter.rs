//! Counts what principals use of their quotas, and refuses calls above them.
//!
//! Counts are in memory, one lock per principal, so that checking all quotas of a call is one step. Changed counts are
//! stored about once per second.

mod usage;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use gatehouse_telemetry::metrics;
use tokio::sync::OnceCell;

use crate::{
    Caller, Fault, Principal, lock,
    ports::{
        Clock,
        quota::{QuotaStore, StoredUsage},
    },
    quota::{QuotaPeriod, QuotaRule},
};
pub use usage::QuotaPermit;
use usage::{PrincipalUsage, check, count_of};

/// Returns the estimated tokens of a text; counting would cost more than many calls. English and code are within 25 %;
/// other scripts may have twice as many tokens.
pub(crate) fn estimated_tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}

/// Time between a change and its storage.
const SAVE_DELAY: Duration = Duration::from_secs(1);

/// Callers to remember before those that are gone are forgotten.
const MAX_KNOWN_CALLERS: usize = 4_096;

/// Principals to remember before idle ones are forgotten.
const MAX_KNOWN_PRINCIPALS: usize = 16_384;

pub struct QuotaMeter {
    clock: Arc<dyn Clock>,
    store: Option<Arc<dyn QuotaStore>>,
    loaded: OnceCell<()>,
    is_on: AtomicBool,
    rules: Mutex<Arc<[Arc<QuotaRule>]>>,
    /// Quotas of each caller, by the address of its `Arc`. The `Weak` keeps the address from being used again.
    callers: Mutex<HashMap<usize, KnownCaller>>,
    principals: Mutex<HashMap<Principal, Arc<PrincipalUsage>>>,
    /// True if a task will store the changes.
    is_saving: AtomicBool,
}

type KnownCaller = (Weak<Caller>, Arc<CallerQuotas>);

/// The quotas that apply to a caller.
struct CallerQuotas {
    rules: Vec<Arc<QuotaRule>>,
    usage: Arc<PrincipalUsage>,
    stored: Option<u64>,
}

impl QuotaMeter {
    /// Creates a meter without rules. `store` outlives a restart.
    pub fn new(clock: Arc<dyn Clock>, store: Option<Arc<dyn QuotaStore>>) -> Self {
        Self {
            clock,
            store,
            loaded: OnceCell::new(),
            is_on: AtomicBool::new(false),
            rules: Mutex::new(Arc::new([])),
            callers: Mutex::default(),
            principals: Mutex::default(),
            is_saving: AtomicBool::new(false),
        }
    }

    /// Replaces the rules. Counts of quotas with the same name continue.
    pub fn set_rules(&self, rules: Vec<QuotaRule>) {
        self.is_on.store(!rules.is_empty(), Ordering::Release);
        let rules: Vec<Arc<QuotaRule>> = rules.into_iter().map(Arc::new).collect();
        *lock(&self.rules) = rules.into();
        lock(&self.callers).clear();
    }

    /// Admits a call, and counts it. `is_outer` for a call of a client, which also counts as concurrent. `None` if no
    /// quota applies.
    ///
    /// # Errors
    /// `exhausted` if any quota is used up. It names the quota and the time when it resets.
    pub async fn admit(
        self: &Arc<Self>,
        caller: &Arc<Caller>,
        is_outer: bool,
    ) -> Result<Option<QuotaPermit>, Fault> {
        if !self.is_on.load(Ordering::Acquire) {
            return Ok(None);
        }
        self.loaded.get_or_init(|| self.load()).await;
        let quotas = self.quotas_of(caller);
        if quotas.rules.is_empty() {
            return Ok(None);
        }
        let now = self.clock.now_ms();
        {
            let mut counts = lock(&quotas.usage.counts);
            // All checks come first, so that a refused call uses nothing.
            for rule in &quotas.rules {
                check(rule, count_of(&mut counts, &rule.name), is_outer, now).inspect_err(|_| {
                    if let Some(metrics) = metrics() {
                        metrics.quota_refusals.series([&rule.name]).inc();
                    }
                })?;
            }
            for rule in &quotas.rules {
                let count = count_of(&mut counts, &rule.name);
                count.calls.usage.used += u64::from(rule.calls.is_some());
                count.running += u32::from(is_outer);
                count.is_changed |= rule.calls.is_some();
                if let Some(metrics) = metrics() {
                    metrics.quota_calls.series([&rule.name]).inc();
                }
            }
        }
        self.save_soon();
        Ok(Some(QuotaPermit { meter: Arc::clone(self), quotas, is_outer }))
    }

    /// Charges a caller for bytes that reach it outside of calls, such as lists. Refuses nothing.
    pub fn charge_bytes(self: &Arc<Self>, caller: &Arc<Caller>, bytes: usize) {
        if self.is_on.load(Ordering::Acquire) {
            self.charge(&self.quotas_of(caller), estimated_tokens(bytes));
        }
    }

    fn charge(self: &Arc<Self>, quotas: &CallerQuotas, tokens: u64) {
        if tokens == 0 || quotas.rules.iter().all(|rule| rule.tokens.is_none()) {
            return;
        }
        let now = self.clock.now_ms();
        {
            let mut counts = lock(&quotas.usage.counts);
            for rule in &quotas.rules {
                let Some(allowance) = rule.tokens else { continue };
                let count = count_of(&mut counts, &rule.name);
                count.tokens.roll(allowance.period, now);
                count.tokens.usage.used = count.tokens.usage.used.saturating_add(tokens);
                count.is_changed = true;
                if let Some(metrics) = metrics() {
                    metrics.quota_tokens.series([&rule.name]).inc_by(tokens);
                }
            }
        }
        self.save_soon();
    }

    fn quotas_of(&self, caller: &Arc<Caller>) -> Arc<CallerQuotas> {
        let address = Arc::as_ptr(caller) as usize;
        if let Some((_, quotas)) = lock(&self.callers).get(&address) {
            return Arc::clone(quotas);
        }
        let all_rules = Arc::clone(&lock(&self.rules));
        let rules: Vec<_> = all_rules.iter().filter(|rule| rule.who.matches(caller)).cloned().collect();
        let stored = rules.iter().filter_map(|rule| rule.stored).min();
        let quotas = Arc::new(CallerQuotas { rules, usage: self.usage_of(&caller.principal), stored });
        let mut callers = lock(&self.callers);
        if callers.len() >= MAX_KNOWN_CALLERS {
            callers.retain(|_, (caller, _)| caller.strong_count() > 0);
        }
        // Rules that were replaced meanwhile must not be remembered.
        if callers.len() < MAX_KNOWN_CALLERS && Arc::ptr_eq(&all_rules, &lock(&self.rules)) {
            callers.insert(address, (Arc::downgrade(caller), Arc::clone(&quotas)));
        }
        quotas
    }

    fn usage_of(&self, principal: &Principal) -> Arc<PrincipalUsage> {
        let mut principals = lock(&self.principals);
        if principals.len() >= MAX_KNOWN_PRINCIPALS && !principals.contains_key(principal) {
            let now = self.clock.now_ms();
            principals.retain(|_, usage| Arc::strong_count(usage) > 1 || !usage.is_idle(now));
        }
        let usage = principals
            .entry(principal.clone())
            .or_insert_with(|| Arc::new(PrincipalUsage::new(principal.clone())));
        Arc::clone(usage)
    }

    /// Reads the stored counts. If that fails, windows begin empty.
    async fn load(&self) {
        let Some(store) = &self.store else { return };
        let since = QuotaPeriod::Day.window_start(self.clock.now_ms());
        let stored = match store.load(since).await {
            Ok(stored) => stored,
            Err(fault) => {
                return tracing::warn!(
                    "cannot read the use of quotas, which starts at zero: {}",
                    fault.in_one_line()
                );
            }
        };
        for StoredUsage { quota, principal, calls, tokens } in stored {
            let usage = self.usage_of(&principal);
            let mut counts = lock(&usage.counts);
            let count = count_of(&mut counts, &quota);
            // Notes of the window were sent before the restart, or come once more.
            count.calls.usage = calls;
            count.tokens.usage = tokens;
        }
    }

    fn save_soon(self: &Arc<Self>) {
        if self.store.is_none() || self.is_saving.swap(true, Ordering::AcqRel) {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return self.is_saving.store(false, Ordering::Release);
        };
        let meter = Arc::clone(self);
        runtime.spawn(async move {
            tokio::time::sleep(SAVE_DELAY).await;
            // Later changes schedule another task.
            meter.is_saving.store(false, Ordering::Release);
            if let Err(fault) = meter.save().await {
                tracing::warn!("cannot store the use of quotas: {}", fault.in_one_line());
            }
        });
    }

    /// Stores all changed counts. If that fails, they stay changed.
    pub async fn save(&self) -> Result<(), Fault> {
        let Some(store) = &self.store else { return Ok(()) };
        let principals: Vec<_> = lock(&self.principals).values().cloned().collect();
        let mut changed = Vec::new();
        for usage in &principals {
            for count in lock(&usage.counts).iter_mut().filter(|count| count.is_changed) {
                count.is_changed = false;
                changed.push(count.stored(&usage.principal));
            }
        }
        if changed.is_empty() {
            return Ok(());
        }
        let since = QuotaPeriod::Day.window_start(self.clock.now_ms());
        let names: Vec<_> =
            changed.iter().map(|record| (record.principal.clone(), Arc::clone(&record.quota))).collect();
        let saved = store.save(changed, since).await;
        if saved.is_err() {
            for (principal, quota) in names {
                count_of(&mut lock(&self.usage_of(&principal).counts), &quota).is_changed = true;
            }
        }
        saved
    }

    /// Returns what a principal uses now, for operators. Only counts that are in memory.
    pub fn usage(&self, principal: &Principal) -> Vec<StoredUsage> {
        let Some(usage) = lock(&self.principals).get(principal).cloned() else { return Vec::new() };
        lock(&usage.counts).iter().map(|count| count.stored(principal)).collect()
    }
}

#[cfg(test)]
mod tests;
