//! What an extract promises: the answer is kept, the budget is held and used, nothing hostile costs much.

use proptest::prelude::*;

use super::*;

fn manual() -> String {
    let filler = (0..400).map(|i| format!("Section {i} speaks of matters such as rain and roads.\n\n"));
    let mut parts: Vec<String> = filler.collect();
    parts.insert(300, "A circuit breaker opens after three failed connections.\n\n".into());
    parts.concat()
}

#[test]
fn short_text_comes_back_unchanged() {
    let extract = Extractor.extract("As it is.", "anything", 100).unwrap();
    assert_eq!((extract.text.as_str(), extract.shortened), ("As it is.", false));
}

#[test]
fn the_answer_is_kept_and_the_budget_used() {
    let extract = Extractor.extract(&manual(), "when does the circuit breaker open", 500).unwrap();
    assert!(extract.text.contains("opens after three failed connections"));
    assert!(extract.text.contains("tokens omitted]"));
    assert!((475..=500).contains(&extract.tokens_out), "{}", extract.tokens_out);
}

#[test]
fn the_answer_is_kept_when_it_is_asked_for_in_other_words() {
    let extract = Extractor.extract(&manual(), "what happens to links that break down", 300).unwrap();
    assert!(extract.text.contains("opens after three failed connections"), "{}", extract.text);
}

#[test]
fn no_query_keeps_the_beginning_and_what_comes_back() {
    let mut parts: Vec<String> =
        (0..200).map(|i| format!("Note {i}: rain, roads, a few words.\n\n")).collect();
    for at in [20, 90, 170] {
        parts[at] = "The turbine needs new bearings before the turbine starts again.\n\n".into();
    }
    let extract = Extractor.extract(&parts.concat(), " ", 300).unwrap();
    assert!(extract.text.starts_with("Note 0:"), "{}", extract.text);
    assert!(extract.text.contains("turbine"), "{}", extract.text);
}

#[test]
fn a_query_without_any_match_is_like_none() {
    let text = "Один абзац о дороге и дожде, не более того.\n\n".repeat(200);
    let asked = Extractor.extract(&text, "日本", 300).unwrap();
    assert_eq!(asked, Extractor.extract(&text, "", 300).unwrap());
}

#[test]
fn hostile_text_is_bounded() {
    let big = 1 << 18;
    let lines = "ab\n".repeat(big / 4);
    let texts = [" ".repeat(big), "a".repeat(big), "\u{1F600}".repeat(1 << 16), "\n".repeat(big), lines];
    for text in texts {
        for query in ["a", ""] {
            let extract = Extractor.extract(&text, query, 1000).unwrap();
            assert!(extract.tokens_out <= 1000 && extract.tokens_out > 0);
        }
    }
    assert!(Extractor.extract(&manual(), "x", 5).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_budget_is_held_and_used(
        paragraphs in prop::collection::vec(
            prop_oneof![
                "([a-z]{1,9} ){1,60}\\.\n\n",
                "#{1,3} [A-Z][a-z]{2,8}\n",
                "([А-я]{2,9} ){1,30}\n",
                "[一-龥]{1,90}。\n",
                "[a-z0-9_.;(){}\u{1F600} ]{1,200}\n",
                "[a-z]{200,600}\n",
            ],
            20..60,
        ),
        query in "[a-z]{0,4} [a-z]{0,6}",
        budget in 64_u32..1500,
    ) {
        let text = paragraphs.concat();
        let extract = Extractor.extract(&text, &query, budget).unwrap();
        prop_assert_eq!(extract.tokens_out as usize, Tokens.count(&extract.text, Encoding::O200k));
        prop_assert_eq!(extract.tokens_in as usize, Tokens.count(&text, Encoding::O200k));
        prop_assert!(extract.tokens_out <= budget);
        prop_assert_eq!(extract.shortened, extract.tokens_in > budget);
        if extract.shortened {
            prop_assert!(extract.tokens_out * 100 >= budget * 95, "{} of {}", extract.tokens_out, budget);
        }
        prop_assert_eq!(extract, Extractor.extract(&text, &query, budget).unwrap());
    }
}
