//! Scores tools, puts them in order, and says where the list ends.

use super::{
    segment::{IndexedTool, ToolSegment},
    words::{ToolLengths, WordScores},
};
use crate::{
    page::MatchQuality,
    search::{NameMatch, NameQuery, RankedCandidate, RowSet, fuse::sort_ranked},
};

/// What words count in a score; the rest is that of meaning. Chosen on one half of the questions of three catalogues; the
/// figures of the other half are in docs/benchmarks.md.
const WORD_WEIGHT: f64 = 0.45;

/// What the best of the parts of a request counts beside the whole, its square: a part that a tool is the best for by words
/// and by meaning lifts it, and one that it is middling for hardly does. Chosen as [`WORD_WEIGHT`] was.
const PART_WEIGHT: f64 = 0.5;

/// What the share of the question's words that a tool holds counts beside its nearness, and what it counts alone where
/// there is no nearness.
const WORD_SHARE_WEIGHT: f64 = 0.5;
const WORD_SHARE_WEIGHT_ALONE: f64 = 2.0;

/// From here on a tool is likely to do what is asked for, among so many tools. The more there are, the nearer the nearest of
/// them is to any question, so it rises with each doubling of their number. Chosen so that of 20 questions about something
/// else 19 find no tool that is likely to do it, in catalogues of 199 to 3,205 tools.
const MIN_GOOD_FIT: f64 = 0.46;
const GOOD_FIT_TOOL_COUNT: f64 = 500.0;
const GOOD_FIT_PER_DOUBLING: f64 = 0.055;

/// From here on it shares something with the question.
const MIN_WEAK_FIT: f64 = 0.3;

/// Where nothing is likely to do it, the nearest are told, so many.
const MAX_NEAREST: usize = 5;

/// The list ends where scores fall below this share of the best.
const MIN_SCORE_SHARE: f64 = 0.5;

/// The tools of all servers. A tool's number is its place among them.
pub struct ToolSegments<'a> {
    segments: Vec<&'a ToolSegment>,
    count: usize,
}

/// What is asked of them.
pub struct ToolSearch<'a> {
    /// The question in any words, then its [parts](super::asked), if it has any.
    pub queries: &'a [ToolQuery<'a>],
    /// The tools that may be found, by number.
    pub allowed: &'a RowSet,
    /// The most hits.
    pub limit: usize,
    /// 0 to 1; hits below are left out.
    pub min_score: f64,
}

/// A question, or a part of one.
pub struct ToolQuery<'a> {
    /// Its words.
    pub text: &'a str,
    /// How near each tool is to it, by number; none where it has no vector. Empty where the text has none.
    pub cosines: Vec<Option<f32>>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolMatches {
    /// Best first, ties by server and name.
    pub tools: Vec<ToolMatch>,
    /// Words of the question that no tool has that may be found.
    pub unmatched_terms: Vec<String>,
}

/// A tool that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolMatch {
    /// Its number.
    pub tool: usize,
    /// 0 to 1, comparable within one search.
    pub score: f64,
    /// How well it answers, whatever the others; never [`Fit::Nothing`] in what a search finds.
    pub fit: MatchQuality,
    /// Whether the question is its name or the beginning of it.
    pub named: bool,
}

/// What is known of a tool and the question, or a part of it.
#[derive(Clone, Copy, Default)]
struct ToolScores {
    /// 0 to 1, of what the best has.
    share: f64,
    /// 0 to 1.5, and the same in every search.
    fit: f64,
}

impl<'a> ToolSegments<'a> {
    /// The tools of these servers.
    pub fn new(segments: Vec<&'a ToolSegment>) -> Self {
        let count = segments.iter().map(|segment| segment.tools().len()).sum();
        Self { segments, count }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Each of them, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &'a IndexedTool> {
        self.segments.iter().flat_map(|segment| segment.tools())
    }

    pub(super) fn segments(&self) -> &[&'a ToolSegment] {
        &self.segments
    }

