//! Scores and ranks tools, and cuts off the list.

use super::{
    evidence::{MatchEvidence, verdict},
    parts::{QueryPart, QueryPartKind},
    segment::{IndexedTool, ToolSegment},
    verbs,
    words::{ToolLengths, WordScores},
};
use crate::{
    ToolId,
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

/// Number of tools that are always listed.
const MIN_LISTED: usize = 5;

/// Number of tools that are listed however little they fit, if they have at least this share of the best score. A
/// smaller share finds no more on three public sets.
const MAX_NEAREST: usize = 10;
const NEAR_BEST: f64 = 0.7;

/// Further results below this share of the best score are dropped.
const MIN_SCORE_SHARE: f64 = 0.5;

/// Factor on the score of a deprecated tool, so that its successor comes first.
const DEPRECATED_FACTOR: f64 = 0.7;

/// Tools of all servers. A tool's number is its index.
pub struct ToolSegments<'a> {
    segments: Vec<&'a ToolSegment>,
    count: usize,
}

pub struct ToolSearch<'a> {
    /// The [parts](super::query_parts) of a question, the whole question first.
    pub queries: &'a [ToolQuery<'a>],
    /// Tools that the caller may see.
    pub allowed: &'a RowSet,
    pub limit: usize,
    pub min_score: f64,
}

pub struct ToolQuery<'a> {
    pub part: QueryPart<'a>,
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
    /// [`MatchQuality::Nothing`] if it is only one of the nearest.
    pub fit: MatchQuality,
}

impl<'a> ToolQuery<'a> {
    pub fn new(question: &'a str, cosines: Vec<Option<f32>>) -> Self {
        Self { part: QueryPart { text: question.into(), kind: QueryPartKind::Question }, cosines }
    }
}

struct TextScores<'a> {
    query: &'a ToolQuery<'a>,
    words: WordScores,
    tool_count: f64,
    best_cosine: f64,
    mean_cosine: f64,
    cosine_deviation: f64,
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
    ///
    /// Lists the five nearest tools however little they fit, and up to ten where scores fall slowly. Further tools have
    /// at least half of the best score and may fit the question.
    pub fn search(&self, search: &ToolSearch<'_>) -> ToolMatches {
        let tools: Vec<&IndexedTool> = self.iter().collect();
        let texts = self.texts(search, &tools);
        let ranked = self.rank(&texts, search.allowed, &tools);
        let (readings, _) = split_readings(&texts);
        let keeps = verbs::keeps(readings.iter().map(|text| text.query.part.text.as_ref()));
        let best = ranked.iter().find(|tool| tool.name == NameMatch::No).map_or(0.0, |tool| tool.score);
        let mut matches = Vec::new();
        for (place, ranked) in ranked.into_iter().take(search.limit).enumerate() {
            let (_, tool) = ranked.key;
            let fit = match ranked.name {
                NameMatch::Exact => MatchQuality::Names,
                // The word score does not recognize that `readFile` is a prefix of `read_file_range`.
                NameMatch::Prefix => MatchQuality::Good,
                NameMatch::No if keeps && tools[tool].deletes => MatchQuality::Nothing,
                NameMatch::No => verdict(self.probability(&texts, tools[tool], tool)),
            };
            let share = ranked.score / best;
            let listed = place < MIN_LISTED
                || (place < MAX_NEAREST && share >= NEAR_BEST)
                || (share >= MIN_SCORE_SHARE && fit != MatchQuality::Nothing);
            if listed && ranked.score > 0.0 && ranked.score >= search.min_score {
                matches.push(ToolMatch { tool, score: ranked.score, fit });
            }
        }
        ToolMatches { tools: matches, unmatched_terms: unmatched_terms(readings) }
    }

    /// Returns the evidence for the best tools, by text of the search. For measurements.
    pub fn evidence(&self, search: &ToolSearch<'_>, depth: usize) -> Vec<Vec<MatchEvidence>> {
        let tools: Vec<&IndexedTool> = self.iter().collect();
        let texts = self.texts(search, &tools);
        let ranked = self.rank(&texts, search.allowed, &tools);
        let of_tool = |tool: usize| texts.iter().map(|text| text.evidence(self, tools[tool], tool)).collect();
        ranked.into_iter().take(depth).map(|ranked| of_tool(ranked.key.1)).collect()
    }

    /// Returns the scores of the question, then those of its parts.
    fn texts<'q>(&self, search: &ToolSearch<'q>, tools: &[&IndexedTool]) -> Vec<TextScores<'q>> {
        let lengths = ToolLengths::new(tools, search.allowed);
        let queries = search.queries.iter();
        let mut texts: Vec<TextScores<'_>> =
            queries.map(|query| TextScores::new(self, query, search.allowed, &lengths)).collect();
        compare_readings(&mut texts);
        texts
    }

    /// Ranks every allowed tool, best first. Empty without a text.
    fn rank<'t>(
        &self,
        texts: &[TextScores<'_>],
        allowed: &RowSet,
        tools: &'t [&IndexedTool],
    ) -> Vec<RankedCandidate<(&'t ToolId, usize)>> {
        let (readings, sentences) = split_readings(texts);
        let Some(question) = readings.first() else { return Vec::new() };
        let name = NameQuery::new(&question.query.part.text);
        let best =
            |texts: &[TextScores<'_>], tool| texts.iter().map(|text| text.share(tool)).fold(0.0, f64::max);
        let score = |tool: usize| {
            let question = best(readings, tool);
            if sentences.is_empty() {
                return question;
            }
            let best_part = best(sentences, tool);
            (question + PART_WEIGHT * best_part * best_part) / (1.0 + PART_WEIGHT)
        };
        let allowed = (0..self.count).filter(|tool| allowed.contains(*tool));
        let candidates = allowed.map(|tool| {
            let name = name.matches_key(&tools[tool].key);
            let factor = if tools[tool].deprecated { DEPRECATED_FACTOR } else { 1.0 };
            RankedCandidate { key: (&tools[tool].id, tool), score: factor * score(tool), name, cosine: None }
        });
        sort_ranked(candidates.collect())
    }

    /// Returns the probability that a tool serves the whole question or one of its parts.
    fn probability(&self, texts: &[TextScores<'_>], indexed: &IndexedTool, tool: usize) -> f64 {
        texts.iter().map(|text| text.evidence(self, indexed, tool).probability()).fold(0.0, f64::max)
    }

    /// Returns the segment of a tool and its number there.
    fn locate(&self, mut tool: usize) -> Option<(&'a ToolSegment, usize)> {
        for segment in &self.segments {
            match tool.checked_sub(segment.tools().len()) {
                Some(after) => tool = after,
                None => return Some((segment, tool)),
            }
        }
        None
    }
}

/// Returns the question with its gloss, and its sentences.
fn split_readings<'t, 'q>(texts: &'t [TextScores<'q>]) -> (&'t [TextScores<'q>], &'t [TextScores<'q>]) {
    texts.split_at(texts.partition_point(|text| text.query.part.kind != QueryPartKind::Sentence))
}

