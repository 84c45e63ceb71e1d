//! Tests of page previews, with the fake extractor that counts words.

use super::*;
use crate::fixture;

fn page(page_type: PageType, content: &str) -> Hit {
    Hit { page_type, overview: "Short.".into(), content: content.into(), ..fixture::hit(1.0) }
}

fn shown(hit: &Hit, query: &str, budget: u32) -> PagePreview {
    fixture::reader().run(|| preview(hit, query, budget)).unwrap()
}

/// Returns twelve sections of 20 words, one more that mentions turbines, and three code blocks.
fn long() -> String {
    let filler = |i: usize| format!("=== Part {i} ===\n{}\n\n", "rain ".repeat(20).trim_end());
    let mut text = "== Overview ==\nShort.\n\n".to_owned();
    (0..8).for_each(|i| text += &filler(i));
    text += "=== Motors ===\nThe turbine needs bearings.\n\n";
    (8..12).for_each(|i| text += &filler(i));
    text += "== Code ==\n\n=== Start ===\n```python\n# == no heading ==\nstart()\n```\n\n";
    text += "=== Stop ===\n<syntaxhighlight lang=\"python\">\nstop_the_turbine()\n</syntaxhighlight>\n\n";
    text += &format!("=== Long ===\n```\n{}```\n\n", "x = 1\n".repeat(200));
    text + "== Related Pages ==\n* [[related::Principle:X]]"
}

#[test]
fn a_page_that_fits_is_whole_without_its_overview() {
    let hit = page(PageType::Principle, "== Overview ==\nShort.\n\n=== Description ===\nLonger.");
    let preview = shown(&hit, "q", 100);
    assert_eq!((preview.text.as_str(), preview.whole), ("=== Description ===\nLonger.", true));
}

#[test]
fn previews_answer_the_query_within_the_budget() {
    let preview = shown(&page(PageType::Principle, &long()), "turbine", 100);
    assert!(!preview.whole && preview.tokens <= 100, "{preview:?}");
    assert!(preview.text.contains("The turbine needs bearings."), "{}", preview.text);
    assert!(
        preview.text.contains("stop_the_turbine()") && !preview.text.contains("start()"),
        "{}",
        preview.text
    );
    assert!(!preview.text.contains("Short.") && !preview.text.contains("[[related"), "{}", preview.text);
}

#[test]
fn code_comes_first_in_pages_about_code_and_no_block_is_cut() {
    let preview = shown(&page(PageType::Implementation, &long()), "turbine", 100);
    let text = &preview.text;
    assert!(
        text.starts_with("=== Start ===\n```python\n# == no heading ==\nstart()\n```\n=== Stop ===\n<syntax"),
        "{text}"
    );
    assert!(text.contains("</syntaxhighlight>\n[… 1 block of code omitted]\n"), "{text}");
    assert!(text.find("stop_the_turbine").unwrap() < text.find("The turbine needs").unwrap(), "{text}");
    assert!(!text.contains("x = 1") && preview.tokens <= 100, "{text}");
}

#[test]
fn the_block_with_words_of_the_query_wins_where_there_is_room_for_one() {
    let code = |n: usize, word: &str| format!("=== {n} ===\n```\n{}{word}()\n```\n", "y = 2\n".repeat(15));
    let text = code(1, "open") + &code(2, "close") + &code(3, "open");
    let preview = shown(&page(PageType::Implementation, &text), "how to close it", 70);
    assert!(preview.text.contains("close()") && !preview.text.contains("open()"), "{}", preview.text);
}

#[test]
fn the_best_pages_are_whole_and_the_rest_previews() {
    let text = |n: usize| format!("{n}: {}", "word\n".repeat(300));
    let hits: Vec<Hit> = (0..5).map(|n| page(PageType::Principle, &text(n))).collect();
    let all = fixture::reader().run(|| previews(&hits, "q", ContentBudget::Whole(1_000))).unwrap();
    let whole: Vec<bool> = all.iter().map(|preview| preview.whole).collect();
    assert_eq!(whole, [true, true, false, false, false]);
    let tokens: Vec<u32> = all.iter().map(|preview| preview.tokens).collect();
    assert!(tokens[2] > 150 && tokens[3] <= 80 && tokens.iter().sum::<u32>() <= 1_000, "{tokens:?}");
    assert!(fixture::reader().run(|| previews(&hits, "q", ContentBudget::None)).unwrap().is_empty());
}

#[test]
fn an_extractor_fault_is_returned() {
    let hit = page(PageType::Principle, &long());
    let host = gatehouse_sdk::testing::Fake::new();
    assert!(host.run(|| preview(&hit, "q", 80)).is_err());
}
