//! Evidence that a tool serves a question, and the verdict that a learned model draws from it.
//!
//! The model is a logistic regression, with weights of its own for questions without a vector. `bench-quality --verdict`
//! makes them from public sets of questions and tools, self-made ones in other languages, and unrelated questions.
//! docs/benchmarks.md has the cross-validated results.

use crate::page::MatchQuality;

/// Number of measures in [`MatchEvidence`].
pub const MEASURES: usize = 7;

/// Measures of what a question and a tool have in common, comparable between catalogs. The last ones describe the catalog
/// and the question.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct MatchEvidence {
    /// Cosine of their vectors, 0 to 1. `None` if one of them has no vector.
    pub cosine: Option<f64>,
    /// Standard deviations of `cosine` above the mean of the catalog.
    pub cosine_deviation: f64,
    /// Share of the question's rarity that the tool has. The rarity of a word is its inverse document frequency in the
    /// catalog.
    pub rarity_share: f64,
    /// Sum of the rarity of the words that the tool has.
    pub rarity_held: f64,
    /// Share of the words in the tool's name that the question has.
    pub name_cover: f64,
    /// Share of the question's words that any tool has.
    pub words_known: f64,
    pub tool_count: f64,
    /// True if most of the question is in a script without spaces, of which only pairs of characters are compared.
    pub spaceless: bool,
}

/// Weights of the measures in the order of [`MatchEvidence::measures`], and the constant term.
pub struct VerdictWeights {
    pub measures: [f64; MEASURES],
    pub constant: f64,
}

const WITH_VECTORS: VerdictWeights =
    VerdictWeights { measures: [18.260, -0.533, 2.849, 0.158, 0.689, 3.237, -0.834], constant: -1.732 };

const WITHOUT_VECTORS: VerdictWeights =
    VerdictWeights { measures: [0.0, 0.0, 3.489, 0.163, 1.784, 4.779, -0.950], constant: 0.022 };

const SPACELESS: VerdictWeights =
    VerdictWeights { measures: [0.0, 0.0, 0.0, 0.0, 0.0, 7.763, 0.0], constant: -3.441 };

/// Minimum probability of a tool that fits, and of one that may fit.
const MIN_GOOD: f64 = 0.5;
const MIN_WEAK: f64 = 0.2;

impl MatchEvidence {
    pub fn measures(&self) -> [f64; MEASURES] {
        [
            self.cosine.unwrap_or(0.0),
            self.cosine_deviation,
            self.rarity_share,
            self.rarity_held.ln_1p(),
            self.name_cover,
            self.words_known,
            self.tool_count.max(1.0).ln(),
        ]
    }

    /// Returns how probable it is that the tool serves the question, 0 to 1. One in twenty unrelated questions has a tool
    /// with 0.5 or more.
    pub fn probability(&self) -> f64 {
        let weights = match self.cosine {
            Some(_) => &WITH_VECTORS,
            None if self.spaceless => &SPACELESS,
            None => &WITHOUT_VECTORS,
        };
        weights.probability(self)
    }

    pub fn verdict(&self) -> MatchQuality {
        verdict(self.probability())
    }
}

/// Returns the verdict on a [probability](MatchEvidence::probability).
pub(super) fn verdict(probability: f64) -> MatchQuality {
    match probability {
        probability if probability >= MIN_GOOD => MatchQuality::Good,
        probability if probability >= MIN_WEAK => MatchQuality::Weak,
        _ => MatchQuality::Nothing,
    }
}

impl VerdictWeights {
    pub fn probability(&self, evidence: &MatchEvidence) -> f64 {
        let sum: f64 =
            evidence.measures().iter().zip(&self.measures).map(|(value, weight)| value * weight).sum();
        1.0 / (1.0 + (-(sum + self.constant)).exp())
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    /// Evidence for the best tool of a question, as `bench-quality --verdict` measured it.
    #[derive(Deserialize)]
    struct StoredQuestion {
        q: String,
        evidence: MatchEvidence,
        verdict: MatchQuality,
    }

    #[test]
    fn verdicts_of_the_stored_questions_are_the_same() {
        let stored: Vec<StoredQuestion> =
            serde_json::from_str(include_str!("../../../tests/data/verdicts.json"))
                .expect("the stored questions");
        assert_eq!(stored.len(), 50);
        for StoredQuestion { q, evidence, verdict: expected } in stored {
            assert_eq!(evidence.verdict(), expected, "{q}");
        }
    }

    #[test]
    fn more_evidence_never_fits_less() {
        let little = MatchEvidence {
            cosine: Some(0.2),
            cosine_deviation: 1.0,
            rarity_share: 0.2,
            rarity_held: 1.0,
            name_cover: 0.0,
            words_known: 0.5,
            tool_count: 100.0,
            spaceless: false,
        };
        for (cosine, spaceless) in [(Some(0.2), false), (None, false), (None, true)] {
            let little = MatchEvidence { cosine, spaceless, ..little };
            let more = [
                MatchEvidence { cosine: cosine.map(|_| 0.6), rarity_share: 0.3, ..little },
                MatchEvidence { rarity_share: 1.0, ..little },
                MatchEvidence { rarity_held: 10.0, ..little },
                MatchEvidence { name_cover: 1.0, ..little },
                MatchEvidence { words_known: 1.0, ..little },
                MatchEvidence { tool_count: 10.0, ..little },
            ];
            for more in more {
                assert!(more.probability() >= little.probability(), "{more:?}");
            }
        }
    }
}
