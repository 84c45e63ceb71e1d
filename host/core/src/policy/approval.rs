//! Rules about which calls a user must approve, and stored approvals.
//!
//! Rules are matched once per tool, when a catalog is built; the stage [`ApproveStage`](crate::pipeline::ApproveStage)
//! asks the user. An approval is bound to the tool's definition, and for destructive tools to the arguments.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::Value;
use tokio::time::Instant;

use crate::{
    CompiledPreset, Effect, Principal, ToolEntry, ToolId, definition::ReviewedDefinition, hash::sha256_hex,
    lock, patterns::PatternList,
};

/// Tools exempt from effect rules without `except`: each tool that these call is checked by itself.
pub const DEFAULT_EXCEPTIONS: [&str; 4] =
    ["gate:proxy.call_tool", "gate:proxy.request", "gate:script.run_code", "gate:script.run_script"];

/// Maximum [`ApprovalScope::For`]: a working day.
pub const MAX_APPROVAL_TIME: Duration = Duration::from_secs(8 * 3_600);

/// Maximum approvals in one store; the oldest are dropped, so the user is asked again.
const MAX_STORED_APPROVALS: usize = 1_000;

/// How long an approval lasts, shortest first. A session may last longer than any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum ApprovalScope {
    /// The client's call and its nested calls.
    #[default]
    Call,
    /// This long, in any session of the same principal.
    For(Duration),
    Session,
}

impl fmt::Display for ApprovalScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call => f.write_str("each call"),
            Self::Session => f.write_str("once per session"),
            Self::For(time) => write!(f, "once every {} minutes", time.as_secs().div_ceil(60)),
        }
    }
}

/// A rule as a preset declares it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ApprovalRule {
    /// Globs over tools: the exposed name, `source.tool` or `kind:source.tool`.
    pub tools: Vec<String>,
    /// Also matches tools with this effect or a stronger one.
    pub effect: Option<Effect>,
    /// Globs over tools that `effect` skips. `None` means [`DEFAULT_EXCEPTIONS`].
    pub except: Option<Vec<String>>,
    pub remember: ApprovalScope,
}

#[derive(Debug, Clone)]
pub(crate) struct CompiledApprovalRule {
    pub(crate) tools: PatternList,
    pub(crate) effect: Option<Effect>,
    pub(crate) except: PatternList,
    pub(crate) except_is_default: bool,
    pub(crate) remember: ApprovalScope,
}

impl CompiledApprovalRule {
    fn matches(&self, entry: &ToolEntry, names: &[String]) -> bool {
        // A preset's override of the effect does not change what the tool does.
        let strong = self.effect.is_some_and(|effect| entry.declared.effect >= effect);
        self.tools.matches_any(names) || (strong && !self.except.matches_any(names))
    }
}

/// Returns the shortest scope of the rules that match. `None` if the tool needs no approval.
pub(crate) fn required_scope(preset: &CompiledPreset, entry: &ToolEntry) -> Option<ApprovalScope> {
    if preset.approvals.is_empty() {
        return None;
    }
    let names = entry.pattern_names();
    preset.approvals.iter().filter(|rule| rule.matches(entry, &names)).map(|rule| rule.remember).min()
}

/// Required approvals by tool. A rule about one of its names applies to all of them.
pub(crate) type RequiredApprovals = HashMap<ToolId, ApprovalScope>;

/// Sets `approval` on each entry and returns the same data by tool.
pub(crate) fn attach(preset: &CompiledPreset, entries: &mut [ToolEntry]) -> RequiredApprovals {
    let mut approvals = RequiredApprovals::new();
    for entry in &*entries {
        if let Some(scope) = required_scope(preset, entry) {
            approvals
                .entry(entry.id.clone())
                .and_modify(|current| *current = scope.min(*current))
                .or_insert(scope);
        }
    }
    entries.iter_mut().for_each(|entry| entry.approval = approvals.get(&entry.id).copied());
    approvals
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ApprovalKey {
    principal: Principal,
    preset: Arc<str>,
    tool: ToolId,
    definition: String,
    /// Digest of the arguments. `None` covers any.
    pub(crate) arguments: Option<String>,
}

impl ApprovalKey {
    /// Creates the key for a call; `arguments` include the preset's fixed ones.
    ///
    /// The arguments count for destructive tools, and for approvals of one call, since the user was shown them.
    pub(crate) fn new(
        principal: &Principal,
        preset: &Arc<str>,
        entry: &ToolEntry,
        scope: ApprovalScope,
        arguments: &Value,
    ) -> Self {
        let any = !entry.declared.is_destructive() && scope != ApprovalScope::Call;
        Self {
            principal: principal.clone(),
            preset: Arc::clone(preset),
            tool: entry.id.clone(),
            definition: ReviewedDefinition::from_tool(&entry.declared).digest,
            arguments: (!any).then(|| sha256_hex(arguments.to_string())),
        }
    }
}

/// Approvals of a call, a session or a host.
#[derive(Debug, Default)]
pub struct ApprovalStore(Mutex<HashMap<ApprovalKey, (Instant, Option<Duration>)>>);

impl ApprovalStore {
    pub(crate) fn is_approved(&self, approval: &ApprovalKey) -> bool {
        let mut stored = lock(&self.0);
        let Some((since, time)) = stored.get(approval) else { return false };
        let holds = time.is_none_or(|time| since.elapsed() < time);
        if !holds {
            stored.remove(approval);
        }
        holds
    }

    pub(crate) fn add(&self, approval: ApprovalKey, time: Option<Duration>) {
        let mut stored = lock(&self.0);
        if stored.len() >= MAX_STORED_APPROVALS {
            let oldest = stored.iter().min_by_key(|(_, (since, _))| *since).map(|(oldest, _)| oldest.clone());
            oldest.map(|oldest| stored.remove(&oldest));
        }
        stored.insert(approval, (Instant::now(), time));
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
    async fn approval_expires_and_the_oldest_is_dropped_first() {
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
    fn scopes_are_ordered_by_length() {
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
