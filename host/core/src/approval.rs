//! Which calls a person has to approve, and what was approved.
//!
//! A preset says it in rules, which are looked up once for each tool when a catalog is built. The stage
//! [`Approve`](crate::pipeline::Approve) asks. An approval holds for one call of a client and what that causes, for a session, or
//! for a time; of a tool that may destroy something it holds for the same arguments alone. It holds for the definition of the
//! tool that the person was asked about: a tool that its source redefines is asked about again.

use std::{
    cmp::Ordering,
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::Value;
use tokio::time::Instant;

use crate::{
    call::Principal, catalog::ToolEntry, definition::Definition, effect::Effect, hash::sha256_hex, lock,
    patterns::PatternList, preset::CompiledPreset, tool::ToolId,
};

/// Tools that rules about an effect leave out where they do not say which: each tool that these call is checked on its own.
pub const DEFAULT_EXCEPTIONS: [&str; 4] =
    ["gate:proxy.call_tool", "gate:proxy.request", "gate:script.run_code", "gate:script.run_script"];

/// The longest that an approval holds beyond its session: a working day.
pub const MAX_APPROVAL_TIME: Duration = Duration::from_secs(8 * 3_600);

/// Approvals that are kept in one place. Where there are more, the one that is kept longest is forgotten, and asked for again.
const MAX_STORED_APPROVALS: usize = 1_000;

/// How long an approval holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ApprovalScope {
    /// For the client's call and those that it causes.
    #[default]
    Call,
    /// Until the client's session ends.
    Session,
    /// For so long, also in other sessions of the same principal.
    For(Duration),
}

impl fmt::Display for ApprovalScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call => f.write_str("each call"),
            Self::Session => f.write_str("once a session"),
            Self::For(time) => write!(f, "once in {} minutes", time.as_secs().div_ceil(60)),
        }
    }
}

impl ApprovalScope {
    /// Shorter before longer. A session may outlive any time.
    fn order(self) -> (u8, Duration) {
        match self {
            Self::Call => (0, Duration::ZERO),
            Self::For(time) => (1, time),
            Self::Session => (2, Duration::ZERO),
        }
    }
}

impl PartialOrd for ApprovalScope {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ApprovalScope {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

/// A rule as a preset declares it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ApprovalRule {
    /// Globs over tools: the name that clients see, `source.tool`, or that with the kind of the source before it.
    pub tools: Vec<String>,
    /// Tools with this effect or a stronger one.
    pub effect: Option<Effect>,
    /// Globs over tools that `effect` leaves out; none for [`DEFAULT_EXCEPTIONS`].
    pub except: Option<Vec<String>>,
    /// How long an approval holds.
    pub remember: ApprovalScope,
}

/// The same, compiled.
#[derive(Debug, Clone)]
pub(crate) struct CompiledApprovalRule {
    pub(crate) tools: PatternList,
    pub(crate) effect: Option<Effect>,
    pub(crate) except: PatternList,
    /// True if the preset does not list exceptions itself.
    pub(crate) except_is_default: bool,
    pub(crate) remember: ApprovalScope,
}

impl CompiledApprovalRule {
    fn matches(&self, entry: &ToolEntry, names: &[String]) -> bool {
        // As declared: what a preset says of a tool does not change what it does.
        let strong = self.effect.is_some_and(|effect| entry.declared.effect >= effect);
        self.tools.matches_any(names) || (strong && !self.except.matches_any(names))
    }
}

/// How long approvals of a tool hold; none where it needs none. Where several rules are about it, the shortest memory holds.
pub(crate) fn required_scope(exposure: &CompiledPreset, entry: &ToolEntry) -> Option<ApprovalScope> {
    if exposure.approvals.is_empty() {
        return None;
    }
    let names = names(entry);
    exposure.approvals.iter().filter(|rule| rule.matches(entry, &names)).map(|rule| rule.remember).min()
}

/// Names that a pattern of a rule can match for a tool. A tool that the preset renames keeps its first name here.
pub(crate) fn names(entry: &ToolEntry) -> Vec<String> {
    let first = entry.id.source.exposed_name(&entry.id.name).map(|name| name.to_string());
    entry.names().into_iter().chain(first).collect()
}

/// What tools need, by tool. A rule about one of its names holds for all of them.
pub(crate) type RequiredApprovals = HashMap<ToolId, ApprovalScope>;

/// Notes of each tool whether it has to be approved, and gives the same by tool.
pub(crate) fn attach(exposure: &CompiledPreset, entries: &mut [ToolEntry]) -> RequiredApprovals {
    let mut all = RequiredApprovals::new();
    for entry in &*entries {
        if let Some(found) = required_scope(exposure, entry) {
            all.entry(entry.id.clone()).and_modify(|known| *known = found.min(*known)).or_insert(found);
        }
    }
    entries.iter_mut().for_each(|entry| entry.approval = all.get(&entry.id).copied());
    all
}

/// What exactly was approved.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ApprovalKey {
    principal: Principal,
    preset: Arc<str>,
    tool: ToolId,
    /// Digest of the tool's definition.
    definition: String,
    /// The digest of the arguments; none where it holds for any.
    arguments: Option<String>,
}

