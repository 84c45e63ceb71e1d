//! Preset parameters.

use gatehouse_sdk::{Count, Offset};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Preset parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// Minimum bytes of a result to process; smaller ones pass unchanged.
    pub threshold_bytes: Offset,
    /// Minimum bytes of a result to shorten; smaller ones are compacted without loss, or pass unchanged.
    pub digest_above: Count,
    /// Tools whose results pass unchanged, because exact text matters. `*` matches any characters, `?` one.
    pub exclude: Vec<String>,
    /// Hours to store full results and to reuse summaries.
    pub ttl_hours: Count,
    /// Arguments that are free-text questions. The first one in a call can be worded differently from that of an
    /// earlier call whose summary is reused.
    pub free_text: Vec<String>,
    /// Minimum similarity of two such questions (cosine, 0 to 1); 1 disables reuse for other questions.
    pub cache_similarity: f64,
    /// Maximum characters for the client if a result could not be shortened.
    pub return_limit_chars: Count,
    /// Whether the host's language model, if configured, writes the summaries. It then reads the results.
    pub use_llm: bool,
}

/// Tools that read files and changes, with the names that widely used servers give them.
const EXACT_TOOLS: [&str; 7] = [
    "*read_file*",
    "*read_text_file*",
    "*read_multiple_files*",
    "*get_file*",
    "*git_diff*",
    "*git_show*",
    "*grep*",
];

impl Default for Params {
    fn default() -> Self {
        Self {
            threshold_bytes: Offset::new(2_048),
            digest_above: Count::new(5_120),
            exclude: EXACT_TOOLS.map(Into::into).to_vec(),
            ttl_hours: Count::new(3),
            free_text: ["query", "question", "q"].map(Into::into).to_vec(),
            cache_similarity: 0.6,
            return_limit_chars: Count::new(10_000),
            use_llm: true,
        }
    }
}

impl Params {
    pub(crate) fn ttl_ms(&self) -> u64 {
        u64::from(self.ttl_hours.at_most(24 * 365)) * 60 * 60 * 1000
    }

    pub(crate) fn excludes(&self, tool: &str) -> bool {
        let tool = tool.to_lowercase();
        self.exclude.iter().any(|glob| matches(&glob.to_lowercase(), &tool))
    }
}

fn matches(glob: &str, name: &str) -> bool {
    let (glob, name): (Vec<char>, Vec<char>) = (glob.chars().collect(), name.chars().collect());
    let (mut g, mut n) = (0, 0);
    // Position of the last star, and the end of the text it matches.
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
        assert!(!matches(&"*a".repeat(200), &"b".repeat(200)));
    }
}
