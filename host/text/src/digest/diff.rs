//! Tells a diff: which files it changes and by how much, what is added and removed by name, and where.

use std::collections::HashMap;

use super::{
    fit::Section,
    kind::{Sample, TextKind},
    lines::{Counts, SHOWN, matching, numbered, shown},
};
use crate::layout::definition;

pub(super) const KIND: TextKind = TextKind { name: "diff", is, sections };

/// Files that are told apart; of more only the sums are told.
const FILES: usize = 4_096;

/// Files that have a line of their own, and those that are shown in a finding.
const SHOWN_FILES: usize = 200;
const FOUND: usize = 4;

/// Names of one file that are shown, and all that are kept.
const NAMES: usize = 24;
const ALL_NAMES: usize = 4_096;

/// Lines before the first file that are shown: what a commit says.
const MESSAGE: usize = 8;

fn is(sample: &Sample<'_>) -> bool {
    let begins = |mark: &str| sample.lines.iter().filter(|line| line.starts_with(mark)).count();
    let heads = begins("diff --git ") + begins("Index: ");
    let hunks = begins("@@ ");
    let pairs = begins("--- ").min(begins("+++ "));
    (pairs > 0 && hunks > 0) || (heads > 0 && (pairs > 0 || hunks > 0 || begins("index ") > 0))
}

/// What happens to one file.
#[derive(Default)]
struct File {
    path: String,
    /// Its path before, where that was another.
    before: Option<String>,
    state: &'static str,
    added: usize,
    removed: usize,
    /// Names of what is defined in added and removed lines.
    gains: Vec<String>,
    losses: Vec<String>,
}

#[derive(Default)]
struct Diff {
    files: Vec<File>,
    /// Files by path, for diffs that name one twice.
    known: HashMap<String, usize>,
    message: Vec<String>,
    /// What stands behind `@@`.
    places: Vec<(usize, String)>,
    names: usize,
    /// Lines of the current hunk that are still to come: removed or kept, and added or kept.
    left: (usize, usize),
    /// The file of the lines that come.
    open: Option<usize>,
    more: (usize, usize, usize),
}

impl Diff {
    fn line(&mut self, number: usize, line: &str) {
        if self.left != (0, 0) {
            return self.changed(line);
        }
        if let Some(rest) = line.strip_prefix("diff --git ") {
            // `a/path b/path`: both are the same but in a rename, which has lines of its own.
            let path = rest.rsplit_once(" b/").map_or(rest, |(_, path)| path);
            self.file(path);
        } else if let Some(path) = line.strip_prefix("Index: ") {
            self.file(path);
        } else if let Some(path) = line.strip_prefix("+++ ") {
            let path = path.split('\t').next().unwrap_or(path).trim();
            match (path, self.current()) {
                ("/dev/null", Some(file)) => file.state = "deleted",
                ("/dev/null", None) => {}
                _ => self.file(path.strip_prefix("b/").unwrap_or(path)),
            }
        } else if line.starts_with("@@ ") {
            self.hunk(number, line);
        } else if let Some(file) = self.current() {
            if line.starts_with("new file") {
                file.state = "new";
            } else if line.starts_with("deleted file") {
                file.state = "deleted";
            } else if line.starts_with("Binary files") {
                file.state = "binary";
            } else if let Some(path) = line.strip_prefix("rename from ") {
                file.before = Some(path.to_owned());
            }
        } else if self.message.len() < MESSAGE && !line.trim().is_empty() && !line.starts_with("--- ") {
            self.message.push(shown(line, SHOWN));
        }
    }

    fn current(&mut self) -> Option<&mut File> {
        self.files.get_mut(self.open?)
    }

    fn file(&mut self, path: &str) {
        let path = path.trim();
        self.open = self.known.get(path).copied();
        if self.open.is_some() {
            return;
        }
        if self.files.len() >= FILES {
            self.more.0 += 1;
            return;
        }
        self.open = Some(self.files.len());
        self.known.insert(path.to_owned(), self.files.len());
        self.files.push(File { path: path.to_owned(), ..File::default() });
    }

