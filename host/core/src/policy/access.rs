//! Access rules: which callers may use which tools of which presets, and with which arguments.
//!
//! Rules only narrow what a preset exposes. Their order does not matter: a deny of any rule that matches the caller and
//! the preset wins, and a tool is allowed if any such rule allows it. Without rules, callers may use every tool of the
//! presets that their credentials open.
//!
//! [`Catalog::restricted`](crate::Catalog::restricted) applies the rules to a catalog, and the stage
//! [`PermitStage`](crate::pipeline::PermitStage) checks arguments.

mod preset_access;
mod rule;

use std::{
    fmt,
    hash::{Hash, Hasher},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

pub use crate::patterns::may_match_tools_of;

use self::rule::CompiledAccessRule;
pub use self::{
    preset_access::{AccessDecision, PresetAccess, pattern_names},
    rule::{AllowedValues, ArgumentLimit, NumberRange},
};
use crate::{Caller, Effect, InvalidValue, Principal, lock, util::recent_map::RecentMap};

/// Returns true if a glob of a rule matches a name. False if it is not a glob.
pub fn pattern_matches(pattern: &str, name: &str) -> bool {
    globset::Glob::new(pattern).is_ok_and(|glob| glob.compile_matcher().is_match(name))
}

/// Callers whose rules are remembered, times two. More callers are matched again.
const MAX_REMEMBERED_CALLERS: usize = 16_384;

/// A rule as declared under `[[access]]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AccessRule {
    /// Place of its declaration, for operators: `presets.toml:12`.
    pub place: String,
    /// Globs over principals and over groups as `group:NAME`.
    pub who: Vec<String>,
    /// Globs over presets. `None` for all.
    pub presets: Option<Vec<String>>,
    /// Globs over the tools that it allows. See [`pattern_names`].
    pub tools: Vec<String>,
    /// Globs over the tools that it denies.
    pub deny: Vec<String>,
    /// The strongest effect of the tools that it allows. `None` for no limit.
    pub effect: Option<Effect>,
    /// Limits of arguments. All that match a tool must hold.
    pub when: Vec<ArgumentLimit>,
    /// True if it allows to see the host as an operator does. It allows no tool then.
    pub admin: bool,
}

/// A pattern of a rule that cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{list} entry '{entry}' {reason}")]
pub struct AccessRuleError {
    /// Position of the rule, from 0.
    pub rule: usize,
    /// Key of the rule: `who`, `presets`, `tools`, `deny` or `when`.
    pub list: &'static str,
    pub entry: String,
    pub reason: InvalidValue,
}

/// All access rules of a host, compiled.
///
/// The default is for hosts without `[auth]`: it limits no caller.
pub struct AccessRules {
    /// False without `[auth]`.
    enforced: bool,
    rules: Vec<Arc<CompiledAccessRule>>,
    callers: Mutex<RecentMap<CallerKey, Arc<CallerAccess>>>,
    /// Interned access sets: callers with equal rights share one.
    shared: Mutex<RecentMap<AccessKey, Arc<CallerAccess>>>,
    /// Callers that were matched with the rules, for tests.
    matched: AtomicU64,
}

/// The parts of a caller that decide about its access: everything but its credential and its expiry.
struct CallerKey(Arc<Caller>);

impl CallerKey {
    fn parts(&self) -> impl Hash + PartialEq {
        let Caller { principal, groups, presets, effect, .. } = &*self.0;
        (principal, groups, presets, effect)
    }
}

impl Hash for CallerKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

impl PartialEq for CallerKey {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for CallerKey {}

impl Default for AccessRules {
    fn default() -> Self {
        Self::new(false, Vec::new())
    }
}

impl fmt::Debug for AccessRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { enforced, rules, .. } = self;
        f.debug_struct("AccessRules")
            .field("enforced", enforced)
            .field("rules", &rules.len())
            .finish_non_exhaustive()
    }
}

