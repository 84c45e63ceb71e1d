//! Guarantees of an extract: it contains the answer, uses the budget without exceeding it, and stays cheap for hostile
//! text.

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
    assert!(extract.text.contains(" tokens …]\n"));
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
    assert_eq!(asked.fit, Some(MatchQuality::Nothing));
    assert_eq!(TextExtract { fit: None, ..asked }, Extractor.extract(&text, "", 300).unwrap());
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

#[test]
fn the_fit_of_an_extract_is_reported() {
    let fit = |query: &str, budget| Extractor.extract(&manual(), query, budget).unwrap().fit;
    assert!(matches!(
        fit("when does the circuit breaker open", 500),
        Some(MatchQuality::Good | MatchQuality::Weak)
    ));
    assert_eq!(fit("red wine stain on a wool carpet", 500), Some(MatchQuality::Nothing));
    assert_eq!(fit("red wine stain on a wool carpet", 1_000_000), Some(MatchQuality::Nothing));
    assert_eq!(fit(" ", 500), None);
    let headed = "# Circuit breakers\n\nThey open.\n";
    assert_eq!(Extractor.extract(headed, "circuit_breakers", 500).unwrap().fit, Some(MatchQuality::Names));
}

fn chapters() -> String {
    let mut text = "# The book\n\n".to_owned();
    for chapter in 1..=8 {
        text += &format!("## Chapter {chapter}\n\n");
        for section in 1..=6 {
            let rows = format!("| {chapter}.{section} | a row of some words |\n").repeat(6);
            let block =
                if section % 2 == 0 { format!("```\nlet x = {section};\nopen(x);\n```\n") } else { rows };
            text += &format!(
                "### Section {chapter}.{section}\n\n{}\n\n{block}\n",
                "Rain and roads are spoken of, at length and without need. ".repeat(8)
            );
        }
    }
    text.replace("### Section 5.3\n", "### Section 5.3\n\nThe breaker opens after three failures.\n")
}

#[test]
fn a_gap_says_which_lines_are_left_out_and_headings_lead_to_what_is_kept() {
    let text = chapters();
    let lines: Vec<&str> = text.lines().collect();
    let extract = Extractor.extract(&text, "when does the breaker open", 600).unwrap().text;
    for heading in ["# The book\n", "## Chapter 5\n", "### Section 5.3\n"] {
        assert!(extract.contains(heading), "{extract}");
    }
    // Each line is in the extract or in the range of a mark, in order.
    let mut next = 0;
    for line in extract.lines() {
        if let Some(mark) = line.strip_prefix("[… line") {
            let numbers = mark.trim_start_matches('s').split(':').next().unwrap();
            let numbers = numbers.split(", characters").next().unwrap().trim().replace(',', "");
            let (from, to) = numbers.split_once('-').unwrap_or((&numbers, &numbers));
            let (from, to): (usize, usize) = (from.parse().unwrap(), to.parse().unwrap());
            assert!(lines[next.min(from - 1)..from - 1].iter().all(|line| line.is_empty()), "{line}");
            next = to;
            continue;
        }
        let at = next.saturating_sub(1)
            + lines[next.saturating_sub(1)..].iter().position(|l| l.contains(line)).unwrap();
        next = at + 1;
    }
    assert!(extract.contains(", \"Chapter "), "{extract}");
    assert_eq!(extract.matches("```\n").count() % 2, 0, "{extract}");
}

#[test]
fn a_block_larger_than_the_budget_is_cut_at_a_line_with_a_mark() {
    let text = format!("# Long\n\n```\n{}```\n", "a_line(of, code);\n".repeat(400));
    let extract = Extractor.extract(&text, "code", 300).unwrap().text;
    assert!(extract.contains(" of a code block …]\n"), "{extract}");
    let cut = |line: &str| !(line.is_empty() || lines_of(&text).contains(&line) || line.starts_with("[… "));
    assert!(!extract.lines().any(cut), "{extract}");
}

fn lines_of(text: &str) -> Vec<&str> {
    text.lines().collect()
}

#[test]
fn one_long_line_has_gaps_in_characters_and_forged_marks_are_different() {
    let text =
        "This sentence says little. ".repeat(900) + "The breaker opens. " + &"Nothing more. ".repeat(900);
    let extract = Extractor.extract(&text, "when does the breaker open", 200).unwrap().text;
    assert!(
        extract.contains("The breaker opens. ") && extract.contains("\n[… line 1, characters "),
        "{extract}"
    );
    let forged = "[… lines 1-9: 5 tokens …]\nThe breaker opens here.\n".repeat(200);
    let extract = Extractor.extract(&forged, "breaker", 300).unwrap().text;
    let marks = extract.lines().filter(|line| line.starts_with('[')).count();
    assert!(marks >= 1 && extract.contains("\n\\[… lines 1-9"), "{extract}");
    assert!(!extract.contains("\n[… lines 1-9: 5 tokens …]"), "{extract}");
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
                "```\n([a-z ]{1,30};\n){1,40}```\n",
                "(\\| [a-z]{1,9} \\| [a-z]{1,9} \\|\n){2,30}",
                "\\[… [a-z ]{1,30}\n",
            ],
            20..60,
        ),
        query in "[a-z]{0,4} [a-z]{0,6}",
        budget in 64_u32..1500,
    ) {
        let text = paragraphs.concat();
        let extract = Extractor.extract(&text, &query, budget).unwrap();
        prop_assert_eq!(extract.tokens_out as usize, tokens::count(&extract.text));
        prop_assert_eq!(extract.tokens_in as usize, tokens::count(&text));
        prop_assert!(extract.tokens_out <= budget);
        prop_assert_eq!(extract.shortened, extract.tokens_in > budget);
        if extract.shortened {
            // One word is several percent of a very small budget.
            let least = if budget < 200 { 90 } else { 95 };
            prop_assert!(extract.tokens_out * 100 >= budget * least, "{} of {}", extract.tokens_out, budget);
        }
        prop_assert_eq!(extract, Extractor.extract(&text, &query, budget).unwrap());
    }
}
