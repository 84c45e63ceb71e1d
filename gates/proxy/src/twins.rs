//! Near-twins: tools of several servers that say the same of themselves. The host puts them together; a reply shows them
//! in one line, so that a copy is seen as one.

use std::collections::HashSet;

use gatehouse_sdk::servers::ToolHit;
use schemars::JsonSchema;
use serde::Serialize;

/// Share of the words of two descriptions that near-twins have in common.
const MIN_SHARED_WORDS: f64 = 0.7;

/// Another server's tool that says the same of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Twin {
    pub(crate) server: String,
    pub(crate) tool: String,
}

/// A hit with its near-twins.
pub(crate) struct TwinGroup {
    pub(crate) hit: ToolHit,
    pub(crate) twins: Vec<Twin>,
}

/// Takes near-twins together under the first of them.
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
    /// The host gives twins the same score, and at most one of each server.
    #[allow(clippy::float_cmp)] // It is a copy of the same number.
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

/// A line with the near-twins of its tool: `… [same on chat: send_message]`.
pub(crate) fn line(line: String, twins: &[Twin]) -> String {
    if twins.is_empty() {
        return line;
    }
    let names: Vec<String> = twins.iter().map(|twin| format!("{}: {}", twin.server, twin.tool)).collect();
    format!("{line} [same on {}]", names.join(", "))
}