    /// `@@ -1,5 +1,6 @@ place`
    fn hunk(&mut self, number: usize, line: &str) {
        let mut words = line.splitn(5, ' ').skip(1);
        let mut count = |mark: char| {
            let range = words.next()?.strip_prefix(mark)?;
            range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok())
        };
        let (Some(removed), Some(added)) = (count('-'), count('+')) else { return };
        self.left = (removed, added);
        let place = words.nth(1).unwrap_or_default();
        if !place.trim().is_empty() && self.places.len() < SHOWN_FILES {
            let path = self.current().map(|file| file.path.clone()).unwrap_or_default();
            self.places.push((number, format!("{}: {}", shown(&path, SHOWN), shown(place, SHOWN))));
        }
    }

    fn changed(&mut self, line: &str) {
        let (added, removed, kept) = match line.as_bytes().first() {
            Some(b'+') => (1, 0, 0),
            Some(b'-') => (0, 1, 0),
            Some(b'\\') => return,
            _ => (0, 0, 1),
        };
        let (before, after) = self.left;
        self.left = (before.saturating_sub(removed + kept), after.saturating_sub(added + kept));
        let name = (kept == 0 && self.names < ALL_NAMES).then(|| definition(&line[1..])).flatten();
        let name = name.filter(|found| found.keyword != "impl").map(|found| found.name.to_owned());
        self.names += usize::from(name.is_some());
        let Some(file) = self.current() else {
            self.more = (self.more.0, self.more.1 + added, self.more.2 + removed);
            return;
        };
        file.added += added;
        file.removed += removed;
        let names = if added == 1 { &mut file.gains } else { &mut file.losses };
        names.extend(name);
    }
}

fn sections(text: &str, query: &str, _: usize) -> Vec<Section> {
    let mut diff = Diff::default();
    numbered(text).for_each(|(number, line)| diff.line(number, line));
    let Diff { mut files, message, places, more, .. } = diff;
    let added = files.iter().map(|file| file.added).sum::<usize>() + more.1;
    let removed = files.iter().map(|file| file.removed).sum::<usize>() + more.2;
    let count = files.len() + more.0;
    files.sort_by(|a, b| (b.added + b.removed).cmp(&(a.added + a.removed)).then_with(|| a.path.cmp(&b.path)));
    let mut findings = vec![format!("{count} files changed: {added} lines added, {removed} removed.")];
    let most: Vec<String> = files.iter().take(FOUND).map(File::told).collect();
    findings.push(format!("Most changed: {}.", most.join("; ")));
    let mut states = Counts::of(8);
    files.iter().filter(|file| !file.state.is_empty()).for_each(|file| states.add(file.state, 1));
    if states.len() > 0 {
        findings.push(format!("Files: {}.", states.told(4, |state| (*state).to_owned())));
    }
    let mut folders = Counts::of(FILES);
    let folder = |file: &File| file.path.rsplit_once('/').map_or(".", |(folder, _)| folder).to_owned();
    files.iter().for_each(|file| folders.add(folder(file), 1));
    if files.len() > FOUND {
        findings.push(format!("Files by folder: {}.", folders.told(6, |folder| shown(folder, 80))));
    }
    let names = |of: fn(&File) -> &Vec<String>| {
        let named = files.iter().filter(|file| !of(file).is_empty());
        let line = |file: &File| {
            let names =
                of(file).iter().take(NAMES).map(|name| shown(name, 60)).collect::<Vec<_>>().join(", ");
            let more = of(file).len().saturating_sub(NAMES);
            let more = if more > 0 { format!(", {more} more") } else { String::new() };
            format!("{}: {names}{more}", shown(&file.path, SHOWN))
        };
        named.take(SHOWN_FILES).map(line).collect::<Vec<_>>()
    };
    let (gains, losses) = (names(|file| &file.gains), names(|file| &file.losses));
    let places = places.iter().map(|(number, place)| format!("line {number}: {place}")).collect();
    let mut listed: Vec<String> = files.iter().take(SHOWN_FILES).map(File::told).collect();
    if count > listed.len() {
        listed.push(format!("{} files more", count - listed.len()));
    }
    vec![
        Section::list(findings),
        Section::titled("Message:", 15, message),
        Section::titled("Lines that match the query:", 35, matching(text, query)),
        Section::titled("Files (lines added and removed):", 40, listed),
        Section::titled("Added names:", 30, gains),
        Section::titled("Removed names:", 10, losses),
        Section::titled("Hunks:", 10, places),
    ]
}

impl File {
    /// `src/a.rs +12 -3 new`
    fn told(&self) -> String {
        let before =
            self.before.as_ref().map(|path| format!(" from {}", shown(path, SHOWN))).unwrap_or_default();
        let state = if self.state.is_empty() { String::new() } else { format!(" {}", self.state) };
        format!("{} +{} -{}{state}{before}", shown(&self.path, SHOWN), self.added, self.removed)
    }
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
