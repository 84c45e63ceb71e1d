//! `search_tools`: finds tools by purpose. Each line of the reply shows how to call a tool.
//!
//! Near-twins are tools of different servers with nearly the same description. The host lists them next to each other,
//! and a reply shows them in one line, so the model sees that they are alike.

use std::collections::HashSet;

use gatehouse_sdk::{
    Call, Count, Fault, Reply, Tool,
    servers::{self, Fit, ToolHit, ToolSearch, ToolsFound},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Params, params::always_load, reply_format, servers::LIST};

pub(crate) const NAME: &str = "search_tools";

const MAX_HITS: u32 = 50;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    query: String,
    top_k: Option<Count>,
    min_similarity: Option<f64>,
    server: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct SearchHit {
    server: String,
    tool: String,
    description: String,
    /// 0 to 1, relative to the best.
    similarity: f64,
    /// names, good, weak or nothing.
    fit: &'static str,
    signature: String,
    /// Absent if the tool no longer exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<String>,
    /// Similar tools of other servers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    twins: Vec<Twin>,
}

#[derive(Serialize, JsonSchema)]
struct SearchResults {
    results: Vec<SearchHit>,
    unmatched_terms: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Args>(NAME)
        .description(|_| "Find tools of all servers by what they do.")
        .default_from("top_k", |_| 10.into())
        .meta(always_load)
        .idempotent()
        .output::<SearchResults>()
        .run(run)
}

fn run(_: &Call<Params>, args: Args) -> Result<Reply, Fault> {
    let is_foreign = is_foreign(&args.query);
    let matches = servers::search(&ToolSearch {
        query: args.query,
        server: args.server,
        limit: args.top_k.map_or(10, |top_k| top_k.at_most(MAX_HITS)),
        min_score: args.min_similarity.unwrap_or(0.0),
    })?;
    let ToolsFound { hits, unmatched_terms, note } = matches;
    let hits: Vec<CategorizedHit> = group_twins(hits).into_iter().map(CategorizedHit::from).collect();
    let mut text = text(&hits, &unmatched_terms, note.as_ref());
    if is_foreign && hits.iter().all(|entry| rank(entry.hit.fit) == 0) {
        text.push_str("\nMost tools are described in English: search again in English.");
    }
    let results = hits.into_iter().map(hit).collect();
    Reply::markdown(text).structured(&SearchResults { results, unmatched_terms, note })
}

/// Common words of questions in German, Spanish, French, Italian and Portuguese that are not English.
const FOREIGN_WORDS: &str = "\
    der das und ein eine einen wie zeige alle von mit ist nach auf den dem zum zur ich mir finde suche \
    el los las una del que en con para por como todos todas muestra busca esta \
    le les des une du est dans pour avec sur cherche montre tous \
    il lo gli di che una con cerca mostra tutti \
    um uma dos das procure todos";

/// Whether a question is probably not English: it has letters that English lacks, or several words of another language.
fn is_foreign(question: &str) -> bool {
    let lower = question.to_lowercase();
    let words = || lower.split(|c: char| !c.is_alphabetic());
    lower.chars().any(|c| c.is_alphabetic() && !c.is_ascii())
        || words()
            .filter(|word| FOREIGN_WORDS.split_whitespace().any(|foreign_word| foreign_word == *word))
            .count()
            > 1
}

/// Looks up the category in the index, without contacting the server.
fn category(hit: &ToolHit) -> Option<String> {
    servers::tool(&hit.server, &hit.name).ok().map(|tool| tool.category)
}

struct CategorizedHit {
    hit: ToolHit,
    twins: Vec<Twin>,
    category: Option<String>,
}

impl From<TwinGroup> for CategorizedHit {
    fn from(TwinGroup { hit, twins }: TwinGroup) -> Self {
        Self { category: category(&hit), hit, twins }
    }
}

/// Formats the verdict, one line per hit, and then notes. The category `other` is omitted because it says nothing.
fn text(hits: &[CategorizedHit], unmatched_terms: &[String], note: Option<&String>) -> String {
    let line = |CategorizedHit { hit, twins, category }: &CategorizedHit| {
        let line = with_server(&hit.server, &hit.signature);
        let line = match category.as_deref() {
            None | Some("other") => line,
            Some(category) => format!("{line} [{category}]"),
        };
        with_twins(line, twins)
    };
    let mut lines = by_fit(hits.iter().map(|entry| (line(entry), entry.hit.fit)));
    if hits.is_empty() {
        lines.extend(reply_format::hint(LIST, |list| format!("{list} lists the servers.")));
    }
    if !unmatched_terms.is_empty() {
        lines.push(format!("No tool has: {}.", reply_format::line(&unmatched_terms.join(", "), 200)));
    }
    lines.extend(note.cloned());
    lines.join("\n")
}

/// Returns the lines of tools below headings that say how they fit, best first. A heading costs fewer tokens than a mark
/// on each line.
pub(crate) fn by_fit(lines: impl IntoIterator<Item = (String, Fit)>) -> Vec<String> {
    let mut lines: Vec<(String, Fit)> = lines.into_iter().collect();
    lines.sort_by_key(|(_, fit)| std::cmp::Reverse(rank(*fit)));
    let Some((_, best)) = lines.first() else { return vec!["Nothing fits.".into()] };
    let nothing = if rank(*best) == 0 { "Nothing fits. Nearest:" } else { "Does not fit:" };
    let mut output = Vec::new();
    let mut heading = "";
    for (line, fit) in lines {
        let line_heading = match fit {
            Fit::Names | Fit::Good => "Fits:",
            Fit::Weak => "May fit:",
            Fit::Nothing => nothing,
        };
        if line_heading != heading {
            heading = line_heading;
            output.push(line_heading.to_owned());
        }
        output.push(line);
    }
    output
}

/// Orders fits: a higher number fits better.
pub(crate) fn rank(fit: Fit) -> u8 {
    match fit {
        Fit::Names | Fit::Good => 2,
        Fit::Weak => 1,
        Fit::Nothing => 0,
    }
}

/// Formats a tool, as in `git: status(path: string) Shows the state.`
pub(crate) fn with_server(server: &str, signature: &str) -> String {
    format!("{server}: {signature}")
}

fn hit(CategorizedHit { hit, twins, category }: CategorizedHit) -> SearchHit {
    let ToolHit { server, name, brief, signature, score, fit, .. } = hit;
    // The signature ends with the brief, which is already in `description`.
    let signature = match signature.strip_suffix(&brief) {
        Some(head) => head.trim_end().to_owned(),
        None => signature,
    };
    SearchHit {
        server,
        tool: name,
        description: brief,
        similarity: reply_format::two_places(score),
        fit: fit.name(),
        signature,
        category,
        twins,
    }
}

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
        let other_server =
            self.hit.server != other.server && self.twins.iter().all(|twin| twin.server != other.server);
        other_server && self.hit.score == other.score && are_similar(&self.hit.brief, &other.brief)
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
pub(crate) fn with_twins(line: String, twins: &[Twin]) -> String {
    if twins.is_empty() {
        return line;
    }
    let names: Vec<String> = twins.iter().map(|twin| format!("{}: {}", twin.server, twin.tool)).collect();
    format!("{line} [same on {}]", names.join(", "))
}
