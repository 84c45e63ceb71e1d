//! Regular expressions of schemas, with counted search steps.
//!
//! Pattern and text are untrusted, so each search must end in bounded time. The pattern is compiled to an automaton of
//! bounded size. If its DFA is small, each byte takes one table lookup. Otherwise an NFA simulation follows all states:
//! `[ab]*a[ab]{1900}c` takes up to 1,900 steps per byte. The search can stop at any byte. Look-around and
//! back-references do not allow linear search, so they are not supported.

use regex_automata::{
    Input,
    dfa::{Automaton, StartKind, dense},
    nfa::thompson::{self, NFA, State, WhichCaptures},
    util::{primitives::StateID, syntax},
};

use super::{CheckInterrupt, StepBudget};
use crate::{InvalidValue, names::quoted};

const MAX_AUTOMATON_BYTES: usize = 256 << 10;

/// Maximum bytes of a DFA, and of memory for its construction.
const MAX_TABLE_BYTES: usize = 32 << 10;

/// A compiled pattern. As in JSON Schema, it may match any part of the text.
#[derive(Debug)]
pub(super) struct SchemaPattern {
    source: Box<str>,
    nfa: NFA,
    dfa: Option<dense::DFA<Vec<u32>>>,
}

impl SchemaPattern {
    /// Compiles an ECMA-262 expression. The error describes the fault.
    pub(super) fn new(source: &str) -> Result<Self, InvalidValue> {
        let wrong = |reason: &str| {
            InvalidValue::from(format!("has the pattern '{}', which {reason}", quoted(source, 80)))
        };
        let translated = jsonschema_regex::to_rust_regex(source)
            .map_err(|()| wrong("is not a regular expression, or uses look-around or back-references"))?;
        let config = thompson::Config::new()
            .nfa_size_limit(Some(MAX_AUTOMATON_BYTES))
            .which_captures(WhichCaptures::None);
        let nfa = thompson::Compiler::new()
            .configure(config)
            .syntax(syntax::Config::new().nest_limit(64))
            .build(&translated);
        let nfa = nfa.map_err(|error| match error.size_limit() {
            Some(_) => wrong(&format!("compiles to more than {MAX_AUTOMATON_BYTES} bytes")),
            None => wrong("is not a regular expression, or uses look-around or back-references"),
        })?;
        let config = dense::Config::new()
            .start_kind(StartKind::Unanchored)
            .dfa_size_limit(Some(MAX_TABLE_BYTES))
            .determinize_size_limit(Some(MAX_TABLE_BYTES));
        let dfa = dense::Builder::new().configure(config).build_from_nfa(&nfa).ok();
        Ok(Self { source: source.into(), nfa, dfa })
    }

    pub(super) fn source(&self) -> &str {
        &self.source
    }

    pub(super) fn bytes(&self) -> usize {
        self.nfa.memory_usage() + self.dfa.as_ref().map_or(0, dense::DFA::memory_usage)
    }

    pub(super) fn is_match(&self, text: &str, steps: &mut StepBudget<'_>) -> Result<bool, CheckInterrupt> {
        if let Some(dfa) = &self.dfa {
            steps.spend(1 + text.len() as u64 / 4)?;
            // The DFA gives up at non-ASCII bytes if the pattern has Unicode word boundaries.
            if let Ok(found) = dfa.try_search_fwd(&Input::new(text).earliest(true)) {
                return Ok(found.is_some());
            }
        }
        NfaSearch { nfa: &self.nfa, seen: vec![0; self.nfa.states().len()], turn: 0, steps }
            .run(text.as_bytes())
    }
}

/// A simulation that follows all NFA states in parallel.
struct NfaSearch<'p, 'e, 'a> {
    nfa: &'p NFA,
    /// The last turn that reached each state.
    seen: Vec<usize>,
    turn: usize,
    steps: &'e mut StepBudget<'a>,
}

