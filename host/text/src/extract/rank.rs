//! Ranks chunks by how well each answers a query, and rates the text as a whole.

use gatehouse_core::{
    page::MatchQuality,
    search::{FitScorer, NameMatch, NameQuery},
};

use super::{
    mark,
    vectors::{UnitVectors, dot},
};
use crate::{bm25, layout::TextLayout};

/// Share of a chunk's score that its neighbors get, for distances from 1.
///
/// Answers are contiguous. Measured on meetings and manuals, this alone retains 10 to 16 points more of the passages
/// that human annotators marked.
const KERNEL: [f64; 3] = [0.8, 0.5, 0.3];

/// Kernel for budgets that have room for few neighbors, and the maximum such budget in tokens. Over five kinds of
/// documents it retains 0.015 more of the answers at a thousand tokens, and 0.01 less at two thousand.
const SMALL_KERNEL: [f64; 2] = [0.8, 0.5];
const MAX_SMALL_BUDGET: usize = 1_000;

/// Percentage of the budget for the best chunks by words alone. The kernel ranks a row of a table or a line of code with
/// the right words below wordier surroundings.
const WORDS_PERCENT: usize = 60;

/// Tokens added to each of those chunks for its gap mark.
const WORDS_MARK_TOKENS: usize = 12;

const MAX_JUDGED_CHUNKS: usize = 8;

pub(super) struct ChunkRanking {
    /// One score per chunk, `None` if the query matches nothing in the text.
    pub(super) ranks: Option<Vec<f64>>,
    pub(super) fit: MatchQuality,
}

/// Ranks chunks of these tokens: first the best by BM25, for a share of the budget. Then by the mean of BM25 and
/// embedding cosine, each relative to its maximum, smoothed by the kernel.
pub(super) fn ranks(chunks: &[&str], tokens: &[usize], query: &str, budget: usize) -> ChunkRanking {
    let words = shares(bm25::scores(chunks, query));
    let cosines: Option<Vec<f32>> = UnitVectors::from_model(chunks)
        .zip(UnitVectors::query(query))
        .map(|(vectors, query)| vectors.0.iter().map(|vector| dot(vector, &query).max(0.0)).collect());
    let scores: Vec<f64> = match &cosines {
        Some(cosines) => {
            let meaning = shares(cosines.iter().copied().map(f64::from).collect());
            words.iter().zip(&meaning).map(|(a, b)| 0.5 * a + 0.5 * b).collect()
        }
        None => words.clone(),
    };
    let fit = judge(chunks, query, &scores, cosines.as_deref());
    if scores.iter().all(|score| *score == 0.0) {
        return ChunkRanking { ranks: None, fit };
    }
    let kernel: &[f64] = if budget <= MAX_SMALL_BUDGET { &SMALL_KERNEL } else { &KERNEL };
    let mut ranks = spread(&scores, kernel);
    prefer_words(&mut ranks, &words, tokens, budget);
    ChunkRanking { ranks: Some(ranks), fit }
}

/// Moves the best chunks by words to the top, in their order, as long as they fit their share of the budget.
fn prefer_words(ranks: &mut [f64], words: &[f64], tokens: &[usize], budget: usize) {
    let mut best: Vec<usize> = (0..words.len()).filter(|at| words[*at] > 0.0).collect();
    best.sort_by(|a, b| words[*b].total_cmp(&words[*a]).then(a.cmp(b)));
    let mut remaining = budget * WORDS_PERCENT / 100;
    let top = ranks.iter().copied().fold(0.0, f64::max) + 1.0;
    for at in best {
        let cost = tokens[at] + WORDS_MARK_TOKENS;
        if cost <= remaining {
            remaining -= cost;
            ranks[at] = top + words[at];
        }
    }
}

