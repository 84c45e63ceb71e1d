//! Near-twins: tools of different servers with almost identical descriptions. One may be a malicious copy, so their
//! text does not decide the order.

use std::{
    cmp::Ordering,
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::segment::parameters;
use crate::{
    SourceId, ToolId, ToolSpec,
    ports::ledger::ToolMetrics,
    search::{for_each_term, name::name_key},
};

/// Minimum share of common words, of all words of both tools.
const MIN_SHARED_WORDS: f64 = 0.7;

const MAX_COMPARED_BYTES: usize = 4 * 1024;
const MAX_COMPARED_TOOLS: usize = 100;

pub type ServerPositions = HashMap<Arc<str>, usize>;

/// Order of near-twins: by expected success, then by the server's position in the configuration.
#[derive(Debug, Default)]
pub struct TwinOrder {
    positions: ServerPositions,
    records: HashMap<ToolId, f64>,
}

impl TwinOrder {
    /// A tool without metrics has an expected success of 0.5.
    pub fn new(positions: ServerPositions, metrics: &[ToolMetrics]) -> Self {
        let record = |entry: &ToolMetrics| {
            let id = ToolId { source: entry.source.clone(), name: entry.tool.as_str().into() };
            (id, entry.expected_success())
        };
        Self { positions, records: metrics.iter().map(record).collect() }
    }

    /// Compares two near-twins; the preferred one is less.
    pub fn compare(&self, a: &ToolId, b: &ToolId) -> Ordering {
        let record = |id: &ToolId| self.records.get(id).copied().unwrap_or(0.5);
        let position = |id: &ToolId| match &id.source {
            SourceId::Server(name) => self.positions.get(name).copied().unwrap_or(usize::MAX),
            SourceId::Gate(_) => usize::MAX,
        };
        record(b).total_cmp(&record(a)).then_with(|| position(a).cmp(&position(b))).then_with(|| a.cmp(b))
    }
}

/// Groups near-twins, with at most one tool per server in a group. Keeps the input order.
pub fn group_twins<T>(tools: Vec<T>, tool: impl Fn(&T) -> (&ToolId, &ToolSpec)) -> Vec<Vec<T>> {
    let mut groups: Vec<(ToolWords, Vec<T>)> = Vec::with_capacity(tools.len());
    for (number, one) in tools.into_iter().enumerate() {
        let (id, spec) = tool(&one);
        let words = ToolWords::from_spec(spec);
        let other_servers = |tools: &[T]| tools.iter().all(|other| tool(other).0.source != id.source);
        let twin = |(group_words, tools): &(ToolWords, Vec<T>)| {
            words.is_near_twin(group_words) && other_servers(tools)
        };
        match groups.iter().position(twin).filter(|_| number < MAX_COMPARED_TOOLS) {
            Some(place) => groups[place].1.push(one),
            None => groups.push((words, vec![one])),
        }
    }
    groups.into_iter().map(|(_, tools)| tools).collect()
}

struct ToolWords(HashSet<String>);

impl ToolWords {
    fn from_spec(spec: &ToolSpec) -> Self {
        let mut words = HashSet::from([name_key(&spec.name)]);
        let mut put = |text: &str| {
            for_each_term(text, |term| {
                words.insert(term.to_owned());
            });
        };
        put(&spec.name);
        put(&spec.description[..spec.description.floor_char_boundary(MAX_COMPARED_BYTES)]);
        parameters(&spec.input_schema).into_iter().for_each(put);
        Self(words)
    }

    fn is_near_twin(&self, other: &Self) -> bool {
        let (few, many) = (self.0.len().min(other.0.len()), self.0.len().max(other.0.len()));
        if (few as f64) < MIN_SHARED_WORDS * many as f64 {
            return false;
        }
        let shared = self.0.intersection(&other.0).count() as f64;
        let total = self.0.len() as f64 + other.0.len() as f64 - shared;
        shared >= MIN_SHARED_WORDS * total
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing;

    fn tool(server: &str, name: &str, description: &str) -> (ToolId, ToolSpec) {
        let mut spec = testing::tool(name, None);
        spec.description = description.into();
        let schema = json!({"type": "object", "properties": {"to": {}, "subject": {}, "body": {}}});
        spec.input_schema = Arc::new(schema.as_object().cloned().expect("an object"));
        (ToolId { source: SourceId::Server(server.into()), name: name.into() }, spec)
    }

    fn names(tools: Vec<(ToolId, ToolSpec)>) -> Vec<Vec<String>> {
        let groups = group_twins(tools, |(id, spec)| (id, spec));
        let name = |(id, _): &(ToolId, ToolSpec)| format!("{}.{}", id.source.name(), id.name);
        groups.iter().map(|group| group.iter().map(name).collect()).collect()
    }

    #[test]
    fn slightly_changed_copy_is_a_twin() {
        let text = "Sends an e-mail from the account of the user. Attachments are not sent along.";
        let copied = "Sends an e-mail from the user's account. Attachments are never sent along.";
        let groups = names(vec![
            tool("evil", "send-email", text),
            tool("mail", "send_email", text),
            tool("mail", "send_email_now", text),
            tool("copy", "sendEmail", copied),
            tool("chat", "send_message", "Sends a message to a channel of the team."),
        ]);
        let expected = [
            vec!["evil.send-email", "mail.send_email", "copy.sendEmail"],
            vec!["mail.send_email_now"],
            vec!["chat.send_message"],
        ];
        assert_eq!(groups, expected);
    }

    #[test]
    fn twins_are_ordered_by_success_then_configuration() {
        let positions = ServerPositions::from([("mail".into(), 0), ("evil".into(), 1)]);
        let (mail, evil) = (tool("mail", "send", "").0, tool("evil", "send", "").0);
        let metrics = |id: &ToolId, calls, errors| testing::metrics(id, calls, errors, 0);
        let order = TwinOrder::new(positions.clone(), &[]);
        assert_eq!(order.compare(&mail, &evil), Ordering::Less, "the first that is configured");
        let order = TwinOrder::new(positions.clone(), &[metrics(&mail, 1_000, 50), metrics(&evil, 1, 0)]);
        assert_eq!(order.compare(&mail, &evil), Ordering::Less, "one call is not enough");
        let order = TwinOrder::new(positions, &[metrics(&mail, 10, 10), metrics(&evil, 10, 0)]);
        assert_eq!(order.compare(&mail, &evil), Ordering::Greater, "a failing tool is not preferred");
    }
}
