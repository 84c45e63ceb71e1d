//! Scores and ranks tools, and cuts off the list.

use super::{
    segment::{IndexedTool, ToolSegment},
    words::{ToolLengths, WordScores},
};
use crate::{
    page::MatchQuality,
    search::{
        NameMatch, NameQuery, RankedCandidate, RowSet,
        fuse::{share, sort_ranked},
    },
};

/// Weight of words; the rest is the vector score. Tuned on half of the questions of three catalogs; docs/benchmarks.md
/// has the results for the other half.
const WORD_WEIGHT: f64 = 0.45;

/// Weight of the best part's squared score relative to the whole request. Squaring favors the best match for a part
/// over medium ones. Tuned like [`WORD_WEIGHT`].
const PART_WEIGHT: f64 = 0.5;

/// Weight of the word share, relative to the cosine and if there is no cosine.
const WORD_SHARE_WEIGHT: f64 = 0.5;
const WORD_SHARE_WEIGHT_ALONE: f64 = 2.0;

/// Minimum fit of a good match. With more tools, the nearest is closer to any question, so the bound rises with each
/// doubling above [`GOOD_FIT_TOOL_COUNT`]. Tuned so that 19 of 20 unrelated questions find no good match in catalogs of
/// 199 to 3,205 tools.
const MIN_GOOD_FIT: f64 = 0.46;
const GOOD_FIT_TOOL_COUNT: f64 = 500.0;
const GOOD_FIT_PER_DOUBLING: f64 = 0.055;

const MIN_WEAK_FIT: f64 = 0.3;

/// Maximum number of results without a good match.
const MAX_NEAREST: usize = 5;

/// Results below this share of the best score are dropped.
const MIN_SCORE_SHARE: f64 = 0.5;

/// Tools of all servers. A tool's number is its index.
pub struct ToolSegments<'a> {
    segments: Vec<&'a ToolSegment>,
    count: usize,
}

pub struct ToolSearch<'a> {
    /// The question, then its [parts](super::query_parts).
    pub queries: &'a [ToolQuery<'a>],
    /// Tools that the caller may see.
    pub allowed: &'a RowSet,
    pub limit: usize,
    pub min_score: f64,
}

