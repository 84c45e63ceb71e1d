//! `mfai_document_retrieval`: returns the document that best answers a question, within the budget.

use gatehouse_sdk::{
    Call, Content, Fault, Reply, Tool, context,
    documents::{self, Document, Fit, SearchMode, SearchResult},
};
use gatehouse_wiki::{code, one_line};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Params, shorten};

const MAX_HITS: u32 = 4;

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SearchType {
    Text,
    Semantic,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Your question, in your own words.
    #[schemars(length(min = 1, max = 8192))]
    query: String,
    /// Name from list_repositories_with_navigation.
    #[schemars(length(min = 1, max = 256))]
    repository: String,
    /// text: matches words, for names and exact terms. semantic: also matches meaning, for questions.
    search_type: SearchType,
    /// Your task and purpose; decides what a long document is shortened to, not which is found.
    #[schemars(length(max = 4096))]
    context: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct RetrievedDocument {
    content: String,
    /// `repository/path`, or `Navigation Guide` if no document was found.
    sources: Vec<String>,
    token_count: u32,
    was_compressed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    original_token_count: Option<u32>,
    /// whole, extractive, navigation, or the provider/model that shortened it.
    method: String,
    /// How well the document answers: names, good, weak or nothing.
    fit: &'static str,
    /// Notes on the search and the shortening.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// Paths of the next best documents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    others: Vec<String>,
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Args>("mfai_document_retrieval")
        .title("Retrieve a document")
        .description(|p| {
            format!(
                "Find the document of a repository that answers a question: whole if it has at most {} tokens, else \
                the parts that answer it, with marks for omitted lines (read_repository_file reads those). \
                Repository names: list_repositories_with_navigation.",
                p.budget()
            )
        })
        .idempotent()
        .output::<RetrievedDocument>()
        .run(retrieve)
}

fn retrieve(call: &Call<Params>, args: Args) -> Result<Reply, Fault> {
    let started = context::now();
    if args.query.trim().is_empty() {
        return Err(Fault::invalid("query is empty").hint("Say what you want to know."));
    }
    let mode = match args.search_type {
        SearchType::Text => SearchMode::Text,
        SearchType::Semantic => SearchMode::Semantic,
    };
    let result = documents::find(&args.repository, &args.query, mode, MAX_HITS)?;
    let Some(best) = result.hits.first().filter(|hit| hit.fit != Fit::Nothing) else {
        return no_results(call, &args.repository, &args.query, &result);
    };
    let document = documents::open(&args.repository, &best.path, None)?;
    let request = shorten::Request {
        params: &call.params,
        query: &args.query,
        context: args.context.as_deref().unwrap_or_default(),
        tokens: document.total_tokens,
        time_ms: call.deadline_ms.saturating_sub(context::now().saturating_sub(started)),
    };
    let short = shorten::fit_document(&request, &document.text)?;
    let mut notes = notes(&result);
    notes.extend(short.notes);
    let found = RetrievedDocument {
        sources: vec![format!("{}/{}", document.repository, document.path)],
        token_count: short.tokens,
        was_compressed: short.original_tokens.is_some(),
        original_token_count: short.original_tokens,
        method: short.method,
        fit: fit_name(best.fit),
        notes,
        others: others(&result),
        content: short.text,
    };
    Reply::markdown(head(call, &found, &document))
        .with(Content::Text(found.content.clone()))
        .structured(&found)
}

fn notes(result: &SearchResult) -> Vec<String> {
    let words: Vec<String> = result.unmatched_terms.iter().take(10).map(|word| one_line(word, 60)).collect();
    let missing = (!words.is_empty()).then(|| format!("In no document: {}.", words.join(", ")));
    missing.into_iter().chain(result.note.as_deref().map(|note| one_line(note, 500))).collect()
}

fn others(result: &SearchResult) -> Vec<String> {
    let others = result.hits.iter().skip(1).filter(|hit| hit.fit != Fit::Nothing);
    others.map(|hit| one_line(&hit.path, 300)).collect()
}

pub(crate) fn fit_name(fit: Fit) -> &'static str {
    match fit {
        Fit::Names => "names",
        Fit::Good => "good",
        Fit::Weak => "weak",
        Fit::Nothing => "nothing",
    }
}

/// Builds the block before the document: source, size, method, and how to read omitted lines.
fn head(call: &Call<Params>, found: &RetrievedDocument, document: &Document) -> String {
    let source = code(&one_line(&found.sources.concat(), 400));
    let made = document.made_from.as_deref().map(|from| format!(", text of {}", one_line(from, 40)));
    let unit = call.params.unit();
    let size = match found.original_token_count {
        None => format!("whole, {} tokens ({unit})", found.token_count),
        Some(original) => {
            format!("{original} tokens shortened to {} ({unit}; {})", found.token_count, found.method)
        }
    };
    let mut out = format!("{source}: {size}{}. Fit: {}.", made.unwrap_or_default(), found.fit);
    if found.was_compressed
        && let Some(tool) = context::exposed_name("read_repository_file")
    {
        let [repository, path] =
            [&document.repository, &document.path].map(|name| code(&one_line(name, 300)));
        out += &format!(
            "\nRead the gaps marked […] with `{tool}`: repository {repository}, path {path}, start_line, end_line."
        );
    }
    if !found.others.is_empty() {
        let others: Vec<String> = found.others.iter().map(|path| code(path)).collect();
        out += &format!("\nOther documents: {}", others.join(", "));
    }
    for note in &found.notes {
        out += &format!("\n{note}");
    }
    out
}

/// Builds the reply if no document matches: the repository's guide and suggestions. An unreachable engine is a fault
/// instead.
fn no_results(
    call: &Call<Params>,
    repository: &str,
    query: &str,
    result: &SearchResult,
) -> Result<Reply, Fault> {
    let all = documents::repositories(true)?;
    let this = all.iter().find(|r| r.name.eq_ignore_ascii_case(repository.trim()));
    let guide = this.and_then(|repository| repository.navigation_guide.as_deref()).unwrap_or_default();
    let mut content = format!(
        "No document of {} answers: \"{}\"\n\nTry:\n",
        code(&one_line(repository, 100)),
        gatehouse_wiki::shorten(&one_line(query, 400), 300)
    );
    let nearest: Vec<String> = result.hits.iter().map(|hit| code(&one_line(&hit.path, 300))).collect();
    if !nearest.is_empty() {
        content += &format!("- The nearest documents (none fits): {}\n", nearest.join(", "));
    }
    content += "- Terms from the guide below, or fewer and broader terms\n- The other search_type\n";
    let others: Vec<String> = all
        .iter()
        .filter(|other| this.is_none_or(|this| this.name != other.name))
        .map(|other| code(&one_line(&other.name, 100)))
        .take(10)
        .collect();
    if !others.is_empty() {
        content += &format!("- Another repository: {}\n", others.join(", "));
    }
    if let Some(tool) = context::exposed_name("search_knowledge") {
        content += &format!("- `{tool}` for the knowledge graph\n");
    }
    let mut notes = notes(result);
    if guide.trim().is_empty() {
        notes.push("This repository has no navigation guide yet.".into());
    } else {
        content += &format!("\n{}\n", guide.trim());
    }
    content += &notes.iter().map(|note| format!("\n{note}\n")).collect::<String>();
    let found = RetrievedDocument {
        token_count: call.params.count(&content)?,
        content,
        sources: vec!["Navigation Guide".into()],
        was_compressed: false,
        original_token_count: None,
        method: "navigation".into(),
        fit: "nothing",
        notes,
        others: Vec::new(),
    };
    Reply::markdown(found.content.clone()).structured(&found)
}
