//! Ranks chunks for a general summary, without a query.
//!
//! A chunk scores by its similarity to the centroid, its position (earlier is better), and its recurring terms. Chunks
//! that repeat a chosen chunk score less (maximal marginal relevance, Carbonell and Goldstein 1998). The weights did
//! best over READMEs and meetings. Ranking by a graph of sentences did no better than chance there.

use std::collections::HashMap;

use gatehouse_core::search::for_each_term;

use super::{
    rank::shares,
    vectors::{UnitVectors, dot},
};

const POSITION_WEIGHT: f64 = 0.6;
const RECURRENCE_WEIGHT: f64 = 0.3;

/// Weight of a chunk's own score; the rest is the penalty for repetition.
const WORTH_WEIGHT: f64 = 0.7;

/// Maximum chunks to choose with the penalty for repetition, which is quadratic. Later ones rank by their own score
/// alone.
const MAX_DIVERSE_CHUNKS: usize = 200;

/// Returns one score per chunk. Chunks with higher scores are taken first.
pub(super) fn ranks(chunks: &[&str]) -> Vec<f64> {
    let vectors = UnitVectors::from_model(chunks).unwrap_or_else(|| UnitVectors::from_words(chunks));
    let centroid = vectors.centroid();
    let central = shares(vectors.0.iter().map(|v| f64::from(dot(v, &centroid).max(0.0))).collect());
    let recurrent = shares(recurrent(chunks));
    let last = chunks.len().saturating_sub(1).max(1) as f64;
    let worth =
        |i: usize| central[i] + POSITION_WEIGHT * (1.0 - i as f64 / last) + RECURRENCE_WEIGHT * recurrent[i];
    let worth: Vec<f64> = (0..chunks.len()).map(worth).collect();
    choose(&shares(worth), &vectors)
}

/// Ranks chunks by worth, less their similarity to chunks chosen before.
fn choose(worth: &[f64], vectors: &UnitVectors) -> Vec<f64> {
    let mut ranks = worth.to_vec();
    let mut nearest = vec![0.0_f64; worth.len()];
    let mut remaining: Vec<usize> = (0..worth.len()).collect();
    for turn in 0..MAX_DIVERSE_CHUNKS.min(worth.len()) {
        let value = |i: usize| WORTH_WEIGHT * worth[i] - (1.0 - WORTH_WEIGHT) * nearest[i];
        // The first of equals, so that ties stay in document order.
        let best =
            (0..remaining.len()).rev().max_by(|a, b| value(remaining[*a]).total_cmp(&value(remaining[*b])));
        let Some(best) = best else { break };
        let chosen = remaining.remove(best);
        // Above all chunks that are not chosen, whose ranks are at most 1.
        ranks[chosen] = 2.0 + (MAX_DIVERSE_CHUNKS - turn) as f64;
        for i in &remaining {
            nearest[*i] = nearest[*i].max(f64::from(dot(&vectors.0[*i], &vectors.0[chosen])));
        }
    }
    ranks
}

/// Returns the sum of the logarithms of the counts of recurring terms, for each chunk.
fn recurrent(chunks: &[&str]) -> Vec<f64> {
    // Total occurrences, number of chunks with the term, last such chunk.
    let mut terms: HashMap<String, (f64, usize, usize)> = HashMap::new();
    for (number, chunk) in chunks.iter().enumerate() {
        for_each_term(chunk, |word| match terms.get_mut(word) {
            Some((times, chunks, last)) => {
                *times += 1.0;
                *chunks += usize::from(*last != number);
                *last = number;
            }
            None if word.len() > 3 && !word.starts_with(|c: char| c.is_ascii_digit()) => {
                terms.insert(word.to_owned(), (1.0, 1, number));
            }
            None => {}
        });
    }
    // Words in most chunks are common words of the language.
    let tells = |(times, chunks_with, _): &(f64, usize, usize)| {
        *times >= 3.0 && (*chunks_with * 3 <= chunks.len() || chunks.len() < 12)
    };
    chunks
        .iter()
        .map(|chunk| {
            let mut seen: Vec<&str> = Vec::new();
            let mut sum = 0.0;
            for_each_term(chunk, |word| {
                if let Some((term, entry)) = terms.get_key_value(word).filter(|(_, entry)| tells(entry))
                    && !seen.contains(&term.as_str())
                {
                    seen.push(term);
                    sum += entry.0.ln();
                }
            });
            sum
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_repeats_is_taken_later() {
        let mut chunks = vec!["The weather of the week was mild."; 2];
        chunks.extend(["The turbine converts steam to power.", "Lunch was fish.", "A bird sang."]);
        chunks.extend(["The turbine converts steam to power.", "Maintenance of the turbine is due in May."]);
        let ranks = ranks(&chunks);
        assert!(ranks[2] > ranks[6] && ranks[6] > ranks[5], "{ranks:?}");
    }

    #[test]
    fn recurrent_terms_count_and_common_words_do_not() {
        let mut chunks = vec!["with that from there and with that"; 20];
        chunks[3] = "turbine with that";
        chunks[9] = "the turbine again";
        chunks[15] = "turbine, at last";
        let scores = recurrent(&chunks);
        assert!(scores[9] > 0.0 && scores[0] == 0.0, "{scores:?}");
    }
}
