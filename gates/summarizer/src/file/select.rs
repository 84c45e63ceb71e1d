//! Selects the requested part of a stored result.

use gatehouse_sdk::{
    Fault, FaultKind,
    artifacts::{self, Part, Window},
};

use super::{
    Args,
    page::{self, ContentPage, ValuePath},
};

pub(super) fn page(id: &str, args: &Args, offset: u64) -> Result<ContentPage, Fault> {
    let pointer = args.json_pointer.as_deref();
    if let Some(lines) = &args.lines {
        if pointer.is_some() || args.jq.is_some() {
            return Err(Fault::invalid("lines cannot be combined with json_pointer or jq"));
        }
        let (first, count) = range(lines)?;
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
    let part = pointer.map_or(Part::Whole, |pointer| Part::Pointer(pointer.into()));
    let outputs = gatehouse_jq::run(&read(id, &part)?.text, program)?;
    match &outputs.values[..] {
        [value] => page::value(value, offset, &ValuePath::Jq(program)),
        values => page::outputs(values, offset, program),
    }
    .map(|page| ContentPage { note: page.note.or(outputs.note.map(Into::into)), ..page })
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
    artifacts::read(id, part).map_err(|fault| match fault.kind {
        // An unresolved pointer has its own hint.
        FaultKind::NotFound if fault.hint.is_none() && !matches!(part, Part::Pointer(_)) => {
            fault.hint("Results expire after some hours; search_workspace lists the stored ones.")
        }
        _ => fault,
    })
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
