//! A section between two markers in a file that users also edit. Inserting, replacing and removing it preserves all
//! other bytes. The first marker stores the facts needed to restore the file.

use std::ops::Range;

use super::PlainError;
use crate::config::edit::line_end;

const BEGIN: &str = "<!-- gatehouse:begin ";
const END: &str = "<!-- gatehouse:end -->";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SectionOrigin {
    /// The file was created for the section, with some of its directories.
    NewFile { folders: usize },
    /// Appended to an existing file, after some separating line ends.
    Appended { line_ends: usize },
}

impl SectionOrigin {
    fn marker(self) -> String {
        match self {
            Self::NewFile { folders } => format!("{BEGIN}new-file folders={folders} -->"),
            Self::Appended { line_ends } => format!("{BEGIN}line-ends={line_ends} -->"),
        }
    }

    fn parse(marker: &str) -> Option<Self> {
        let recorded = marker.strip_prefix(BEGIN)?.strip_suffix("-->")?.trim();
        let small = |number: &str| number.parse().ok().filter(|number| *number <= 9);
        match recorded.strip_prefix("new-file folders=") {
            Some(folders) => Some(Self::NewFile { folders: small(folders)? }),
            None => Some(Self::Appended { line_ends: small(recorded.strip_prefix("line-ends=")?)? }),
        }
    }
}

/// Position of a section: from its first marker to its last, without the final line end.
#[derive(Debug)]
struct ManagedSection {
    place: Range<usize>,
    origin: SectionOrigin,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileRemainder {
    /// No other text is left. The file and some of its directories were created for the section.
    Nothing {
        /// Number of created directories, innermost first.
        folders: usize,
    },
    Text(String),
}

pub(super) fn new_file(head: &str, body: &str, folders: usize) -> String {
    format!("{head}{}\n", section(SectionOrigin::NewFile { folders }, body, "\n"))
}

/// Replaces the section of a text, or appends one. Uses the line ends of the text.
///
/// The error describes invalid markers, and continues a sentence about the file.
pub(super) fn put_section(text: &str, body: &str) -> Result<String, PlainError> {
    let eol = line_end(text);
    if let Some(ManagedSection { place, origin }) = find(text)? {
        return Ok(format!("{}{}{}", &text[..place.start], section(origin, body, eol), &text[place.end..]));
    }
    let line_ends = match text.trim_start_matches('\u{feff}') {
        "" => 0,
        some if some.ends_with(&eol.repeat(2)) => 0,
        some if some.ends_with('\n') => 1,
        _ => 2,
    };
    let section = section(SectionOrigin::Appended { line_ends }, body, eol);
    Ok(format!("{text}{}{section}{eol}", eol.repeat(line_ends)))
}

/// Returns the text as it was without the section. `None` if it has no section. `head` is the text that [`new_file`]
/// put before the section.
pub(super) fn remove_section(text: &str, head: &str) -> Result<Option<FileRemainder>, PlainError> {
    let Some(ManagedSection { place, origin }) = find(text)? else { return Ok(None) };
    let (mut before, after) = (&text[..place.start], &text[place.end..]);
    let after = without_line_end(after, str::strip_prefix);
    Ok(Some(match origin {
        SectionOrigin::NewFile { folders } => {
            let eol = line_end(text);
            before = before.strip_prefix(head.replace('\n', eol).as_str()).unwrap_or(before);
            match format!("{before}{after}") {
                left if left.is_empty() => FileRemainder::Nothing { folders },
                left => FileRemainder::Text(left),
            }
        }
        SectionOrigin::Appended { line_ends } => {
            // If text was added after the section, the separator stays.
            if after.is_empty() {
                for _ in 0..line_ends {
                    before = without_line_end(before, str::strip_suffix);
                }
            }
            FileRemainder::Text(format!("{before}{after}"))
        }
    }))
}

/// Returns whether a text has a section. Fails if its markers are invalid.
pub(super) fn has_section(text: &str) -> Result<bool, PlainError> {
    Ok(find(text)?.is_some())
}

fn without_line_end<'a>(text: &'a str, strip: fn(&'a str, &'static str) -> Option<&'a str>) -> &'a str {
    strip(text, "\r\n").or_else(|| strip(text, "\n")).unwrap_or(text)
}

fn section(origin: SectionOrigin, body: &str, eol: &str) -> String {
    format!("{}\n{}\n{END}", origin.marker(), body.trim()).replace('\n', eol)
}

fn find(text: &str) -> Result<Option<ManagedSection>, PlainError> {
    let (mut begins, mut ends, mut at) = (Vec::new(), Vec::new(), 0);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let marker = line.trim_start_matches('\u{feff}').trim();
        if marker.starts_with(BEGIN.trim_end()) {
            begins.push((index + 1, at + line.find('<').unwrap_or(0), marker));
        } else if marker == END {
            ends.push((index + 1, at + line.trim_end().len()));
        }
        at += line.len();
    }
    match (begins.as_slice(), ends.as_slice()) {
        ([], []) => Ok(None),
        ([(first, start, marker)], [(last, end)]) if first < last => match SectionOrigin::parse(marker) {
            Some(origin) => Ok(Some(ManagedSection { place: *start..*end, origin })),
            None => Err(format!("line {first}: invalid marker; {FIX_HINT}").into()),
        },
        _ => {
            let begins: Vec<usize> = begins.iter().map(|(line, ..)| *line).collect();
            let ends: Vec<usize> = ends.iter().map(|(line, _)| *line).collect();
            let lines = |lines: &[usize]| match lines {
                [] => "missing".to_owned(),
                [one] => format!("in line {one}"),
                more => {
                    format!("in lines {}", more.iter().map(usize::to_string).collect::<Vec<_>>().join(", "))
                }
            };
            Err(format!(
                "the markers of its section are broken: `gatehouse:begin` is {}, `gatehouse:end` is {}; {FIX_HINT}",
                lines(&begins),
                lines(&ends)
            )
            .into())
        }
    }
}

const FIX_HINT: &str = "remove the section and its markers, and run the command again";

#[cfg(test)]
mod tests;
