//! `get_workspace_file`: returns any part of a stored result, one page at a time.

mod find;
mod page;

use gatehouse_jq::JqOutputs;
use gatehouse_sdk::{
    Call, Content, Fault, FaultKind, Offset, Reply, Tool,
    artifacts::{self, Part, Window},
    text,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Params, resources::artifact_id};
use page::{ContentPage, ValuePath};

pub(crate) const NAME: &str = "get_workspace_file";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Artifact id.
    path: String,
    offset: Option<Offset>,
    json_pointer: Option<String>,
    #[schemars(length(max = 8192))]
    jq: Option<String>,
    /// `12` or `12-80`.
    lines: Option<String>,
    /// Text or /regex/.
    find: Option<String>,
    question: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct WorkspaceFile {
    path: String,
    content: String,
    /// Unit of offset, next and total.
    unit: &'static str,
    offset: u64,
    /// Offset of the next page, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
    total: u64,
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Args>(NAME)
        .description(|_| {
            format!(
                "Any part of a stored result, {} characters a page, or whole JSON elements. question digests it.",
                page::MAX_PAGE_CHARS
            )
        })
        .default_from("offset", |_| 0.into())
        .meta(|_| Some(crate::long_results()))
        .idempotent()
        .output::<WorkspaceFile>()
        .run(run)
}

fn run(_: &Call<Params>, args: Args) -> Result<Reply, Fault> {
    let id = artifact_id(&args.path).to_owned();
    let offset = u64::from(args.offset.map_or(0, |offset| offset.at_most(u32::MAX)));
    let page = select(&id, &args, offset)?;
    let head = head(&id, offset, &page);
    let ContentPage { content, unit, next, total, .. } = page;
    let part = WorkspaceFile { path: id, content, unit, offset, next, total };
    Reply::markdown(head).with(Content::Text(part.content.clone())).structured(&part)
}

fn head(id: &str, offset: u64, page: &ContentPage) -> String {
    let ContentPage { unit, next, total, note, .. } = page;
    let end = next.unwrap_or(*total);
    let place = if *unit == page::VALUE {
        "the value.".into()
    } else if *unit == DIGEST {
        format!("a digest for the question, of all {total} characters.")
    } else if offset == 0 && next.is_none() {
        format!("all {total} {unit}.")
    } else {
        format!("{unit} {offset}-{end} of {total}.")
    };
    let next = next.map(|next| format!(" Next: offset {next}.")).unwrap_or_default();
    let note = note.as_ref().map(|note| format!(" {note}")).unwrap_or_default();
    format!("{id}: {place}{next}{note}")
}

/// Unit of a digest for a question.
const DIGEST: &str = "digest";

/// Maximum tokens of it.
const DIGEST_TOKENS: u32 = 1_100;

/// Digests the data of a result, or its text if there is none, for a question.
fn answer(id: &str, question: &str) -> Result<ContentPage, Fault> {
    let whole = match artifacts::view(id).map_err(with_expiry_hint)?.data {
        Some(data) => data.json,
        None => read(id, &Part::Whole)?.text,
    };
    let content = text::digest(&whole, question, DIGEST_TOKENS)?.text;
    let total = whole.chars().count() as u64;
    Ok(ContentPage { content, unit: DIGEST, next: None, total, note: None })
}

