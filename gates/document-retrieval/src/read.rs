//! `read_repository_file`: returns any lines of a document, up to the budget per call.

use gatehouse_sdk::{
    Call, Content, Count, Fault, Offset, Reply, Tool,
    documents::{self, Lines},
};
use gatehouse_wiki::{code, one_line};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Params, params::longest_fitting};

/// Lengths to which the name of a document is cut until half of the budget is left.
const NAME_CHARS: [usize; 3] = [400, 160, 40];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Name from list_repositories_with_navigation.
    #[schemars(length(min = 1, max = 256))]
    repository: String,
    /// The document's path in the repository.
    #[schemars(length(min = 1, max = 4096))]
    path: String,
    /// First line, from 1 (default 1).
    start_line: Option<Count>,
    /// Last line (default: as many as fit the budget).
    end_line: Option<Count>,
    /// Characters of the first line to skip, for lines longer than the budget.
    start_character: Option<Offset>,
    /// Number the lines (default false).
    numbered: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
struct FileContent {
    repository: String,
    path: String,
    content: String,
    start_line: u32,
    end_line: u32,
    total_lines: u32,
    token_count: u32,
    /// Line to continue from.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_start_line: Option<u32>,
    /// Character of that line to continue from.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_start_character: Option<u32>,
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Args>("read_repository_file")
        .title("Read lines of a document")
        .description(|p| {
            format!(
                "Read a document of a repository, or some of its lines: the gaps that mfai_document_retrieval marks, \
                or the context of a passage. At most {} tokens per call; the reply shows where to continue.",
                p.budget()
            )
        })
        .idempotent()
        .output::<FileContent>()
        .run(read)
}

fn read(call: &Call<Params>, args: Args) -> Result<Reply, Fault> {
    let budget = call.params.budget();
    let first = args.start_line.map_or(1, |line| line.at_most(u32::MAX));
    let requested_end = args.end_line.map(|line| line.at_most(u32::MAX));
    if requested_end.is_some_and(|last| last < first) {
        return Err(Fault::invalid("end_line is less than start_line"));
    }
    // A line has about one token or more, so further lines would not fit.
    let max_line = first.saturating_add(budget.saturating_mul(2));
    let last = requested_end.unwrap_or(u32::MAX).min(max_line);
    let document = documents::open(&args.repository, &args.path, Some(Lines { first, last }))?;
    let skip = args.start_character.map_or(0, |at| at.at_most(u32::MAX)) as usize;
    let numbers = args.numbered.unwrap_or(false).then_some(first);
    // The numbers of the head are not known yet; these are as long.
    let longest = FileContent {
        repository: document.repository.clone(),
        path: document.path.clone(),
        content: String::new(),
        start_line: document.total_lines,
        end_line: document.total_lines.saturating_sub(1),
        total_lines: document.total_lines,
        token_count: 0,
        next_start_line: Some(document.total_lines),
        next_start_character: Some(u32::MAX),
    };
    let mut max_name_chars = 0;
    let mut remaining = 0;
    for max_chars in NAME_CHARS {
        let head = head(&longest, document.made_from.as_deref(), max_chars);
        (max_name_chars, remaining) = (max_chars, budget.saturating_sub(call.params.count(&head)? + 1));
        if remaining >= budget / 2 {
            break;
        }
    }
    let page = fit_page(&call.params, remaining, &document.text, skip, numbers)?;
    let end = page.next.map_or(document.lines.last, |(line, character)| {
        let line = first.saturating_add(line);
        if character > 0 { line } else { line.saturating_sub(1) }
    });
    let requested_end = requested_end.unwrap_or(u32::MAX).min(document.total_lines);
    let next = match page.next {
        Some((line, character)) => Some((first.saturating_add(line), character)),
        None => (document.lines.last < requested_end).then(|| (document.lines.last.saturating_add(1), 0)),
    };
    let file = FileContent {
        token_count: call.params.count(&page.text)?,
        repository: document.repository,
        path: document.path,
        content: page.text,
        start_line: document.lines.first,
        end_line: end.max(document.lines.first),
        total_lines: document.total_lines,
        next_start_line: next.map(|(line, _)| line),
        next_start_character: next.map(|(_, character)| character).filter(|character| *character > 0),
    };
    let text = head(&file, document.made_from.as_deref(), max_name_chars);
    Reply::markdown(text).with(Content::Text(file.content.clone())).structured(&file)
}

fn head(file: &FileContent, made_from: Option<&str>, max_name_chars: usize) -> String {
    let name = code(&one_line(&format!("{}/{}", file.repository, file.path), max_name_chars));
    let origin = made_from.map(|from| format!(" (text of {})", one_line(from, 100))).unwrap_or_default();
    let next = match (file.next_start_line, file.next_start_character) {
        (Some(line), Some(character)) => format!(" Next: start_line {line}, start_character {character}."),
        (Some(line), None) => format!(" Next: start_line {line}."),
        _ if file.end_line >= file.total_lines => " The end.".into(),
        _ => String::new(),
    };
    format!("{name}{origin}, lines {}-{} of {}.{next}", file.start_line, file.end_line, file.total_lines)
}

struct FilePage {
    text: String,
    /// Position to continue from: lines after the first, and characters into that line.
    next: Option<(u32, u32)>,
}

/// Returns the longest prefix that fits the budget, after skipping `skip` characters of the first line. It ends at a
/// line end, or within the first line if that line alone is too long.
fn fit_page(
    params: &Params,
    budget: u32,
    text: &str,
    skip: usize,
    numbers: Option<u32>,
) -> Result<FilePage, Fault> {
    let first_line = text.find('\n').map_or(text.len(), |end| end + 1);
    let skipped = text[..first_line].char_indices().nth(skip).map_or(first_line, |(at, _)| at);
    let lines: Vec<&str> = text[skipped..].split_inclusive('\n').collect();
    let render = |count: usize| -> String {
        let Some(first) = numbers else { return lines[..count].concat() };
        let numbered = |(at, line): (usize, &&str)| format!("{:>6}| {line}", u64::from(first) + at as u64);
        lines[..count].iter().enumerate().map(numbered).collect()
    };
    let fits = |text: &str| Ok::<_, Fault>(params.count(text)? <= budget);
    let whole = render(lines.len());
    if fits(&whole)? {
        return Ok(FilePage { text: whole, next: None });
    }
    let count = longest_fitting(lines.len(), |count| fits(&render(count)))?;
    if count > 0 {
        return Ok(FilePage { text: render(count), next: Some((count as u32, 0)) });
    }
    let line = lines.first().copied().unwrap_or_default();
    let ends: Vec<usize> = line.char_indices().map(|(at, _)| at).chain([line.len()]).collect();
    let characters = longest_fitting(ends.len() - 1, |count| fits(&line[..ends[count]]))?;
    let next = Some((0, (skip + characters.max(1)) as u32));
    Ok(FilePage { text: line[..ends[characters]].to_owned(), next })
}