pub struct ToolQuery<'a> {
    pub text: &'a str,
    /// Cosine by tool number; `None` for a tool without a vector. Empty if the text has no vector.
    pub cosines: Vec<Option<f32>>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolMatches {
    /// Best first, ties by server and name.
    pub tools: Vec<ToolMatch>,
    /// Words that none of the allowed tools contain.
    pub unmatched_terms: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolMatch {
    pub tool: usize,
    /// 0 to 1, comparable within one search.
    pub score: f64,
    /// [`ToolSegments::search`] never returns [`MatchQuality::Nothing`].
    pub fit: MatchQuality,
    /// True if the question is the name or its prefix.
    pub named: bool,
}

#[derive(Clone, Copy, Default)]
struct ToolScores {
    /// Relative to the best tool, 0 to 1.
    share: f64,
    /// Absolute fit, 0 to 2.
    fit: f64,
}

impl<'a> ToolSegments<'a> {
    pub fn new(segments: Vec<&'a ToolSegment>) -> Self {
        let count = segments.iter().map(|segment| segment.tools().len()).sum();
        Self { segments, count }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn iter(&self) -> impl Iterator<Item = &'a IndexedTool> {
        self.segments.iter().flat_map(|segment| segment.tools())
    }

    pub(super) fn segments(&self) -> &[&'a ToolSegment] {
        &self.segments
    }

    /// Searches the tools in time linear in tools and postings.
    pub fn search(&self, search: &ToolSearch<'_>) -> ToolMatches {
        let mut found = self.rank(search);
        let nothing_good =
            found.tools.iter().all(|tool| matches!(tool.fit, MatchQuality::Weak | MatchQuality::Nothing));
        let limit = if nothing_good { search.limit.min(MAX_NEAREST) } else { search.limit };
        let unnamed = found.tools.iter().find(|tool| !tool.named);
        let min_score = search.min_score.max(unnamed.map_or(0.0, |best| best.score * MIN_SCORE_SHARE));
        found.tools.retain(|tool| tool.fit != MatchQuality::Nothing && tool.score >= min_score);
        found.tools.truncate(limit);
        found
    }

    /// Ranks every allowed tool, best first. [`search`](Self::search) filters this list.
    pub fn rank(&self, search: &ToolSearch<'_>) -> ToolMatches {
        let Some((question, parts)) = search.queries.split_first() else { return ToolMatches::default() };
        let tools: Vec<&IndexedTool> = self.iter().collect();
        let lengths = ToolLengths::new(&tools, search.allowed);
        let (mut scores, unmatched_terms) = self.scores(question, search.allowed, &lengths);
        let mut best_part = vec![ToolScores::default(); self.count];
        for part in parts {
            for (best, scores) in best_part.iter_mut().zip(self.scores(part, search.allowed, &lengths).0) {
                best.share = best.share.max(scores.share);
                best.fit = best.fit.max(scores.fit);
            }
        }
        if !parts.is_empty() {
            for (tool, part) in scores.iter_mut().zip(&best_part) {
                tool.share = (tool.share + PART_WEIGHT * part.share * part.share) / (1.0 + PART_WEIGHT);
                tool.fit = tool.fit.max(part.fit);
            }
        }
        let name = NameQuery::new(question.text);
        let good = min_good_fit(lengths.count);
        let allowed = (0..self.count).filter(|number| search.allowed.contains(*number));
        let candidates = allowed.map(|number| {
            let name = name.matches_key(&tools[number].key);
            let key = (&tools[number].id, number, fit(name, scores[number].fit, good));
            RankedCandidate { key, score: scores[number].share, name, cosine: None }
        });
        let ranked = sort_ranked(candidates.collect()).into_iter();
        let tools = ranked.map(|ranked| {
            let ((_, tool, fit), named) = (ranked.key, ranked.name != NameMatch::No);
            ToolMatch { tool, score: ranked.score, fit, named }
        });
        ToolMatches { tools: tools.collect(), unmatched_terms }
    }

    /// Returns the scores of each tool by number, and the unmatched words.
    fn scores(
        &self,
        query: &ToolQuery<'_>,
        allowed: &RowSet,
        lengths: &ToolLengths,
    ) -> (Vec<ToolScores>, Vec<String>) {
        let words = WordScores::new(self, query.text, allowed, lengths);
        let cosine = |tool: usize| {
            let known = query.cosines.get(tool).copied().flatten().filter(|cosine| cosine.is_finite());
            known.map(|cosine| f64::from(cosine).clamp(0.0, 1.0))
        };
        let allowed_tools = (0..self.count).filter(|tool| allowed.contains(*tool));
        let nearest = allowed_tools.filter_map(cosine).fold(0.0, f64::max);
        let tool_scores = |tool: usize| {
            let relative = share(words.scores[tool], words.best);
            let word_share = share(words.scores[tool], words.max_possible);
            match cosine(tool) {
                Some(cosine) if nearest > 0.0 => ToolScores {
                    share: WORD_WEIGHT * relative + (1.0 - WORD_WEIGHT) * cosine / nearest,
                    fit: cosine + WORD_SHARE_WEIGHT * word_share,
                },
                _ => ToolScores { share: relative, fit: WORD_SHARE_WEIGHT_ALONE * word_share },
            }
        };
        ((0..self.count).map(tool_scores).collect(), words.unmatched)
    }
}

fn min_good_fit(tools: f64) -> f64 {
    MIN_GOOD_FIT + GOOD_FIT_PER_DOUBLING * (tools / GOOD_FIT_TOOL_COUNT).max(1.0).log2()
}

fn fit(name: NameMatch, fit: f64, good: f64) -> MatchQuality {
    match name {
        NameMatch::Exact => MatchQuality::Names,
        // The word score does not recognize that `readFile` is a prefix of `read_file_range`.
        NameMatch::Prefix => MatchQuality::Good,
        NameMatch::No if fit >= good => MatchQuality::Good,
        NameMatch::No if fit >= MIN_WEAK_FIT => MatchQuality::Weak,
        NameMatch::No => MatchQuality::Nothing,
    }
}
