//! Finds the lines of a long text that contain most of a question's words.

use super::FitScorer;

const PASSAGE_LINES: usize = 12;

/// Limits the time that a hostile text can take, which would be lines times words.
const MAX_LINES_PER_WORD: usize = 10_000;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Passage {
    /// First line, from 1.
    pub first: u32,
    /// Inclusive; at most 11 lines after the first.
    pub last: u32,
    /// Share of the question's words that the passage contains, above 0.
    pub word_share: f32,
}

impl FitScorer {
    /// Returns the first passage that contains most of the question's words. `None` if the text contains none of them.
    /// Runs in linear time.
    pub fn best_passage(&self, text: &str) -> Option<Passage> {
        let text = text.to_lowercase();
        let mut found: Vec<(usize, usize)> = Vec::new();
        for (word, stem) in self.stems.iter().enumerate() {
            let (mut line, mut counted, mut last) = (0, 0, None);
            for at in stem.positions(&text) {
                line += text.as_bytes()[counted..at].iter().filter(|byte| **byte == b'\n').count();
                counted = at;
                if last != Some(line) {
                    last = Some(line);
                    found.push((line, word));
                }
                if found.len() >= MAX_LINES_PER_WORD * (word + 1) {
                    break;
                }
            }
        }
        found.sort_unstable();
        let mut counts = vec![0_u32; self.stems.len()];
        let (mut from, mut distinct, mut best) = (0, 0, None);
        for (line, word) in found.iter().copied() {
            distinct += u32::from(counts[word] == 0);
            counts[word] += 1;
            while found[from].0 + PASSAGE_LINES <= line {
                let dropped = found[from].1;
                counts[dropped] -= 1;
                distinct -= u32::from(counts[dropped] == 0);
                from += 1;
            }
            if best.is_none_or(|(most, _, _)| distinct > most) {
                best = Some((distinct, found[from].0, line));
            }
        }
        let (distinct, first, last) = best?;
        let line = |line: usize| u32::try_from(line + 1).unwrap_or(u32::MAX);
        Some(Passage {
            first: line(first),
            last: line(last),
            word_share: distinct as f32 / self.stems.len() as f32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_most_words_are_found() {
        let text =
            format!("retry\n{}the pause\nof a RETRY\nof calls\n{}pauses", "x\n".repeat(50), "x\n".repeat(50));
        let found = FitScorer::new("retries pause for calls").best_passage(&text).expect("a passage");
        assert_eq!((found.first, found.last, found.word_share), (52, 54, 1.0));
        assert_eq!(
            FitScorer::new("retry moon").best_passage(&text).map(|found| (found.first, found.word_share)),
            Some((1, 0.5))
        );
        assert_eq!(FitScorer::new("nothing").best_passage(&text), None);
        assert_eq!(FitScorer::new("").best_passage(&text), None);
        assert_eq!(FitScorer::new("retry").best_passage(""), None);
    }

    #[test]
    fn hostile_text_takes_linear_time() {
        let text = "a b c d e f g h i j k l m\n".repeat(100_000);
        let found = FitScorer::new("b c d e f g h j k l m").best_passage(&text).expect("a passage");
        assert_eq!((found.first, found.last, found.word_share), (1, 1, 1.0));
        let line = "word ".repeat(500_000);
        assert_eq!(FitScorer::new("words").best_passage(&line).map(|found| found.last), Some(1));
    }
}
