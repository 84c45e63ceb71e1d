//! Patterns over callers, as `who` of access rules and quotas lists them.
//!
//! `group:NAME` matches a caller of that group. Every other pattern matches the principal's name, never a group, so a
//! name from an issuer cannot pass as a group.

use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::{Caller, patterns::PatternError};

/// Prefix of patterns over groups.
const GROUP_PREFIX: &str = "group:";

/// A list of patterns. A caller matches it if it matches any of them.
#[derive(Debug, Clone, Default)]
pub struct CallerPatterns {
    groups: GlobSet,
    principals: GlobSet,
    entries: Vec<String>,
}

impl CallerPatterns {
    pub fn new(entries: Vec<String>) -> Result<Self, PatternError> {
        let (mut groups, mut principals) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for entry in &entries {
            let bad = |reason: String| PatternError { pattern: entry.clone(), reason };
            let (set, glob) = match entry.strip_prefix(GROUP_PREFIX) {
                Some(group) => (&mut groups, group),
                None => (&mut principals, entry.as_str()),
            };
            if glob.is_empty() {
                return Err(bad("expected `group:NAME` or the name of a principal".to_owned()));
            }
            set.add(Glob::new(glob).map_err(|error| bad(error.kind().to_string()))?);
        }
        let built = |set: GlobSetBuilder| {
            let bad = |error: globset::Error| PatternError::new(&entries.join(", "), &error);
            set.build().map_err(bad)
        };
        Ok(Self { groups: built(groups)?, principals: built(principals)?, entries })
    }

    /// Whether any pattern matches the caller. An empty list matches no caller.
    pub fn matches(&self, caller: &Caller) -> bool {
        self.principals.is_match(caller.principal.as_str())
            || caller.groups.iter().any(|group| self.groups.is_match(&**group))
    }

    /// Returns the patterns as written.
    pub fn entries(&self) -> &[String] {
        &self.entries
    }
}

impl PartialEq for CallerPatterns {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl Eq for CallerPatterns {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Principal;

    fn caller(name: &str, groups: &[&str]) -> Caller {
        let principal = Principal::Named(name.into());
        Caller {
            groups: groups.iter().map(|group| (*group).into()).collect(),
            ..Caller::new(principal, "none")
        }
    }

    #[test]
    fn a_pattern_matches_a_group_or_a_name_and_never_the_other() {
        let who = |entries: &[&str]| {
            CallerPatterns::new(entries.iter().map(|entry| (*entry).to_owned()).collect()).expect("patterns")
        };
        let dev = who(&["group:dev", "key:ci-*"]);
        assert!(dev.matches(&caller("okta:ann", &["ops", "dev"])));
        assert!(dev.matches(&caller("key:ci-1", &[])));
        assert!(!dev.matches(&caller("key:bob", &["devs"])));
        assert!(!dev.matches(&caller("group:dev", &[])), "a name that looks like a group");
        assert!(!dev.matches(&caller("dev", &["group:dev"])));
        assert!(who(&["*"]).matches(&caller("https://id.example/a:b/c", &[])));
        assert!(!who(&["group:*"]).matches(&caller("key:bob", &[])), "no group at all");
        assert!(who(&["local"]).matches(&Caller::local()) && who(&["*"]).matches(&Caller::local()));
        assert!(!who(&[]).matches(&Caller::local()));
    }

    #[test]
    fn an_invalid_pattern_is_named() {
        let bad = |entry: &str| CallerPatterns::new(vec![entry.into()]).expect_err("refused").to_string();
        assert!(bad("key:[").starts_with("invalid pattern 'key:[': "), "{}", bad("key:["));
        assert!(bad("group:").contains("expected `group:NAME`"));
        assert!(bad("").contains("expected `group:NAME`"));
    }
}