/// Returns the words of the question that no tool has, except those that the gloss replaces.
fn unmatched_terms(readings: &[TextScores<'_>]) -> Vec<String> {
    let [question, gloss @ ..] = readings else { return Vec::new() };
    let mut unmatched = question.words.unmatched.clone();
    unmatched.retain(|word| gloss.iter().all(|text| text.words.lacks(word)));
    unmatched
}

/// Makes the scores of the question and its gloss comparable: both are relative to the better of their best scores.
fn compare_readings(texts: &mut [TextScores<'_>]) {
    let [question, gloss, ..] = texts else { return };
    if gloss.query.part.kind == QueryPartKind::Gloss {
        let words = question.words.best.max(gloss.words.best);
        let cosine = question.best_cosine.max(gloss.best_cosine);
        for text in [question, gloss] {
            text.words.best = words;
            text.best_cosine = cosine;
        }
    }
}

impl<'a> TextScores<'a> {
    fn new(
        tools: &ToolSegments<'_>,
        query: &'a ToolQuery<'a>,
        allowed: &RowSet,
        lengths: &ToolLengths,
    ) -> Self {
        let words = WordScores::new(tools, &query.part, allowed, lengths);
        let mut scores = Self {
            query,
            words,
            tool_count: lengths.count,
            best_cosine: 0.0,
            mean_cosine: 0.0,
            cosine_deviation: 0.0,
        };
        let allowed_tools = (0..tools.len()).filter(|tool| allowed.contains(*tool));
        let cosines: Vec<f64> = allowed_tools.filter_map(|tool| scores.cosine(tool)).collect();
        if !cosines.is_empty() {
            let count = cosines.len() as f64;
            scores.mean_cosine = cosines.iter().sum::<f64>() / count;
            let squares: f64 = cosines.iter().map(|cosine| (cosine - scores.mean_cosine).powi(2)).sum();
            scores.cosine_deviation = (squares / count).sqrt();
            scores.best_cosine = cosines.iter().copied().fold(0.0, f64::max);
        }
        scores
    }

    fn cosine(&self, tool: usize) -> Option<f64> {
        let cosine = self.query.cosines.get(tool).copied().flatten().filter(|cosine| cosine.is_finite());
        cosine.map(|cosine| f64::from(cosine).clamp(0.0, 1.0))
    }

    /// Returns the score of a tool relative to the best, 0 to 1.
    fn share(&self, tool: usize) -> f64 {
        let words = share(self.words.scores[tool], self.words.best);
        match self.cosine(tool) {
            Some(cosine) if self.best_cosine > 0.0 => {
                WORD_WEIGHT * words + (1.0 - WORD_WEIGHT) * cosine / self.best_cosine
            }
            _ => words,
        }
    }

    fn evidence(&self, tools: &ToolSegments<'_>, indexed: &IndexedTool, tool: usize) -> MatchEvidence {
        let cosine = self.cosine(tool);
        let deviation = |cosine| (cosine - self.mean_cosine) / self.cosine_deviation;
        let located = tools.locate(tool);
        let (rarity_held, rarity_share) =
            located.map_or((0.0, 0.0), |(segment, tool)| self.words.rarity_held(segment, tool));
        MatchEvidence {
            cosine,
            cosine_deviation: cosine.filter(|_| self.cosine_deviation > 0.0).map_or(0.0, deviation),
            rarity_share,
            rarity_held,
            name_cover: self.words.name_cover(&indexed.spec.name),
            words_known: self.words.known(),
            tool_count: self.tool_count,
            spaceless: self.words.is_spaceless(),
        }
    }
}