impl ApprovalKey {
    /// Of a call of this tool with these arguments, those that the preset fixes among them. What destroys nothing is approved
    /// with any arguments, unless the approval is for one call: its arguments are what the person was shown.
    pub(crate) fn new(
        principal: &Principal,
        preset: &Arc<str>,
        entry: &ToolEntry,
        remembered: ApprovalScope,
        arguments: &Value,
    ) -> Self {
        let any = !entry.declared.is_destructive() && remembered != ApprovalScope::Call;
        Self {
            principal: principal.clone(),
            preset: Arc::clone(preset),
            tool: entry.id.clone(),
            definition: Definition::from_tool(&entry.declared).digest,
            arguments: (!any).then(|| sha256_hex(arguments.to_string())),
        }
    }

    /// Whether it holds for these arguments alone.
    pub(crate) fn is_bound_to_arguments(&self) -> bool {
        self.arguments.is_some()
    }
}

/// What was approved in one place: a call, a session, or a host.
#[derive(Debug, Default)]
pub struct ApprovalStore(Mutex<HashMap<ApprovalKey, (Instant, Option<Duration>)>>);

impl ApprovalStore {
    /// Whether this was approved, and that still holds.
    pub(crate) fn is_approved(&self, approval: &ApprovalKey) -> bool {
        let mut kept = lock(&self.0);
        let Some((since, time)) = kept.get(approval) else { return false };
        let holds = time.is_none_or(|time| since.elapsed() < time);
        if !holds {
            kept.remove(approval);
        }
        holds
    }

    /// Keeps an approval, for so long where a time is given.
    pub(crate) fn add(&self, approval: ApprovalKey, time: Option<Duration>) {
        let mut kept = lock(&self.0);
        if kept.len() >= MAX_STORED_APPROVALS {
            let oldest = kept.iter().min_by_key(|(_, (since, _))| *since).map(|(oldest, _)| oldest.clone());
            oldest.map(|oldest| kept.remove(&oldest));
        }
        kept.insert(approval, (Instant::now(), time));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approval(tool: &str) -> ApprovalKey {
        let tool = ToolId { source: crate::SourceId::Gate("g".into()), name: tool.into() };
        let definition = String::new();
        ApprovalKey { principal: Principal::Local, preset: "p".into(), tool, definition, arguments: None }
    }

    #[tokio::test(start_paused = true)]
    async fn an_approval_holds_for_its_time_and_the_oldest_is_forgotten_first() {
        let approvals = ApprovalStore::default();
        approvals.add(approval("a"), Some(Duration::from_secs(60)));
        approvals.add(approval("b"), None);
        tokio::time::advance(Duration::from_secs(59)).await;
        assert!(approvals.is_approved(&approval("a")) && approvals.is_approved(&approval("b")));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(!approvals.is_approved(&approval("a")) && approvals.is_approved(&approval("b")));
        for number in 0..MAX_STORED_APPROVALS {
            tokio::time::advance(Duration::from_millis(1)).await;
            approvals.add(approval(&number.to_string()), None);
        }
        assert!(!approvals.is_approved(&approval("b")), "it was the oldest");
        assert!(approvals.is_approved(&approval("0")) && approvals.is_approved(&approval("999")));
        assert_eq!(lock(&approvals.0).len(), MAX_STORED_APPROVALS);
    }

    #[test]
    fn of_several_memories_the_shortest_holds() {
        let (short, long) = (Duration::from_secs(1), Duration::from_secs(2));
        let mut all = [
            ApprovalScope::Session,
            ApprovalScope::For(long),
            ApprovalScope::Call,
            ApprovalScope::For(short),
        ];
        all.sort();
        let expected = [
            ApprovalScope::Call,
            ApprovalScope::For(short),
            ApprovalScope::For(long),
            ApprovalScope::Session,
        ];
        assert_eq!(all, expected);
    }
}
