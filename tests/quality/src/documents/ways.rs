//! Methods to shorten a document: its beginning, the best passages by BM25, the same with diversity (MMR), and the
//! extractor.

use anyhow::{Result, anyhow};
use gatehouse_core::ports::{TextCompressor as _, TokenCounter as _, text::TokenEncoding};
use gatehouse_text::{BpeTokenCounter, Extractor, LocalEmbedder};
use std::collections::HashMap;

type Shorten = fn(&Passages, &str, usize) -> Result<String>;

pub(super) const WAYS: [(&str, Shorten); 4] =
    [("head", head), ("BM25 passages", bm25), ("MMR", mmr), ("extract", extract)];

const PASSAGE: usize = 120;

/// Usual MMR weight of relevance against diversity (Carbonell and Goldstein 1998).
const RELEVANCE: f64 = 0.7;

pub(super) struct Passages<'a> {
    text: &'a str,
    passages: Vec<Passage<'a>>,
    /// Number of passages that contain each word.
    words: HashMap<String, usize>,
    average: f64,
}

struct Passage<'a> {
    text: &'a str,
    tokens: usize,
    words: HashMap<String, f64>,
    length: f64,
    vector: Option<Vec<f32>>,
}

impl<'a> Passages<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let (mut start, mut end, mut tokens) = (0, 0, 0);
        let mut passages = Vec::new();
        for line in text.split_inclusive('\n').flat_map(sentences) {
            let more = BpeTokenCounter.count(line, TokenEncoding::O200k);
            if tokens > 0 && tokens + more > PASSAGE {
                passages.push(Passage::of(&text[start..end], tokens));
                (start, tokens) = (end, 0);
            }
            end += line.len();
            tokens += more;
        }
        passages.push(Passage::of(&text[start..end], tokens));
        let mut words: HashMap<String, usize> = HashMap::new();
        passages
            .iter()
            .flat_map(|p| p.words.keys())
            .for_each(|word| *words.entry(word.clone()).or_default() += 1);
        let average = passages.iter().map(|p| p.length).sum::<f64>() / passages.len() as f64;
        Self { text, passages, words, average }
    }

    fn scores(&self, question: &str) -> Vec<f64> {
        let count = self.passages.len() as f64;
        let asked = words(question);
        let score = |passage: &Passage| {
            let weight = |word: &String| {
                let times = passage.words.get(word).copied().unwrap_or_default();
                let with = self.words.get(word).copied().unwrap_or_default() as f64;
                let idf = (1.0 + (count - with + 0.5) / (with + 0.5)).ln();
                idf * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * passage.length / self.average))
            };
            asked.keys().map(weight).sum()
        };
        self.passages.iter().map(score).collect()
    }

    /// Takes passages in this order while they fit and joins them in document order.
    fn joined(&self, order: &[usize], budget: usize) -> String {
        let mut left = budget;
        let mut taken: Vec<usize> = Vec::new();
        for index in order {
            if self.passages[*index].tokens <= left {
                left -= self.passages[*index].tokens;
                taken.push(*index);
            }
        }
        taken.sort_unstable();
        taken.iter().map(|index| self.passages[*index].text).collect()
    }
}

impl<'a> Passage<'a> {
    fn of(text: &'a str, tokens: usize) -> Self {
        let words = words(text);
        let length = words.values().sum();
        Self { text, tokens, words, length, vector: LocalEmbedder.vector(text) }
    }
}

fn sentences(line: &str) -> Vec<&str> {
    if line.len() > 400 { line.split_inclusive(". ").collect() } else { vec![line] }
}

fn words(text: &str) -> HashMap<String, f64> {
    let mut words = HashMap::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        *words.entry(word.to_lowercase()).or_default() += 1.0;
    }
    words
}

fn head(document: &Passages, _: &str, budget: usize) -> Result<String> {
    Ok(BpeTokenCounter.token_prefix(document.text, budget, TokenEncoding::O200k).to_owned())
}

fn bm25(document: &Passages, question: &str, budget: usize) -> Result<String> {
    let scores = document.scores(question);
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    Ok(document.joined(&order, budget))
}

fn mmr(document: &Passages, question: &str, budget: usize) -> Result<String> {
    let mut scores = document.scores(question);
    let most = scores.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    scores.iter_mut().for_each(|score| *score /= most);
    let mut near = vec![0.0_f64; scores.len()];
    let mut left: Vec<usize> = (0..scores.len()).collect();
    let (mut order, mut tokens) = (Vec::new(), 0);
    // Rank twice the budget, so that smaller passages can fill the gap that a long one leaves.
    while tokens < 2 * budget && !left.is_empty() {
        let value = |i: usize| RELEVANCE * scores[i] - (1.0 - RELEVANCE) * near[i];
        let best = (0..left.len()).rev().max_by(|a, b| value(left[*a]).total_cmp(&value(left[*b])));
        let chosen = left.remove(best.unwrap_or_default());
        tokens += document.passages[chosen].tokens;
        order.push(chosen);
        for i in &left {
            let pair = document.passages[*i].vector.as_ref().zip(document.passages[chosen].vector.as_ref());
            let cosine = pair.map(|(a, b)| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum());
            near[*i] = near[*i].max(cosine.unwrap_or_default());
        }
    }
    Ok(document.joined(&order, budget))
}

fn extract(document: &Passages, question: &str, budget: usize) -> Result<String> {
    let extract =
        Extractor.extract(document.text, question, budget as u32).map_err(|fault| anyhow!("{fault}"))?;
    Ok(extract.text)
}