    /// Looks for tools. Takes time in proportion to the tools, and to how many of them have each term.
    pub fn search(&self, search: &ToolSearch<'_>) -> ToolMatches {
        let mut found = self.rank(search);
        let nothing_good =
            found.tools.iter().all(|tool| matches!(tool.fit, MatchQuality::Weak | MatchQuality::Nothing));
        let most = if nothing_good { search.limit.min(MAX_NEAREST) } else { search.limit };
        let unnamed = found.tools.iter().find(|tool| !tool.named);
        let least = search.min_score.max(unnamed.map_or(0.0, |best| best.score * MIN_SCORE_SHARE));
        found.tools.retain(|tool| tool.fit != MatchQuality::Nothing && tool.score >= least);
        found.tools.truncate(most);
        found
    }

    /// Every tool that may be found, best first, those too that do not fit: what [`search`](Self::search) takes its hits from.
    pub fn rank(&self, search: &ToolSearch<'_>) -> ToolMatches {
        let Some((question, parts)) = search.queries.split_first() else { return ToolMatches::default() };
        let tools: Vec<&IndexedTool> = self.iter().collect();
        let lengths = ToolLengths::new(&tools, search.allowed);
        let (mut scores, unmatched_terms) = self.scores(question, search.allowed, &lengths);
        let mut best_part = vec![ToolScores::default(); self.count];
        for part in parts {
            for (best, of_part) in best_part.iter_mut().zip(self.scores(part, search.allowed, &lengths).0) {
                best.share = best.share.max(of_part.share);
                best.fit = best.fit.max(of_part.fit);
            }
        }
        if !parts.is_empty() {
            for (of_tool, part) in scores.iter_mut().zip(&best_part) {
                of_tool.share = (of_tool.share + PART_WEIGHT * part.share * part.share) / (1.0 + PART_WEIGHT);
                of_tool.fit = of_tool.fit.max(part.fit);
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

    /// What each tool has, by its number, and the words that none of them has.
    fn scores(
        &self,
        asked: &ToolQuery<'_>,
        allowed: &RowSet,
        lengths: &ToolLengths,
    ) -> (Vec<ToolScores>, Vec<String>) {
        let words = WordScores::new(self, asked.text, allowed, lengths);
        let cosine = |tool: usize| {
            let known = asked.cosines.get(tool).copied().flatten().filter(|cosine| cosine.is_finite());
            known.map(|cosine| f64::from(cosine).clamp(0.0, 1.0))
        };
        let of_allowed = (0..self.count).filter(|tool| allowed.contains(*tool));
        let nearest = of_allowed.filter_map(cosine).fold(0.0, f64::max);
        let of_tool = |tool: usize| {
            let (share, held) =
                (ratio(words.scores[tool], words.best), ratio(words.scores[tool], words.most));
            match cosine(tool) {
                Some(cosine) if nearest > 0.0 => ToolScores {
                    share: WORD_WEIGHT * share + (1.0 - WORD_WEIGHT) * cosine / nearest,
                    fit: cosine + WORD_SHARE_WEIGHT * held,
                },
                _ => ToolScores { share, fit: WORD_SHARE_WEIGHT_ALONE * held },
            }
        };
        ((0..self.count).map(of_tool).collect(), words.unmatched)
    }
}

fn ratio(value: f64, whole: f64) -> f64 {
    if whole > 0.0 { (value / whole).clamp(0.0, 1.0) } else { 0.0 }
}

/// From where on a tool is likely to do what is asked for, where so many may be found.
fn min_good_fit(tools: f64) -> f64 {
    MIN_GOOD_FIT + GOOD_FIT_PER_DOUBLING * (tools / GOOD_FIT_TOOL_COUNT).max(1.0).log2()
}

fn fit(name: NameMatch, fit: f64, good: f64) -> MatchQuality {
    match name {
        NameMatch::Exact => MatchQuality::Names,
        // Words are counted as they are written, and `readFile` begins `read_file_range` all the same.
        NameMatch::Prefix => MatchQuality::Good,
        NameMatch::No if fit >= good => MatchQuality::Good,
        NameMatch::No if fit >= MIN_WEAK_FIT => MatchQuality::Weak,
        NameMatch::No => MatchQuality::Nothing,
    }
}