/// Returns the requested part.
fn select(id: &str, args: &Args, offset: u64) -> Result<ContentPage, Fault> {
    let pointer = args.json_pointer.as_deref();
    if let Some(question) = &args.question {
        if offset > 0
            || pointer.or(args.jq.as_deref()).or(args.lines.as_deref()).or(args.find.as_deref()).is_some()
        {
            return Err(Fault::invalid("question reads the whole result; leave out the other arguments"));
        }
        return answer(id, question);
    }
    if let Some(target) = &args.find {
        if args.jq.is_some() || args.lines.is_some() {
            return Err(Fault::invalid("find cannot be combined with lines or jq"));
        }
        let text = match pointer {
            Some(pointer) => string_at(id, pointer)?,
            None => read(id, &Part::Whole)?.text,
        };
        return find::find(&text, target, offset);
    }
    if let Some(lines) = &args.lines {
        if args.jq.is_some() {
            return Err(Fault::invalid("lines cannot be combined with jq"));
        }
        let (first, count) = range(lines)?;
        if let Some(pointer) = pointer {
            return lines_at(id, pointer, (first, count), offset);
        }
        let piece = read(id, &Part::Lines(Window { offset: first - 1, count }))?;
        if first > piece.total {
            return Err(Fault::invalid(format!("'{id}' has {} lines", piece.total)));
        }
        return Ok(page::characters(&piece.text, offset));
    }
    let Some(program) = &args.jq else {
        return match pointer {
            Some(pointer) => {
                let value = read(id, &Part::Pointer(pointer.into()))?.text;
                page::value(&value, offset, &ValuePath::Pointer(pointer))
            }
            None => window(id, offset),
        };
    };
    let outputs = match pointer {
        Some(pointer) => gatehouse_jq::run(&read(id, &Part::Pointer(pointer.into()))?.text, program)?,
        None => {
            let view = artifacts::view(id).map_err(with_expiry_hint)?;
            match view.data {
                Some(_) => gatehouse_jq::run_on(&view, program)?,
                None => match read(id, &Part::Pointer(String::new())) {
                    Ok(rows) => {
                        let outputs = gatehouse_jq::run(&rows.text, program)?;
                        let note = if rows.text.starts_with('[') { ROWS_NOTE } else { FORM_NOTE };
                        JqOutputs { note: outputs.note.or(Some(note)), ..outputs }
                    }
                    // The text tells why it is not JSON.
                    Err(_) => gatehouse_jq::run(&read(id, &Part::Whole)?.text, program)?,
                },
            }
        }
    };
    let page = match &outputs.values[..] {
        [value] => page::value(value, offset, &ValuePath::Jq(program))?,
        values => page::outputs(values, offset, program),
    };
    Ok(ContentPage { note: page.note.or(outputs.note.map(Into::into)), ..page })
}

const ROWS_NOTE: &str = "The filter's input is an array of the rows.";
const FORM_NOTE: &str = "The filter's input is the text read as JSON.";

/// Returns lines of the string at a pointer.
fn lines_at(id: &str, pointer: &str, (first, count): (u64, u64), offset: u64) -> Result<ContentPage, Fault> {
    let text = string_at(id, pointer)?;
    let total = text.lines().count() as u64;
    if first > total {
        return Err(Fault::invalid(format!("the text at '{pointer}' has {total} lines")));
    }
    let bound = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let lines: Vec<&str> = text.lines().skip(bound(first - 1)).take(bound(count)).collect();
    Ok(page::characters(&lines.join("\n"), offset))
}

fn string_at(id: &str, pointer: &str) -> Result<String, Fault> {
    let value = read(id, &Part::Pointer(pointer.into()))?.text;
    serde_json::from_str(&value)
        .map_err(|_| Fault::invalid(format!("the value at '{pointer}' is not a string, so it has no lines")))
}

fn window(id: &str, offset: u64) -> Result<ContentPage, Fault> {
    let piece = read(id, &Part::Characters(Window { offset, count: page::MAX_PAGE_CHARS as u64 }))?;
    let mut content = piece.text;
    let mut next = piece.next;
    if next.is_some() {
        let end = page::end_of_line(&content);
        next = Some(offset + content[..end].chars().count() as u64);
        content.truncate(end);
    }
    Ok(ContentPage { content, unit: "characters", next, total: piece.total, note: None })
}

fn read(id: &str, part: &Part) -> Result<artifacts::Piece, Fault> {
    artifacts::read(id, part).map_err(|fault| match part {
        // An unresolved pointer has its own hint.
        Part::Pointer(_) => fault,
        _ => with_expiry_hint(fault),
    })
}

fn with_expiry_hint(fault: Fault) -> Fault {
    match fault.kind {
        FaultKind::NotFound if fault.hint.is_none() => {
            fault.hint("Results expire after some hours; search_workspace lists the stored ones.")
        }
        _ => fault,
    }
}

/// Parses a line range into the first line and the count: `12`, `12-80`, or `12-` for the rest.
fn range(lines: &str) -> Result<(u64, u64), Fault> {
    let invalid =
        || Fault::invalid(format!("invalid lines '{lines}'")).hint("Use a range such as 12, 12-80 or 12-.");
    let number = |text: &str| text.trim().parse::<u64>().ok().filter(|line| *line > 0);
    let (first, last) = match lines.split_once('-') {
        None => (number(lines), number(lines)),
        Some((first, last)) if last.trim().is_empty() => (number(first), Some(u64::MAX)),
        Some((first, last)) => (number(first), number(last)),
    };
    match (first, last) {
        // The page limit in characters also limits the lines.
        (Some(first), Some(last)) if first <= last => Ok((first, (last - first).saturating_add(1))),
        _ => Err(invalid()),
    }
}
