//! Tests with pairs of questions that differ in meaning, and pairs that differ only in wording.

use std::collections::BTreeMap;

use crate::filter::guards::mismatch;

/// Lines of `kind, a, b`, separated by tabs.
const DIFFERENT: &str = include_str!("../../tests/fixtures/different.tsv");

const ALIKE: &str = include_str!("../../tests/fixtures/alike.tsv");

const HELD_OUT: &str = include_str!("../../tests/fixtures/held-out.tsv");

fn pairs(text: &str) -> Vec<[&str; 3]> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split('\t').collect::<Vec<_>>().try_into().unwrap()).collect()
}

#[test]
fn no_pair_that_asks_for_something_else_passes() {
    let pairs = pairs(DIFFERENT);
    assert!(pairs.len() >= 300, "{}", pairs.len());
    let passed: Vec<_> =
        pairs.iter().filter(|[_, a, b]| mismatch(a, b).is_none() || mismatch(b, a).is_none()).collect();
    assert!(passed.is_empty(), "{} false hits: {passed:#?}", passed.len());
}

#[test]
#[allow(clippy::print_stderr, reason = "the share is a figure in docs/benchmarks.md")]
fn equivalent_questions_match() {
    let pairs = pairs(ALIKE);
    let mut kinds: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for [kind, a, b] in &pairs {
        let (hits, all) = kinds.entry(kind).or_default();
        *hits += usize::from(mismatch(a, b).is_none());
        *all += 1;
    }
    let hits: usize = kinds.values().map(|(hits, _)| hits).sum();
    eprintln!("{hits} of {} shipped paraphrases pass the guards: {kinds:?}", pairs.len());
    assert!(hits * 100 >= pairs.len() * 95, "{hits} of {}: {kinds:?}", pairs.len());
}

#[test]
#[allow(clippy::print_stderr, reason = "the share is a figure in docs/benchmarks.md")]
fn pairs_that_the_rules_were_not_made_for_match_only_if_they_ask_for_the_same() {
    let (same, other): (Vec<_>, Vec<_>) = pairs(HELD_OUT).into_iter().partition(|[kind, ..]| *kind == "same");
    let passed =
        |pairs: &[[&'static str; 3]]| pairs.iter().filter(|[_, a, b]| mismatch(a, b).is_none()).count();
    let (hits, false_hits) = (passed(&same), passed(&other));
    eprintln!("{hits} of {} held-out paraphrases pass the guards, {false_hits} false", same.len());
    assert!(hits * 10 >= same.len() * 7 && false_hits == 0, "{hits} of {}, {false_hits} false", same.len());
}

/// Pairs in a private file next to the repository.
#[test]
#[allow(clippy::print_stderr, reason = "a test that had nothing to test says so")]
fn unseen_pairs_behave_the_same() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/cache-pairs/pairs.json");
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("NOT TESTED: there are no pairs at {path}");
        return;
    };
    let pairs: BTreeMap<String, Vec<[String; 3]>> = serde_json::from_str(&text).unwrap();
    let passing = |name: &str| -> Vec<&[String; 3]> {
        pairs[name].iter().filter(|[_, a, b]| mismatch(a, b).is_none()).collect()
    };
    let (false_hits, hits) = (passing("different"), passing("paraphrases"));
    assert!(false_hits.is_empty(), "{false_hits:#?}");
    eprintln!("{} of {} paraphrases pass the guards", hits.len(), pairs["paraphrases"].len());
    assert!(hits.len() * 100 >= pairs["paraphrases"].len() * 36, "{}", hits.len());
}
