//! A section between two markers in a file that users also edit. Inserting, replacing and removing it preserves all
//! other bytes. The first marker stores the facts needed to restore the file.
//!
//! Files of a project: their real paths, contents and planned changes. Links cannot lead outside the project.

use std::{
    fs,
    io::ErrorKind,
    ops::Range,
    path::{Path, PathBuf},
};

use gatehouse_files::{write_atomic, write_new};
use similar::TextDiff;

use super::PlainError;
use crate::config::{edit::line_end, locate};

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
pub(super) enum PlannedContent {
    Text(String),
    /// Delete the file, and this many parent directories if they are empty: they were created for the section.
    Removed {
        folders: usize,
    },
}

impl PlannedContent {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Removed { .. } => None,
        }
    }
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
pub(super) fn remove_section(text: &str, head: &str) -> Result<Option<PlannedContent>, PlainError> {
    let Some(ManagedSection { place, origin }) = find(text)? else { return Ok(None) };
    let (mut before, after) = (&text[..place.start], &text[place.end..]);
    let after = without_line_end(after, str::strip_prefix);
    Ok(Some(match origin {
        SectionOrigin::NewFile { folders } => {
            let eol = line_end(text);
            before = before.strip_prefix(head.replace('\n', eol).as_str()).unwrap_or(before);
            match format!("{before}{after}") {
                left if left.is_empty() => PlannedContent::Removed { folders },
                left => PlannedContent::Text(left),
            }
        }
        SectionOrigin::Appended { line_ends } => {
            // If text was added after the section, the separator stays.
            if after.is_empty() {
                for _ in 0..line_ends {
                    before = without_line_end(before, str::strip_suffix);
                }
            }
            PlannedContent::Text(format!("{before}{after}"))
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

pub(super) struct ProjectFile {
    path: PathBuf,
    pub(super) name: &'static str,
    pub(super) text: Option<String>,
    /// Number of its parent directories that do not exist.
    pub(super) missing_folders: usize,
}

pub(super) struct FileChange {
    pub(super) file: ProjectFile,
    pub(super) after: PlannedContent,
}

impl ProjectFile {
    /// Reads the file `name`, a relative path without dots, in the canonical directory `root`.
    pub(super) fn read(root: &Path, name: &'static str) -> Result<Self, PlainError> {
        let failed = |reason: String| PlainError::from(format!("{name}: {reason}; nothing was written"));
        let mut path = root.to_path_buf();
        let mut parts = Path::new(name).iter().peekable();
        while let Some(part) = parts.next() {
            path.push(part);
            match path.symlink_metadata() {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let missing: Vec<_> = parts.collect();
                    path.extend(&missing);
                    return Ok(Self { path, name, text: None, missing_folders: missing.len() });
                }
                Err(error) => return Err(failed(format!("cannot be inspected: {error}"))),
                Ok(_) => {}
            }
            path = path.canonicalize().map_err(|_| failed("is a broken link".into()))?;
            if !path.starts_with(root) {
                return Err(failed(format!("leads outside the project, to {}", path.display())));
            }
            if parts.peek().is_some() && !path.is_dir() {
                return Err(failed(format!("{} is not a directory", path.display())));
            }
        }
        let bytes =
            locate::read_bounded(&path).map_err(|error| failed(format!("cannot be read: {error}")))?;
        let text = String::from_utf8(bytes).map_err(|_| failed("is not UTF-8 text".into()))?;
        Ok(Self { path, name, text: Some(text), missing_folders: 0 })
    }

    fn is_unchanged(&self) -> bool {
        match &self.text {
            Some(text) => locate::read_bounded(&self.path).is_ok_and(|bytes| bytes == text.as_bytes()),
            None => self.path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound),
        }
    }
}

impl FileChange {
    pub(super) fn has_effect(&self) -> bool {
        self.file.text.as_deref() != self.after.text()
    }

    /// Returns a unified diff for users, without differences in line ends.
    pub(super) fn diff(&self) -> String {
        let name = self.file.name;
        let [before, after] =
            [("a", self.file.text.as_deref()), ("b", self.after.text())].map(|(side, text)| {
                let header = text.map_or("/dev/null".to_owned(), |_| format!("{side}/{name}"));
                (header, text.unwrap_or_default().replace("\r\n", "\n"))
            });
        TextDiff::from_lines(&before.1, &after.1).unified_diff().header(&before.0, &after.0).to_string()
    }

    /// Fails if the file is read-only: replacing it would ignore that.
    pub(super) fn check(&self) -> Result<(), PlainError> {
        let about = self.file.path.metadata();
        if about.is_ok_and(|about| about.permissions().readonly()) {
            bail!("{}: is read-only; nothing was written", self.file.name);
        }
        Ok(())
    }

    pub(super) fn apply(&self) -> Result<(), PlainError> {
        let ProjectFile { path, name, text, .. } = &self.file;
        if !self.file.is_unchanged() {
            return Err(
                format!("{name}: changed during the command and was not written; run it again").into()
            );
        }
        let failed = |error: std::io::Error| PlainError::from(format!("{name}: cannot be written: {error}"));
        match &self.after {
            PlannedContent::Text(after) if text.is_some() => {
                write_atomic(path, after.as_bytes()).map_err(failed)
            }
            PlannedContent::Text(after) => {
                path.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
                write_new(path, after.as_bytes()).map_err(failed)
            }
            PlannedContent::Removed { folders } => {
                fs::remove_file(path).map_err(failed)?;
                let ours = path.ancestors().skip(1).take(*folders);
                let _ = ours.map(fs::remove_dir).take_while(Result::is_ok).count();
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests;
