//! `mfai_document_retrieval`: returns the document that best answers a question, within the budget.

use gatehouse_sdk::{
    Call, Content, Fault, Reply, Tool, context,
    documents::{self, Document, Fit, SearchMode, SearchResult},
};
use gatehouse_wiki::{code, one_line};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    BudgetEncoding, Params, model,
    params::longest_fitting,
    shorten::{self, FittedDocument, MIN_EXTRACT_TOKENS},
};

const MAX_HITS: u32 = 4;

/// The block before a document takes at most this fraction of the budget, unless its first line is longer.
const MAX_HEAD_SHARE: u32 = 4;

/// Tokens of a line end between the two blocks.
const SEAM_TOKENS: u32 = 1;

/// Tokens reserved for notes about a model's text.
const MODEL_NOTE_TOKENS: u32 = 56;

/// The lists of a reply without a document end at this fraction of the budget.
const MAX_LIST_SHARE: u32 = 2;

/// Lengths to which the texts in the first line are cut until it fits.
const FIRST_LINE_CHARS: [usize; 6] = [400, 160, 80, 40, 20, 10];

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
                "Find the document of a repository that answers a question: whole if the reply has at most {} tokens, else \
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
    let params = &call.params;
    let whole = match params.encoding {
        BudgetEncoding::O200k => document.total_tokens,
        BudgetEncoding::Cl100k => params.count(&document.text)?,
    };
    let mut answer = RetrievedDocument {
        content: String::new(),
        sources: vec![format!("{}/{}", document.repository, document.path)],
        token_count: whole,
        was_compressed: false,
        original_token_count: None,
        method: "whole".to_owned(),
        fit: best.fit.name(),
        notes: notes(&result),
        others: others(&result),
    };
    let max_head = params.budget() / MAX_HEAD_SHARE;
    let mut head_text = head(call, &answer, &document, max_head)?;
    if whole.saturating_add(params.count(&head_text)? + SEAM_TOKENS) <= params.budget() {
        answer.content = document.text;
    } else {
        // The numbers and notes of the final head are not known yet.
        answer.was_compressed = true;
        answer.original_token_count = Some(whole);
        answer.notes.insert(0, shorten::OFF_TOPIC.to_owned());
        let model = params.use_llm.then(model::serving).flatten();
        let notes = if model.is_some() { MODEL_NOTE_TOKENS } else { 0 };
        answer.method = model.unwrap_or_else(|| shorten::EXTRACTIVE.to_owned());
        let reserved = params.count(&head(call, &answer, &document, max_head)?)? + SEAM_TOKENS + notes;
        answer.notes.remove(0);
        let budget = params.budget().saturating_sub(reserved);
        if budget < MIN_EXTRACT_TOKENS {
            let least = reserved + MIN_EXTRACT_TOKENS;
            let budget = params.budget();
            let fault =
                format!("the preset's budget_tokens is {budget}, but this document needs at least {least}");
            return Err(Fault::denied(fault).hint("Raise budget_tokens in the preset."));
        }
        let request = shorten::Request {
            params,
            budget,
            query: &args.query,
            context: args.context.as_deref().unwrap_or_default(),
            time_ms: call.deadline_ms.saturating_sub(context::now().saturating_sub(started)),
        };
        let FittedDocument { text, tokens, method, notes } =
            shorten::shorten_document(&request, &document.text)?;
        // The only document of a repository comes with the verdict; of several, none fits.
        if notes.iter().any(|note| note == shorten::OFF_TOPIC) && has_several(&document.repository)? {
            return no_results(call, &args.repository, &args.query, &result);
        }
        (answer.content, answer.token_count, answer.method) = (text, tokens, method);
        answer.notes.splice(0..0, notes);
        let remaining = params.budget().saturating_sub(tokens + SEAM_TOKENS);
        head_text = head(call, &answer, &document, remaining)?;
    }
    Reply::markdown(head_text).with(Content::Text(answer.content.clone())).structured(&answer)
}

/// Whether a repository has more than one document.
fn has_several(repository: &str) -> Result<bool, Fault> {
    Ok(documents::repositories(false)?.iter().any(|entry| entry.name == repository && entry.file_count > 1))
}

fn notes(result: &SearchResult) -> Vec<String> {
    let words: Vec<String> = result.unmatched_terms.iter().take(10).map(|word| one_line(word, 60)).collect();
    let missing = (!words.is_empty()).then(|| format!("In no document: {}.", words.join(", ")));
    missing.into_iter().chain(result.note.as_deref().map(|note| one_line(note, 500))).collect()
}

fn others(result: &SearchResult) -> Vec<String> {
    let other_hits = result.hits.iter().skip(1).filter(|hit| hit.fit != Fit::Nothing);
    other_hits.map(|hit| one_line(&hit.path, 300)).collect()
}

