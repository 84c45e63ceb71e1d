//! Effects that a person declares for tools of a server, and effects that their names suggest.

use std::str::FromStr;

use super::patterns::PatternList;
use crate::{Effect, ToolSpec, names::split_identifier};

/// An effect for the tools that some globs match, as in `find_*,list_tags=read-only`.
#[derive(Debug, Clone)]
pub struct EffectRule {
    patterns: PatternList,
    pub effect: Effect,
}

impl FromStr for EffectRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let effects = || Effect::ALL.map(Effect::as_str).join(", ");
        let (names, effect) = text.rsplit_once('=').ok_or_else(|| {
            format!("expected GLOB=EFFECT, such as `find_*=read-only`; effects: {}", effects())
        })?;
        let effect = Effect::ALL
            .into_iter()
            .find(|candidate| candidate.as_str() == effect.trim())
            .ok_or_else(|| format!("unknown effect `{}`: expected one of {}", effect.trim(), effects()))?;
        let globs: Vec<String> = names.split(',').map(|glob| glob.trim().to_owned()).collect();
        if globs.iter().any(String::is_empty) {
            return Err("a name before `=` is empty: write `find_*=read-only`".into());
        }
        let patterns = PatternList::new(globs).map_err(|error| error.to_string())?;
        Ok(Self { patterns, effect })
    }
}

impl EffectRule {
    pub fn matches(&self, tool: &str) -> bool {
        self.patterns.first_match(tool).is_some()
    }

    /// Returns the globs that match none of these tools.
    pub fn unmatched(&self, tools: &[String]) -> Vec<&str> {
        self.patterns.unmatched(tools)
    }
}

/// First words of names of tools that read.
const READ_VERBS: &str = "\
    get list read find search show describe lookup view browse retrieve summarize count stat tree diff compare inspect \
    preview fetch head tail grep glob";

/// First words of names of tools that change something without running it.
const WRITE_VERBS: &str = "\
    create add set update edit write append insert save rename move copy delete remove label tag comment assign mark \
    archive close reopen pin upsert put store";

/// Words of descriptions that a name does not excuse.
const STRONGER_WORDS: &str = "\
    execute executes run runs shell command eval script deploy send sends delete deletes remove removes write writes \
    create creates update updates modify modifies overwrite overwrites install installs kill restart pay purchase";

/// Returns the effect that a tool's name suggests. `None` if its first word says nothing, or if its description speaks of
/// more. A suggestion is for a person to judge, because the server chose both.
pub fn suggested_effect(spec: &ToolSpec) -> Option<Effect> {
    let name = split_identifier(&spec.name).to_lowercase();
    let verb = name.split(' ').next()?;
    let lists = |list: &str, word: &str| list.split_whitespace().any(|entry| entry == word);
    if lists(WRITE_VERBS, verb) {
        return Some(Effect::Mutating);
    }
    let description = spec.description.to_lowercase();
    let mut words = description.split(|c: char| !c.is_alphanumeric());
    let speaks_of_more = words.any(|word| lists(STRONGER_WORDS, word));
    (lists(READ_VERBS, verb) && !speaks_of_more).then_some(Effect::ReadOnly)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_name_what_is_wrong_with_them() {
        let rule: EffectRule = "find_*, list_tags=read-only".parse().unwrap();
        assert!(rule.matches("find_note") && rule.matches("list_tags") && !rule.matches("list_notes"));
        assert_eq!(rule.unmatched(&["find_x".to_owned()]), ["list_tags"]);
        for (text, expected) in [
            ("find_*", "expected GLOB=EFFECT"),
            ("find_*=readonly", "unknown effect `readonly`: expected one of read-only, mutating"),
            ("=mutating", "is empty"),
            ("a[=mutating", "invalid pattern 'a['"),
        ] {
            let error = text.parse::<EffectRule>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn names_suggest_an_effect_unless_the_description_speaks_of_more() {
        for (name, description, expected) in [
            ("list_pages", "Lists pages.", Some(Effect::ReadOnly)),
            ("getIssue", "Returns an issue with its comments.", Some(Effect::ReadOnly)),
            ("get_output", "Runs a command and returns its output.", None),
            ("search-and-replace", "Deletes all matches.", None),
            ("createIssue", "Opens an issue.", Some(Effect::Mutating)),
            ("query", "Executes SQL.", None),
            ("send_mail", "Sends a mail.", None),
            ("", "", None),
        ] {
            assert_eq!(suggested_effect(&ToolSpec::new(name, description)), expected, "{name}");
        }
    }
}
