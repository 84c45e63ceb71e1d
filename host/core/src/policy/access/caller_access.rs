//! The rules that concern a caller.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use super::{preset_access::PresetAccess, rule::CompiledAccessRule};
use crate::effect::Effect;

/// The access of one caller, or of several equal ones.
pub struct CallerAccess {
    number: u64,
    /// Rules that match the caller. `None` if the host has no rules, so that each tool is allowed.
    rules: Option<Vec<Arc<CompiledAccessRule>>>,
    /// Limit of the caller's scopes.
    effect: Option<Effect>,
    /// The only presets that the credential opens, sorted. `None` if it names none.
    presets: Option<Vec<Arc<str>>>,
}

/// Everything that makes two accesses equal: a bit for each rule, the effect and the presets.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct AccessKey {
    rules: Option<Vec<u64>>,
    effect: Option<Effect>,
    presets: Option<Vec<Arc<str>>>,
}

impl CallerAccess {
    pub(super) fn new(
        rules: Option<Vec<Arc<CompiledAccessRule>>>,
        effect: Option<Effect>,
        presets: Option<&[Arc<str>]>,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let presets = presets.map(|presets| {
            let mut presets = presets.to_vec();
            presets.sort_unstable();
            presets.dedup();
            presets
        });
        Self { number: NEXT.fetch_add(1, Ordering::Relaxed), rules, effect, presets }
    }

    pub(super) fn key(&self) -> AccessKey {
        let bits = self.rules.as_ref().map(|rules| {
            let mut bits = Vec::new();
            for rule in rules {
                let (word, bit) = (rule.number / 64, rule.number % 64);
                bits.resize(bits.len().max(word + 1), 0);
                bits[word] |= 1 << bit;
            }
            bits
        });
        AccessKey { rules: bits, effect: self.effect, presets: self.presets.clone() }
    }

    /// Returns a number that no other access of this process has.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns true if the caller may use everything that a preset exposes, in each preset that it may open.
    pub fn is_full(&self) -> bool {
        self.rules.is_none() && self.effect.is_none()
    }

    /// Returns true if the caller may know a preset: its credential opens it, and a rule may allow a tool of it.
    pub fn opens_preset(&self, preset: &str) -> bool {
        let is_named = self.presets.as_ref().is_none_or(|presets| presets.iter().any(|one| **one == *preset));
        let has_tools = |rule: &Arc<CompiledAccessRule>| rule.has_tools() && rule.covers_preset(preset);
        is_named && self.rules.as_ref().is_none_or(|rules| rules.iter().any(has_tools))
    }

    /// Returns the access within one preset. It allows nothing if the caller may not open it.
    pub fn in_preset(&self, preset: &str) -> PresetAccess {
        if !self.opens_preset(preset) {
            return PresetAccess::new(Some(Vec::new()), self.effect);
        }
        let rules = self.rules.as_ref().map(|rules| {
            let covering = rules.iter().filter(|rule| rule.covers_preset(preset));
            covering.cloned().collect()
        });
        PresetAccess::new(rules, self.effect)
    }
}