/// Builds the block before the document: source, size and method, cut to fit `max_tokens` if possible, then how to read
/// omitted lines, notes and other documents, as many of them as fit. The structured data has all of them.
fn head(
    call: &Call<Params>,
    answer: &RetrievedDocument,
    document: &Document,
    max_tokens: u32,
) -> Result<String, Fault> {
    let unit = call.params.unit();
    let facts = |max_chars: usize| {
        let format = document.made_from.as_deref();
        let origin = format.map(|format| format!(", text of {}", one_line(format, max_chars.min(40))));
        let size = match answer.original_token_count {
            None => format!("whole, {} tokens ({unit})", answer.token_count),
            Some(original) => {
                let method = one_line(&answer.method, max_chars.min(60));
                format!("{original} tokens shortened to {} ({unit}; {method})", answer.token_count)
            }
        };
        format!("{size}{}. Fit: {}.", origin.unwrap_or_default(), answer.fit)
    };
    let fits = |text: &str| Ok::<_, Fault>(call.params.count(text)? <= max_tokens);
    let mut out = String::new();
    for max_chars in FIRST_LINE_CHARS {
        out = code(&one_line(&answer.sources.concat(), max_chars)) + ": " + &facts(max_chars);
        if fits(&out)? {
            break;
        }
    }
    let gaps = context::exposed_name("read_repository_file").filter(|_| answer.was_compressed).map(|tool| {
        let [repository, path] =
            [&document.repository, &document.path].map(|name| code(&one_line(name, 300)));
        format!("Read the gaps marked […] with `{tool}`: repository {repository}, path {path}, start_line, end_line.")
    });
    let paths = answer.others.iter().map(|path| code(path)).collect::<Vec<_>>().join(", ");
    let other_documents = (!paths.is_empty()).then(|| format!("Other documents: {paths}"));
    for line in gaps.iter().chain(&answer.notes).chain(&other_documents) {
        let longer = format!("{out}\n{line}");
        if fits(&longer)? {
            out = longer;
        }
    }
    Ok(out)
}

/// Builds the reply if no document matches: the repository's guide and suggestions. An unreachable engine is a fault
/// instead.
fn no_results(
    call: &Call<Params>,
    repository: &str,
    query: &str,
    result: &SearchResult,
) -> Result<Reply, Fault> {
    let repositories = documents::repositories(true)?;
    let this = repositories.iter().find(|r| r.name.eq_ignore_ascii_case(repository.trim()));
    let guide = this.and_then(|repository| repository.navigation_guide.as_deref()).unwrap_or_default();
    let budget = call.params.budget();
    let fits = |text: &str, max_tokens: u32| Ok::<_, Fault>(call.params.count(text)? <= max_tokens);
    let mut content = String::new();
    for max_chars in FIRST_LINE_CHARS {
        content = format!(
            "No document of {} answers: \"{}\"\n\nTry:\n- Terms from the guide below, or fewer and broader terms\n\
            - The other search_type\n",
            code(&one_line(repository, max_chars.min(100))),
            one_line(query, max_chars.min(300))
        );
        if fits(&content, budget / MAX_HEAD_SHARE)? {
            break;
        }
    }
    if let Some(tool) = context::exposed_name("search_knowledge") {
        content += &format!("- `{tool}` for the knowledge graph\n");
    }
    let nearest: Vec<String> = result.hits.iter().map(|hit| code(&one_line(&hit.path, 300))).collect();
    let others: Vec<String> = repositories
        .iter()
        .filter(|other| this.is_none_or(|this| this.name != other.name))
        .map(|other| code(&one_line(&other.name, 100)))
        .take(10)
        .collect();
    for (label, names) in [("The nearest documents (none fits)", nearest), ("Another repository", others)] {
        let longer = |count: usize| format!("{content}- {label}: {}\n", names[..count].join(", "));
        let count = longest_fitting(names.len(), |count| fits(&longer(count), budget / MAX_LIST_SHARE))?;
        if count > 0 {
            content = longer(count);
        }
    }
    let mut notes = notes(result);
    let paragraphs = |notes: &[String]| notes.iter().map(|note| format!("\n{note}\n")).collect::<String>();
    let with_guide = format!("{content}\n{}\n{}", guide.trim(), paragraphs(&notes));
    if !guide.trim().is_empty() && fits(&with_guide, budget)? {
        content = with_guide;
    } else {
        let missing = match guide.trim() {
            "" => "This repository has no navigation guide yet.",
            _ => "The guide exceeds the budget; list_repositories_with_navigation returns it.",
        };
        notes.insert(0, missing.to_owned());
        for note in &notes {
            let longer = format!("{content}\n{note}\n");
            if fits(&longer, budget)? {
                content = longer;
            }
        }
    }
    let answer = RetrievedDocument {
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
    Reply::markdown(answer.content.clone()).structured(&answer)
}
