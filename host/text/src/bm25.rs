//! BM25 over a few thousand pieces of one text, in memory.
//!
//! Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the
//! usual k1 = 1.2 and b = 0.75 and the idf that cannot become negative.

use std::collections::HashMap;

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// One score per document, 0 where no word of the query occurs.
pub(crate) fn scores<T: AsRef<str>>(documents: &[T], query: &str) -> Vec<f64> {
    let mut asked: Vec<String> = Vec::new();
    each_word(query, |word| asked.push(word.to_owned()));
    asked.sort();
    asked.dedup();
    // (document, times) per query word; a word's postings are all that its score needs.
    let mut postings: Vec<Vec<(usize, f64)>> = vec![Vec::new(); asked.len()];
    let index: HashMap<&str, usize> = asked.iter().enumerate().map(|(i, word)| (word.as_str(), i)).collect();
    let mut lengths = Vec::with_capacity(documents.len());
    for (number, document) in documents.iter().enumerate() {
        let mut length = 0.0;
        each_word(document.as_ref(), |word| {
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

/// Gives each word of a text, in lower case; a plural s is dropped so that "gates" finds "gate". Scripts
/// that put no blanks between words are given in pairs of characters.
pub(crate) fn each_word(text: &str, mut give: impl FnMut(&str)) {
    let mut word = String::new();
    for part in text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()) {
        word.clear();
        if part.is_ascii() {
            word.push_str(part);
            word.make_ascii_lowercase();
        } else {
            word.push_str(&part.to_lowercase());
            if word.contains(unspaced) {
                pairs(&word, &mut give);
                continue;
            }
        }
        match word.strip_suffix('s') {
            Some(stem) if stem.len() > 2 && !stem.ends_with('s') => give(stem),
            _ => give(&word),
        }
    }
}

fn pairs(word: &str, give: &mut impl FnMut(&str)) {
    let starts: Vec<usize> = word.char_indices().map(|(at, _)| at).chain([word.len()]).collect();
    match starts.len() {
        0..=2 => give(word),
        _ => starts.windows(3).for_each(|window| give(&word[window[0]..window[2]])),
    }
}

/// Han, kana and hangul.
fn unspaced(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
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
    fn nothing_scores_against_nothing() {
        assert!(scores::<&str>(&[], "x").is_empty());
        assert_eq!(scores(&["a", "b"], ""), [0.0, 0.0]);
    }

    #[test]
    fn scripts_without_blanks_are_found() {
        let documents = ["門は開いている", "断路器が三回の失敗で開く"];
        let scores = scores(&documents, "断路器");
        assert!(scores[1] > 0.0 && scores[0] == 0.0, "{scores:?}");
    }
}
