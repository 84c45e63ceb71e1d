//! Glob patterns in a preset's lists, and detection of those that match nothing.
//!
//! A pattern without matches is usually a typo. In `deny` and `approve` a typo exposes tools, so the host warns about
//! it.

use globset::{Glob, GlobMatcher, GlobSet, GlobSetBuilder};

use crate::{CompiledPreset, ToolEntry, filters::DEFAULT_TARGETS, util::enum_words};

/// A pattern that is not a glob.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid pattern '{pattern}': {reason}")]
pub struct PatternError {
    pub pattern: String,
    pub reason: String,
}

impl PatternError {
    pub(crate) fn new(pattern: &str, error: &globset::Error) -> Self {
        Self { pattern: pattern.to_owned(), reason: error.kind().to_string() }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct PatternList {
    set: GlobSet,
    entries: Vec<String>,
}

impl PatternList {
    pub(crate) fn new(entries: Vec<String>) -> Result<Self, PatternError> {
        let mut set = GlobSetBuilder::new();
        for entry in &entries {
            set.add(Glob::new(entry).map_err(|error| PatternError::new(entry, &error))?);
        }
        let set = set.build().map_err(|error| PatternError::new(&entries.join(", "), &error))?;
        Ok(Self { set, entries })
    }

    pub(crate) fn patterns(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(String::as_str)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn matches_any(&self, names: &[String]) -> bool {
        names.iter().any(|name| self.set.is_match(name))
    }

    pub(crate) fn first_match(&self, name: &str) -> Option<&str> {
        self.set.matches(name).first().and_then(|index| self.entries.get(*index)).map(String::as_str)
    }

    pub(crate) fn unmatched(&self, names: &[String]) -> Vec<&str> {
        let mut unmatched: Vec<bool> = vec![true; self.entries.len()];
        for index in names.iter().flat_map(|name| self.set.matches(name)) {
            unmatched[index] = false;
        }
        let entries = self.entries.iter().zip(unmatched);
        entries.filter(|(_, unmatched)| *unmatched).map(|(entry, _)| entry.as_str()).collect()
    }
}

/// Lists of a preset with patterns over tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolList {
    Deny,
    Listed,
    Pinned,
    ApproveTools,
    ApproveExcept,
    Filters,
}

// The words are the keys in presets.toml.
enum_words! { ToolList {
    Deny: "deny", Listed: "listed", Pinned: "pinned", ApproveTools: "approve.tools", ApproveExcept: "approve.except",
    Filters: "filters"
} }

impl ToolList {
    /// Returns the names of a tool that this list's patterns can match.
    fn names(self, entry: &ToolEntry) -> Vec<String> {
        match self {
            Self::Deny => std::iter::once(entry.name.to_string()).chain(entry.id.whole_name()).collect(),
            Self::Listed | Self::Pinned | Self::ApproveTools | Self::ApproveExcept | Self::Filters => {
                entry.pattern_names()
            }
        }
    }
}

/// A pattern that matches no tool of its preset.
#[derive(Debug, Clone)]
pub struct UnmatchedPattern {
    pub list: ToolList,
    pub pattern: String,
    matcher: GlobMatcher,
}

impl UnmatchedPattern {
    pub(crate) fn matches(&self, entry: &ToolEntry) -> bool {
        self.list.names(entry).iter().any(|name| self.matcher.is_match(name))
    }

    /// Returns true if a tool of this server could match, listed or not. May be wrong for a pattern that cannot match,
    /// because only the text before the first wildcard counts.
    pub fn may_match_tools_of(&self, server: &str) -> bool {
        match self.list {
            ToolList::Deny => may_begin_with(&self.pattern, &format!("{server}__")),
            _ => may_match_tools_of(&self.pattern, server),
        }
    }
}

/// Returns true if a pattern could match a tool of this server by any of its names. Only the text before the first
/// wildcard counts.
pub fn may_match_tools_of(pattern: &str, server: &str) -> bool {
    let prefixes = [format!("{server}__"), format!("{server}."), format!("server:{server}.")];
    prefixes.iter().any(|prefix| may_begin_with(pattern, prefix))
}

/// Returns true if a pattern could match a name with this beginning.
fn may_begin_with(pattern: &str, prefix: &str) -> bool {
    let fixed = pattern.split(['*', '?', '[', '{', '\\']).next().unwrap_or_default();
    let exact = fixed.len() == pattern.len();
    fixed.starts_with(prefix) || (!exact && prefix.starts_with(fixed))
}

impl CompiledPreset {
    fn tool_lists(&self) -> impl Iterator<Item = (ToolList, &PatternList)> {
        let approvals = self.approvals.iter().flat_map(|rule| {
            let except = Some((ToolList::ApproveExcept, &rule.except)).filter(|_| !rule.except_is_default);
            [(ToolList::ApproveTools, &rule.tools)].into_iter().chain(except)
        });
        let listed = self.listed.iter().map(|listed| (ToolList::Listed, listed));
        let filters = self.filters.values().map(|patterns| (ToolList::Filters, patterns));
        [(ToolList::Deny, &self.deny), (ToolList::Pinned, &self.pinned)]
            .into_iter()
            .chain(listed)
            .chain(approvals)
            .chain(filters)
    }

    pub fn has_pattern(&self, list: ToolList, pattern: &str) -> bool {
        self.tool_lists().any(|(candidate, patterns)| {
            candidate == list && patterns.entries.iter().any(|entry| entry == pattern)
        })
    }

    /// Returns the patterns that match no entry; `entries` include the tools that the preset denies.
    ///
    /// Aliases and both names of renamed or hidden tools count, because a server may not list them yet.
    pub(crate) fn unmatched(&self, entries: &[ToolEntry]) -> Vec<UnmatchedPattern> {
        let changed = self.tools.iter().flat_map(|(name, change)| [Some(name), change.name.as_ref()]);
        let declared: Vec<String> = changed.flatten().chain(self.aliases.keys()).cloned().collect();
        let mut unmatched_patterns = Vec::new();
        for (list, patterns) in self.tool_lists() {
            let mut names = declared.clone();
            names.extend(entries.iter().flat_map(|entry| list.names(entry)));
            // The default patterns of filters are for tools that not every preset has.
            let is_default = |pattern: &&str| list == ToolList::Filters && DEFAULT_TARGETS.contains(pattern);
            let unmatched = patterns.unmatched(&names).into_iter().filter(|pattern| !is_default(pattern));
            let unmatched = unmatched.filter_map(|pattern| {
                // It compiled before, so this cannot fail.
                let matcher = Glob::new(pattern).ok()?.compile_matcher();
                Some(UnmatchedPattern { list, pattern: pattern.to_owned(), matcher })
            });
            unmatched_patterns.extend(unmatched);
        }
        unmatched_patterns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Catalog, Preset, SourceId, approval,
        testing::{Fixture, tool},
    };

    async fn unmatched(preset: Preset) -> Vec<(ToolList, String)> {
        let gate = SourceId::Gate("kg".into());
        let preset = Preset { sources: vec![(gate.clone(), serde_json::Map::new())], ..preset };
        let presets = [("p".to_owned(), preset)].into();
        let preset = CompiledPreset::compile(&presets, "p").expect("compiles");
        let source = Fixture::new(gate, ["kg_edit", "ask"].map(|name| tool(name, None)).into());
        let catalog = Catalog::build(&preset, vec![source.listed().await]).expect("a catalog");
        catalog.unmatched.into_iter().map(|found| (found.list, found.pattern)).collect()
    }

    #[tokio::test]
    async fn each_list_reports_patterns_that_match_none_of_its_names() {
        let lines = |patterns: &[&str]| patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        let rule = approval::ApprovalRule {
            tools: lines(&["kg.kg_edit", "fs__*"]),
            except: Some(lines(&["gate:kg.*", "nothing"])),
            ..approval::ApprovalRule::default()
        };
        let preset = Preset {
            // Deny patterns are compared with the exposed name only.
            deny: lines(&["kg_*", "kgg_*", "kg.kg_edit", "other"]),
            listed: Some(lines(&["gate:kg.ask", "asks"])),
            aliases: [("other".to_owned(), "ask".to_owned())].into(),
            approve: vec![rule],
            ..Preset::default()
        };
        let expected = [
            (ToolList::Deny, "kgg_*"),
            (ToolList::Deny, "kg.kg_edit"),
            (ToolList::Listed, "asks"),
            (ToolList::ApproveTools, "fs__*"),
            (ToolList::ApproveExcept, "nothing"),
        ];
        assert_eq!(unmatched(preset).await, expected.map(|(list, pattern)| (list, pattern.to_owned())));
        let default = Preset { approve: vec![approval::ApprovalRule::default()], ..Preset::default() };
        assert_eq!(unmatched(default).await, [], "exceptions that the preset does not state");
    }

    #[test]
    fn pattern_may_match_tools_a_server_could_list() {
        let may = |list, pattern: &str| {
            let matcher = Glob::new(pattern).expect("a glob").compile_matcher();
            UnmatchedPattern { list, pattern: pattern.into(), matcher }.may_match_tools_of("git")
        };
        for pattern in ["git__*", "git__push", "*delete*", "g*", "[a-z]*", "gi?__x"] {
            assert!(may(ToolList::Deny, pattern), "{pattern}");
        }
        for pattern in ["git", "kgg_*", "gitt__*", "git.push", "server:git.*"] {
            assert!(!may(ToolList::Deny, pattern), "{pattern}");
        }
        assert!(may(ToolList::Listed, "server:git.*") && may(ToolList::ApproveTools, "git.push"));
    }
}
