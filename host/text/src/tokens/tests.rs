//! Compares tokens with values recorded from the crate `bpe-openai` 0.3.2, which agrees with OpenAI's tiktoken.

use gatehouse_core::{
    hash::sha256_hex,
    ports::text::TokenEncoding::{Cl100k, O200k},
};

use super::*;

fn tokens(text: &str, encoding: text::TokenEncoding) -> Vec<u32> {
    let BpeEncoding { pieces, vocabulary, .. } = BpeEncoding::for_encoding(encoding);
    let mut encoder = BpeEncoder::default();
    let encode = |piece| encoder.encode(vocabulary, piece, usize::MAX).expect("no limit").to_vec();
    pieces.split(text).flat_map(encode).collect()
}

/// Returns pseudorandom texts, the same on each run.
fn texts() -> Vec<String> {
    let parts = [
        "a",
        "b",
        "e",
        "th",
        "the",
        "tion",
        "s",
        "A",
        "B",
        "HTTP",
        "É",
        "é",
        "e\u{301}",
        "ſ",
        "ß",
        "ǅ",
        "1",
        "7",
        "2026",
        "٣",
        "Ⅷ",
        "'",
        "'s",
        "'Re",
        "'LL",
        "\"",
        "{",
        "}",
        "\":",
        ",",
        ".",
        "/",
        "//",
        "\\n",
        "-",
        "—",
        " ",
        " ",
        "  ",
        "\t",
        "\r\n",
        "\n",
        "\n\n",
        "\u{a0}",
        "\u{2028}",
        "\u{b}",
        "\u{1c}",
        "\u{7f}",
        "中",
        "数据",
        "の",
        "데",
        "ไทย",
        "नमस्ते",
        "😀",
        "👩‍👩‍👧",
        "\u{fffd}",
        "\u{212a}",
        "hello",
        " world",
        "ab",
        "aab",
        "_",
        "get_",
        "Error",
    ];
    let mut state = 1_u64;
    let mut chance = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    (0..3_000).map(|length| (0..length % 97).map(|_| parts[chance(parts.len())]).collect()).collect()
}

#[test]
fn tokens_are_those_of_the_crate() {
    for (encoding, number, digest) in [
        (O200k, 170_833, "c6ce17147864c395bc8e3a2075918353092908a9c26bd1aeabb1f7393c3a418f"),
        (Cl100k, 201_003, "8790526b3a02177ced07c1fd6d73a8843d92ce30ec45664092086982f600185f"),
    ] {
        let texts = texts();
        let all: Vec<u32> = texts.iter().flat_map(|text| tokens(text, encoding)).collect();
        assert_eq!(all.len(), number);
        assert_eq!(sha256_hex(all.iter().flat_map(|token| token.to_le_bytes()).collect::<Vec<u8>>()), digest);
        // Joined, they have more pieces than the cache has slots.
        let joined = texts.concat();
        assert_eq!(BpeTokenCounter.count(&joined, encoding), tokens(&joined, encoding).len());
    }
}

#[test]
fn hostile_text_counts_the_same() {
    for (text, o200k, cl100k) in [
        (" ", 512, 512),
        ("a", 8_192, 8_192),
        ("ab", 32_768, 65_536),
        ("aab", 65_536, 65_537),
        ("'", 16_384, 32_768),
        ("\n/", 65_536, 65_537),
        ("中", 65_536, 65_536),
        ("e\u{301}", 131_072, 131_072),
    ] {
        let text = text.repeat(1 << 16);
        assert_eq!([O200k, Cl100k].map(|encoding| BpeTokenCounter.count(&text, encoding)), [o200k, cl100k]);
    }
}

#[test]
fn a_limit_ends_the_count() {
    for text in ["word ".repeat(1 << 12), " ".repeat(1 << 20)] {
        assert_eq!(BpeTokenCounter.count_up_to(&text, 10, O200k), None);
    }
    assert_eq!(BpeTokenCounter.count("", O200k), 0);
    for encoding in [O200k, Cl100k] {
        assert_eq!(BpeTokenCounter.count_up_to("hello world", 2, encoding), Some(2));
        assert_eq!(BpeTokenCounter.count_up_to("hello world", 1, encoding), None);
    }
}

#[test]
fn the_beginning_of_a_text_ends_with_a_whole_character() {
    let text = "数据库查询 ".repeat(9_000);
    assert_eq!(BpeTokenCounter.token_prefix(&text, 8191, Cl100k).len(), 43_689);
    assert_eq!(BpeTokenCounter.token_prefix("hello world", 1, O200k), "hello");
    assert_eq!(BpeTokenCounter.token_prefix("hello world", 2, O200k), "hello world");
    assert_eq!(BpeTokenCounter.token_prefix("hello world", 0, O200k), "");
    // The character is three tokens of one or two bytes each.
    assert_eq!(BpeTokenCounter.token_prefix("\u{1f9ff}", 1, O200k), "");
}
