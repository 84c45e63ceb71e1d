//! What a preset may set.

use gatehouse_sdk::{Count, Offset};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a preset may set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// Bytes from which a result is looked at; smaller ones pass as they are.
    pub threshold_bytes: Offset,
    /// Bytes from which a result is told in short; below, it gets a form that leaves nothing out, or passes as it is.
    pub digest_above: Count,
    /// Tools whose results are never told in short, because what they bring is wanted to the letter. `*` stands for any
    /// characters, `?` for one.
    pub exclude: Vec<String>,
    /// Hours that whole results are kept, and that summaries are used again.
    pub ttl_hours: Count,
    /// Arguments that are questions in free words. The first one that a call has may be worded differently from that of an
    /// earlier call whose summary is used again.
    pub free_text: Vec<String>,
    /// How alike two such questions must be (cosine, 0 to 1); 1 uses no summary for another question.
    pub cache_similarity: f64,
    /// Characters of a result that a client gets at most where it could not be told in short.
    pub return_limit_chars: Count,
    /// Whether the host's language model writes the summaries, where one is configured. It then reads the results.
    pub use_llm: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            threshold_bytes: Offset::new(2_048),
            digest_above: Count::new(5_120),
            exclude: ["*read_file*", "*get_file*", "*grep*"].map(Into::into).to_vec(),
            ttl_hours: Count::new(3),
            free_text: ["query", "question", "q"].map(Into::into).to_vec(),
            cache_similarity: 0.92,
            return_limit_chars: Count::new(10_000),
            use_llm: true,
        }
    }
}

impl Params {
    /// Milliseconds that results and summaries are kept.
    pub(crate) fn ttl_ms(&self) -> u64 {
        u64::from(self.ttl_hours.at_most(24 * 365)) * 60 * 60 * 1000
    }

    /// Whether results of a tool of this name are wanted to the letter.
    pub(crate) fn excludes(&self, tool: &str) -> bool {
        let tool = tool.to_lowercase();
        self.exclude.iter().any(|glob| matches(&glob.to_lowercase(), &tool))
    }
}

/// Whether a glob of `*` and `?` matches a whole name.
fn matches(glob: &str, name: &str) -> bool {
    let (glob, name): (Vec<char>, Vec<char>) = (glob.chars().collect(), name.chars().collect());
    let (mut g, mut n) = (0, 0);
    // Where the last star stands, and how much of the name it has taken.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match glob.get(g) {
            Some('*') => {
                star = Some((g, n));
                g += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => (g, n) = (g + 1, n + 1),
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    (g, n) = (at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    glob[g..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn globs_match_whole_names() {
        assert!(matches("*read_file*", "fs__read_file") && matches("a?c*", "abc") && matches("*", ""));
        assert!(!matches("read", "read_file") && !matches("*grep", "grep_all") && !matches("a?", "a"));
        // No glob takes longer than its length times that of the name.
        assert!(!matches(&"*a".repeat(200), &"b".repeat(200)));
    }
}