impl AccessRules {
    /// Compiles the rules of a host with `[auth]`.
    pub fn compile(rules: Vec<AccessRule>) -> Result<Self, AccessRuleError> {
        let rules = rules.into_iter().enumerate();
        let rules = rules.map(|(number, rule)| CompiledAccessRule::new(number, rule).map(Arc::new));
        Ok(Self::new(true, rules.collect::<Result<_, _>>()?))
    }

    fn new(enforced: bool, rules: Vec<Arc<CompiledAccessRule>>) -> Self {
        Self {
            enforced,
            rules,
            callers: Mutex::new(RecentMap::new(MAX_REMEMBERED_CALLERS)),
            shared: Mutex::new(RecentMap::new(MAX_REMEMBERED_CALLERS)),
            matched: AtomicU64::new(0),
        }
    }

    /// Returns true if callers can be limited, so that names of presets and tools are not public.
    pub fn are_enforced(&self) -> bool {
        self.enforced
    }

    /// Returns the access of a caller. Callers with the same rules and limits share it.
    pub fn access_of(&self, caller: &Arc<Caller>) -> Arc<CallerAccess> {
        let key = CallerKey(Arc::clone(caller));
        if let Some(known) = lock(&self.callers).get(&key) {
            return known;
        }
        let access = self.match_caller(caller);
        lock(&self.callers).insert(key, Arc::clone(&access));
        access
    }

    fn match_caller(&self, caller: &Caller) -> Arc<CallerAccess> {
        self.matched.fetch_add(1, Ordering::Relaxed);
        // The local user started the host, and can change its rules.
        let limited = self.enforced && caller.principal != Principal::Local;
        let access = if limited {
            let caller_rules = self.rules.iter().filter(|rule| rule.concerns(caller)).map(Arc::clone);
            let rules = (!self.rules.is_empty()).then(|| caller_rules.collect());
            CallerAccess::new(rules, caller.effect, caller.presets.as_deref())
        } else {
            CallerAccess::new(None, None, None)
        };
        let mut shared = lock(&self.shared);
        let key = access.key();
        if let Some(existing) = shared.get(&key) {
            return existing;
        }
        let access = Arc::new(access);
        shared.insert(key, Arc::clone(&access));
        access
    }
}

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

/// Everything that makes two accesses equal: the numbers of its rules, the effect and the presets.
#[derive(PartialEq, Eq, Hash)]
struct AccessKey {
    rules: Option<Vec<usize>>,
    effect: Option<Effect>,
    presets: Option<Vec<Arc<str>>>,
}

impl CallerAccess {
    fn new(
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

    fn key(&self) -> AccessKey {
        let rules = self.rules.as_ref().map(|rules| rules.iter().map(|rule| rule.number).collect());
        AccessKey { rules, effect: self.effect, presets: self.presets.clone() }
    }

    /// Whether a rule makes the caller an operator of the host. A credential for some presets does not count.
    pub fn is_admin(&self) -> bool {
        self.presets.is_none() && self.rules.iter().flatten().any(|rule| rule.admin)
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
        let is_named =
            self.presets.as_ref().is_none_or(|presets| presets.iter().any(|name| **name == *preset));
        let has_tools = |rule: &Arc<CompiledAccessRule>| rule.has_tools() && rule.covers_preset(preset);
        is_named && self.rules.as_ref().is_none_or(|rules| rules.iter().any(has_tools))
    }

    /// Returns the access within one preset. It allows nothing if the caller may not open it.
    pub fn in_preset(&self, preset: &str) -> PresetAccess {
        let rules = if self.opens_preset(preset) {
            let covering = |rules: &Vec<Arc<CompiledAccessRule>>| {
                rules.iter().filter(|rule| rule.covers_preset(preset)).cloned().collect()
            };
            self.rules.as_ref().map(covering)
        } else {
            Some(Vec::new())
        };
        PresetAccess { rules, effect: self.effect }
    }
}

#[cfg(test)]
mod tests;
