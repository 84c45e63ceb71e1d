//! BM25 over the pieces of one text. Terms are those of search: stemmed, without stop words, identifiers split into
//! parts.
//!
//! Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with k1 = 1.2, b = 0.75 and
//! an idf that cannot be negative.

use std::collections::HashMap;

use gatehouse_core::search::for_each_term;

const K1: f64 = 1.2;
const B: f64 = 0.75;

const MAX_QUERY_WORDS: usize = 256;

/// Returns one score per document, 0 if it contains no query term.
pub(crate) fn scores<T: AsRef<str>>(documents: &[T], query: &str) -> Vec<f64> {
    let mut query_terms: Vec<String> = Vec::new();
    for_each_term(query, |word| query_terms.push(word.to_owned()));
    query_terms.sort();
    query_terms.dedup();
    query_terms.truncate(MAX_QUERY_WORDS);
    // (document, occurrences) per query term.
    let mut postings: Vec<Vec<(usize, f64)>> = vec![Vec::new(); query_terms.len()];
    let index: HashMap<&str, usize> =
        query_terms.iter().enumerate().map(|(i, word)| (word.as_str(), i)).collect();
    let mut lengths = Vec::with_capacity(documents.len());
    for (number, document) in documents.iter().enumerate() {
        let mut length = 0.0;
        for_each_term(document.as_ref(), |word| {
            length += 1.0;
            let Some(&term) = index.get(word) else { return };
            match postings[term].last_mut() {
                Some((last, times)) if *last == number => *times += 1.0,
                _ => postings[term].push((number, 1.0)),
            }
        });
        lengths.push(length);
    }
    let count = documents.len() as f64;
    let average = (lengths.iter().sum::<f64>() / count.max(1.0)).max(1.0);
    let mut scores = vec![0.0; documents.len()];
    for found in &postings {
        let idf = (1.0 + (count - found.len() as f64 + 0.5) / (found.len() as f64 + 0.5)).ln();
        for &(number, times) in found {
            let norm = K1 * (1.0 - B + B * lengths[number] / average);
            scores[number] += idf * times * (K1 + 1.0) / (times + norm);
        }
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_weigh_more_and_absent_ones_nothing() {
        let documents = ["the gate opens", "the breaker opens the gate", "the end"];
        let scores = scores(&documents, "which breakers open");
        assert!(scores[1] > scores[0] && scores[0] > 0.0 && scores[2] == 0.0, "{scores:?}");
    }

    #[test]
    fn forms_and_parts_of_words_are_found() {
        let documents = ["calibrating a model", "PoolGuard::put", "pools"];
        assert!(scores(&documents, "calibration")[0] > 0.0);
        let found = scores(&documents, "the pool");
        assert!(found[0] == 0.0 && found[1] > 0.0 && found[2] > 0.0, "{found:?}");
    }

    #[test]
    fn nothing_scores_against_nothing() {
        assert!(scores::<&str>(&[], "x").is_empty());
        assert_eq!(scores(&["a", "b"], ""), [0.0, 0.0]);
    }

    #[test]
    fn scripts_without_blanks_are_found() {
        let documents = ["門は開いている", "断路器が三回の失敗で開く"];
        let scores = scores(&documents, "断路器");
        assert!(scores[1] > scores[0], "{scores:?}");
    }
}
