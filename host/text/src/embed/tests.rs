//! Compares the model with recorded output of Python's model2vec 0.10 (with tokenizers 0.23) for the same files.

use gatehouse_core::ports::embed::{Embedder, EmbeddingPurpose};
use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Golden {
    tokens: Vec<Tokens>,
    vectors: Vec<OneVector>,
}

#[derive(Deserialize)]
struct Tokens {
    text: String,
    ids: Vec<u16>,
}

#[derive(Deserialize)]
struct OneVector {
    text: String,
    vector: Vec<f32>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("../../tests/data/ghse-256.2.json")).expect("the golden file")
}

fn tokens(text: &str) -> Vec<u16> {
    let mut all = Vec::new();
    words::for_each_word(text, |word| all.extend_from_slice(MODEL.vocabulary.pieces(word).as_slice()));
    all
}

fn cosine(a: &str, b: &str) -> f32 {
    let [a, b] = [a, b].map(|text| LocalEmbedder.vector(text).expect("known words"));
    a.iter().zip(&b).map(|(a, b)| a * b).sum()
}

#[test]
fn the_files_are_those_that_were_measured() {
    let list = include_str!("../../assets/ghse-256.2/SHA256SUMS");
    let tokenizer = include_bytes!("../../assets/ghse-256.2/tokenizer.json");
    let files =
        [("model.safetensors", TABLE), ("vocab.txt", WORDS.as_bytes()), ("tokenizer.json", tokenizer)];
    for (name, bytes) in files {
        let digest = gatehouse_core::hash::sha256_hex(bytes);
        assert!(list.contains(&format!("{digest}  {name}")), "{name} is {digest}");
    }
}

#[test]
fn the_list_of_words_is_that_of_the_tokenizer() {
    let file: serde_json::Value =
        serde_json::from_slice(include_bytes!("../../assets/ghse-256.2/tokenizer.json")).expect("JSON");
    let vocabulary = file["model"]["vocab"].as_object().expect("a vocabulary");
    assert_eq!(vocabulary.len(), WORDS.lines().count());
    for (number, line) in WORDS.lines().enumerate() {
        assert_eq!(vocabulary[line], number, "{line}");
    }
}

#[test]
fn tokens_are_those_of_the_reference() {
    for Tokens { text, ids } in golden().tokens {
        assert_eq!(tokens(&text), ids, "{text:?}");
    }
}

#[test]
fn vectors_are_those_of_the_reference() {
    for OneVector { text, vector } in golden().vectors {
        let own = LocalEmbedder.vector(&text).expect("known words");
        assert_eq!(own.len(), DIMENSION);
        let worst = own.iter().zip(&vector).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(worst < 5e-6, "{text}: off by {worst}");
        let length: f32 = own.iter().map(|x| x * x).sum();
        assert!((length - 1.0).abs() < 1e-5, "{text}: {length}");
    }
}

#[test]
fn questions_in_unknown_languages_have_no_vector() {
    for text in [
        "Wo am Bahnsteig muss ich mich hinstellen, wenn ich Platz in Wagen 24 habe",
        "Hogyan tudom lemondani a tegnap leadott rendelésemet",
        "x9 7f",
    ] {
        let expected = text.starts_with('x');
        assert_eq!(LocalEmbedder.question_vector(text).is_some(), expected, "{text}");
    }
    for text in ["read_file", "how do I cancel an order?", "list S3 buckets"] {
        assert_eq!(LocalEmbedder.question_vector(text), LocalEmbedder.vector(text), "{text}");
    }
}

/// Vectors of the first edition stay in use until all are replaced, so both editions have to agree.
#[test]
fn vectors_of_the_first_edition_are_comparable() {
    let first: Golden =
        serde_json::from_str(include_str!("../../tests/data/ghse-256.json")).expect("the golden file");
    for OneVector { text, vector } in first.vectors {
        let own = LocalEmbedder.vector(&text).expect("known words");
        let cosine: f32 = own.iter().zip(&vector).map(|(a, b)| a * b).sum();
        assert!(cosine > 0.85, "{text}: {cosine}");
    }
}

#[test]
fn meaning_is_nearer_than_chance() {
    let near = cosine("delete a file from the disk", "remove a document from storage");
    let far = cosine("delete a file from the disk", "the weather in Paris tomorrow");
    assert!(near > far + 0.2, "{near} against {far}");
}

#[test]
fn unknown_scripts_have_no_vector() {
    for text in ["", " \n", "数据库查询", "база данных", "데이터", "🚀", "\u{FFFD}\0"] {
        assert_eq!(LocalEmbedder.vector(text), None, "{text:?}");
    }
    for text in ["把 Slack 消息发给团队", "отправить файл в S3", "Docker コンテナを起動する"]
    {
        assert_eq!(LocalEmbedder.vector(text), None, "{text:?}: the name alone says little");
    }
    for text in ["Datei löschen, café", "search the wiki of the team for 模型", "Ångström ½"] {
        assert!(LocalEmbedder.vector(text).is_some(), "{text:?}");
    }
}

#[test]
fn the_beginning_of_a_long_text_counts() {
    let long = "search the graph ".repeat(MAX_BYTES);
    assert!(LocalEmbedder.vector(&long).is_some());
    let cut = format!("{}graph", "数".repeat(MAX_BYTES / 3 + 1));
    assert_eq!(LocalEmbedder.vector(&cut), None);
}

#[tokio::test]
async fn many_texts_keep_their_order() {
    let texts: Vec<String> =
        (0..700).map(|n| if n % 7 == 0 { "数据".into() } else { format!("{n} search {}", n % 13) }).collect();
    let long: Vec<String> = texts.iter().map(|text| text.repeat(60)).collect();
    for texts in [&texts[..3], &texts[..], &long[..], &[]] {
        let vectors = LocalEmbedder.embed(texts, EmbeddingPurpose::Document).await.expect("vectors");
        let each: Vec<EmbeddingVector> = texts.iter().map(|text| LocalEmbedder.vector(text)).collect();
        assert!(vectors == each, "{} texts", texts.len());
    }
    assert_eq!(LocalEmbedder.model(), "local/ghse-256.2");
}