/// Rates the best chunks, each together with its neighbors.
fn judge(chunks: &[&str], query: &str, scores: &[f64], cosines: Option<&[f32]>) -> MatchQuality {
    let scorer = FitScorer::new(query);
    let mut best: Vec<usize> = (0..chunks.len()).collect();
    let better = |a: &usize, b: &usize| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b));
    if best.len() > MAX_JUDGED_CHUNKS {
        best.select_nth_unstable_by(MAX_JUDGED_CHUNKS, better);
        best.truncate(MAX_JUDGED_CHUNKS);
    }
    let fit = |at: usize| {
        let around = at.saturating_sub(1)..(at + 2).min(chunks.len());
        let cosine = cosines.map(|cosines| cosines[around.clone()].iter().copied().fold(0.0, f32::max));
        scorer.fit(NameMatch::No, cosine, &chunks[around])
    };
    best.into_iter().map(fit).min_by_key(|fit| quality(*fit)).unwrap_or(MatchQuality::Nothing)
}

fn quality(fit: MatchQuality) -> usize {
    [MatchQuality::Names, MatchQuality::Good, MatchQuality::Weak, MatchQuality::Nothing]
        .iter()
        .position(|other| *other == fit)
        .unwrap_or(3)
}

pub(super) fn names_heading(text: &str, layout: &TextLayout, query: &str) -> bool {
    let query = NameQuery::new(query);
    layout.headings.iter().any(|heading| {
        query.matches(&mark::name(&text[heading.start..heading.end], usize::MAX)) == NameMatch::Exact
    })
}

pub(super) fn shares(mut scores: Vec<f64>) -> Vec<f64> {
    let max_score = scores.iter().copied().fold(0.0, f64::max);
    if max_score > 0.0 {
        scores.iter_mut().for_each(|score| *score /= max_score);
    }
    scores
}

fn spread(scores: &[f64], kernel: &[f64]) -> Vec<f64> {
    // Scale by the weight of the existing neighbors, or a mediocre chunk in the middle would rank above the best one at
    // an end.
    let whole: f64 = 1.0 + 2.0 * kernel.iter().sum::<f64>();
    let at = |index: usize| {
        let (mut sum, mut weight) = (scores[index], 1.0);
        for (distance, share) in kernel.iter().enumerate() {
            let neighbors = [index.checked_sub(distance + 1), Some(index + distance + 1)];
            for score in neighbors.into_iter().flatten().filter_map(|neighbor| scores.get(neighbor)) {
                sum += share * score;
                weight += share;
            }
        }
        sum * whole / weight
    };
    (0..scores.len()).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_a_hit() {
        let one = |at: usize| (0..15).map(|index| if index == at { 1.0 } else { 0.0 }).collect::<Vec<f64>>();
        let rounded = |kernel: &[f64]| -> Vec<f64> {
            spread(&one(7), kernel).iter().map(|score| (score * 1e6).round() / 1e6).collect()
        };
        assert_eq!(rounded(&KERNEL)[3..12], [0.0, 0.3, 0.5, 0.8, 1.0, 0.8, 0.5, 0.3, 0.0]);
    }

    #[test]
    fn the_best_chunk_by_words_comes_first_within_its_share() {
        let (mut ranks, words) = (vec![3.0, 2.0, 1.0, 0.5], [0.0, 0.2, 1.0, 0.9]);
        prefer_words(&mut ranks, &words, &[10, 10, 300, 10], 60);
        assert!(ranks[3] > ranks[0] && ranks[0] > ranks[1] && ranks[2] == 1.0, "{ranks:?}");
    }

    #[test]
    fn the_best_chunk_of_a_uniform_text_wins_at_its_edges_too() {
        for best in [0, 7, 14] {
            let scores: Vec<f64> = (0..15).map(|index| if index == best { 1.0 } else { 0.5 }).collect();
            let spread = spread(&scores, &KERNEL);
            assert!(spread.iter().all(|score| *score <= spread[best] + 1e-9), "{best}: {spread:?}");
        }
    }

    #[test]
    fn other_words_for_the_same_thing_score_too() {
        let chunks = ["The cat sat on the mat.", "Automobiles need fuel.", "Numbers are prime."];
        let ranks = ranks(&chunks, &[8; 3], "car petrol", 8000).ranks.unwrap();
        assert!(ranks[1] > ranks[0] && ranks[1] > ranks[2], "{ranks:?}");
    }

    #[test]
    fn what_has_nothing_to_do_with_the_text_ranks_nothing() {
        let ranking = ranks(&["日本語の文書", "第二の段落"], &[8; 2], "ωψ", 8000);
        assert!(ranking.ranks.is_none() && ranking.fit == MatchQuality::Nothing);
    }
}
