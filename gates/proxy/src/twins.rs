//! Near-twins: tools of different servers with nearly the same description. The host lists them next to each other, and
//! a reply shows them in one line, so the model sees that they are alike.

use std::collections::HashSet;

use gatehouse_sdk::servers::ToolHit;
use schemars::JsonSchema;
use serde::Serialize;

/// Minimum share of common words in the descriptions of near-twins.
const MIN_SHARED_WORDS: f64 = 0.7;

/// Similar tool of another server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Twin {
    pub(crate) server: String,
    pub(crate) tool: String,
}

pub(crate) struct TwinGroup {
    pub(crate) hit: ToolHit,
    pub(crate) twins: Vec<Twin>,
}

pub(crate) fn group_twins(hits: Vec<ToolHit>) -> Vec<TwinGroup> {
    let mut groups: Vec<TwinGroup> = Vec::new();
    for hit in hits {
        match groups.last_mut().filter(|group| group.is_twin(&hit)) {
            Some(group) => group.twins.push(Twin { server: hit.server, tool: hit.name }),
            None => groups.push(TwinGroup { hit, twins: Vec::new() }),
        }
    }
    groups
}

impl TwinGroup {
    /// Returns whether a hit belongs to this group. The host gives twins the same score and lists at most one per
    /// server.
    #[allow(clippy::float_cmp)] // copies of the same number
    fn is_twin(&self, other: &ToolHit) -> bool {
        let of_other =
            self.hit.server != other.server && self.twins.iter().all(|twin| twin.server != other.server);
        of_other && self.hit.score == other.score && are_similar(&self.hit.brief, &other.brief)
    }
}

fn are_similar(a: &str, b: &str) -> bool {
    let words = |text: &str| -> HashSet<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let (a, b) = (words(a), words(b));
    let shared = a.intersection(&b).count() as f64;
    shared >= MIN_SHARED_WORDS * a.union(&b).count() as f64
}

/// Appends the near-twins to a line: `… [same on chat: send_message]`.
pub(crate) fn line(line: String, twins: &[Twin]) -> String {
    if twins.is_empty() {
        return line;
    }
    let names: Vec<String> = twins.iter().map(|twin| format!("{}: {}", twin.server, twin.tool)).collect();
    format!("{line} [same on {}]", names.join(", "))
}