impl NfaSearch<'_, '_, '_> {
    fn run(&mut self, text: &[u8]) -> Result<bool, CheckInterrupt> {
        self.steps.spend(1 + self.seen.len() as u64 / 8)?;
        let (mut now, mut next, mut open) = (Vec::new(), Vec::new(), Vec::new());
        for at in 0..=text.len() {
            if at == 0 {
                self.turn += 1;
                if self.reach(self.nfa.start_unanchored(), text, 0, &mut now, &mut open)? {
                    return Ok(true);
                }
            }
            let Some(byte) = text.get(at).copied() else { break };
            self.turn += 1;
            next.clear();
            for id in now.drain(..) {
                let to = match self.nfa.state(id) {
                    State::ByteRange { trans } => trans.matches_byte(byte).then_some(trans.next),
                    State::Sparse(many) => {
                        self.steps.spend(many.transitions.len() as u64 / 8)?;
                        many.matches_byte(byte)
                    }
                    State::Dense(many) => many.matches_byte(byte),
                    _ => None,
                };
                self.steps.spend(1)?;
                if let Some(to) = to
                    && self.reach(to, text, at + 1, &mut next, &mut open)?
                {
                    return Ok(true);
                }
            }
            std::mem::swap(&mut now, &mut next);
            if now.is_empty() {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// Adds a state, and all states reachable without a byte, to `waiting`. Returns true if one is a match.
    fn reach(
        &mut self,
        from: StateID,
        text: &[u8],
        at: usize,
        waiting: &mut Vec<StateID>,
        open: &mut Vec<StateID>,
    ) -> Result<bool, CheckInterrupt> {
        open.clear();
        open.push(from);
        while let Some(id) = open.pop() {
            self.steps.spend(1)?;
            if std::mem::replace(&mut self.seen[id.as_usize()], self.turn) == self.turn {
                continue;
            }
            match self.nfa.state(id) {
                State::Match { .. } => return Ok(true),
                State::Fail => {}
                State::Look { look, next } => {
                    if self.nfa.look_matcher().matches(*look, text, at) {
                        open.push(*next);
                    }
                }
                State::Union { alternates } => open.extend(alternates.iter().copied()),
                State::BinaryUnion { alt1, alt2 } => open.extend([*alt1, *alt2]),
                State::Capture { next, .. } => open.push(*next),
                State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) => waiting.push(id),
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &SchemaPattern, text: &str) -> bool {
        pattern.is_match(text, &mut StepBudget::new_awaited()).expect("a verdict")
    }

    #[test]
    fn patterns_follow_json_schema() {
        for (pattern, text, expected) in [
            ("b", "abc", true),
            ("^b", "abc", false),
            ("^a.c$", "abc", true),
            ("^\\d{2}$", "١٢", false),
            ("^\\w+$", "naïve", false),
            ("^\\p{L}+$", "naïve", true),
            ("\\bb\\b", "a b c", true),
            ("\\bb\\b", "abc", false),
            ("\\S", " \u{3000}\u{feff}", false),
            ("^$", "", true),
            ("", "anything", true),
            ("^(?:a|b)*$", "abba", true),
        ] {
            let pattern = SchemaPattern::new(pattern).expect("a pattern");
            assert_eq!(matches(&pattern, text), expected, "{pattern:?} {text}");
        }
    }

    #[test]
    fn a_huge_automaton_is_followed_step_by_step_and_stops() {
        let huge = SchemaPattern::new("[ab]*a[ab]{1900}c").expect("within the limit");
        assert!(huge.dfa.is_none());
        let fits = format!("{}c", "a".repeat(1_901));
        assert!(matches(&huge, &fits));
        assert!(!matches(&huge, &fits[1..]));
        let stopped = huge.is_match(&"ab".repeat(2 << 20), &mut StepBudget::new_awaited());
        assert_eq!(stopped, Err(CheckInterrupt::OutOfSteps));
        assert!(SchemaPattern::new("^[a-z0-9-]{1,64}$").expect("a pattern").dfa.is_some());
        assert!(SchemaPattern::new("^[^\\s@]+@[^\\s@]+\\.[^\\s@]+$").expect("a pattern").dfa.is_some());
    }

    #[test]
    fn expensive_patterns_are_refused() {
        for (pattern, reason) in [
            ("(?=a)b", "uses look-around"),
            ("(a)\\1", "uses look-around or back"),
            ("(", "not a regular expression"),
            ("\\p{L}{500}", "more than 262144 bytes"),
            ("((((a{200}){200}){200}){200})", "more than 262144 bytes"),
        ] {
            let error = SchemaPattern::new(pattern).expect_err("refused");
            assert!(error.to_string().contains(reason), "{error}");
        }
    }

    proptest! {
        #[test]
        fn both_ways_agree_with_the_regex_crate(
            pattern in "(\\^)?([a-c]|\\[ab\\]|\\.|\\(a\\|bc\\)|\\(b\\|\\)|é|\\\\b)([*+?]|\\{1,3\\})?(a|\\[\\^b\\])?(\\$)?",
            text in "[abcé ]{0,12}",
        ) {
            let mut compiled = SchemaPattern::new(&pattern).expect("a pattern");
            let expected = regex::Regex::new(&jsonschema_regex::to_rust_regex(&pattern).expect("a pattern"))
                .expect("a pattern")
                .is_match(&text);
            prop_assert_eq!(matches(&compiled, &text), expected);
            compiled.dfa = None;
            prop_assert_eq!(matches(&compiled, &text), expected);
        }
    }
}
