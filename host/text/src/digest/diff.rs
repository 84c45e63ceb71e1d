//! Digests a diff: changed files, names of added and removed definitions, and hunks.

use std::collections::HashMap;

use super::{
    fit::DigestSection,
    kind::{TextKind, TextSample},
    lines::{BoundedCounts, MAX_SHOWN_CHARS, join, numbered, shown},
};
use crate::layout::definition;

pub(super) const KIND: TextKind = TextKind { name: "diff", is, sections };

/// Maximum files that are listed. Further ones count only in the totals.
const MAX_FILES: usize = 4_096;

const MAX_SHOWN_FILES: usize = 200;
const MAX_FINDING_FILES: usize = 4;

const MAX_SHOWN_NAMES: usize = 24;
const MAX_NAMES: usize = 4_096;

/// Maximum lines of the commit message.
const MAX_MESSAGE_LINES: usize = 8;

fn is(sample: &TextSample<'_>) -> bool {
    let begins = |mark: &str| sample.lines.iter().filter(|line| line.starts_with(mark)).count();
    let heads = begins("diff --git ") + begins("Index: ");
    let hunks = begins("@@ ");
    let pairs = begins("--- ").min(begins("+++ "));
    (pairs > 0 && hunks > 0) || (heads > 0 && (pairs > 0 || hunks > 0 || begins("index ") > 0))
}

#[derive(Default)]
struct FileDiff {
    path: String,
    before: Option<String>,
    state: &'static str,
    added: usize,
    removed: usize,
    gains: Vec<String>,
    losses: Vec<String>,
}

#[derive(Default)]
struct Diff {
    files: Vec<FileDiff>,
    known: HashMap<String, usize>,
    message: Vec<String>,
    /// Text after the second `@@` of each hunk.
    places: Vec<(usize, String)>,
    names: usize,
    /// Remaining lines of the current hunk in the old and in the new file.
    left: (usize, usize),
    open: Option<usize>,
    more: (usize, usize, usize),
}

impl Diff {
    fn line(&mut self, number: usize, line: &str) {
        if self.left != (0, 0) {
            return self.changed(line);
        }
        if let Some(rest) = line.strip_prefix("diff --git ") {
            // `a/path b/path`: both are the same except for a rename.
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
        } else if self.message.len() < MAX_MESSAGE_LINES
            && !line.trim().is_empty()
            && !line.starts_with("--- ")
        {
            self.message.push(shown(line, MAX_SHOWN_CHARS));
        }
    }

    fn current(&mut self) -> Option<&mut FileDiff> {
        self.files.get_mut(self.open?)
    }

    fn file(&mut self, path: &str) {
        let path = path.trim();
        self.open = self.known.get(path).copied();
        if self.open.is_some() {
            return;
        }
        if self.files.len() >= MAX_FILES {
            self.more.0 += 1;
            return;
        }
        self.open = Some(self.files.len());
        self.known.insert(path.to_owned(), self.files.len());
        self.files.push(FileDiff { path: path.to_owned(), ..FileDiff::default() });
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
        if !place.trim().is_empty() && self.places.len() < MAX_SHOWN_FILES {
            let path = self.current().map(|file| file.path.clone()).unwrap_or_default();
            let [path, place] = [&path, place].map(|text| shown(text, MAX_SHOWN_CHARS));
            self.places.push((number, format!("{path}: {place}")));
        }
    }

    fn changed(&mut self, line: &str) {
        let (added, removed, context) = match line.as_bytes().first() {
            Some(b'+') => (1, 0, 0),
            Some(b'-') => (0, 1, 0),
            Some(b'\\') => return,
            _ => (0, 0, 1),
        };
        let (before, after) = self.left;
        self.left = (before.saturating_sub(removed + context), after.saturating_sub(added + context));
        let name = (context == 0 && self.names < MAX_NAMES).then(|| definition(&line[1..])).flatten();
        let name = name.filter(|symbol| symbol.keyword != "impl").map(|symbol| symbol.name.to_owned());
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

fn sections(text: &str, query: &str, _: usize) -> Vec<DigestSection> {
    let mut diff = Diff::default();
    numbered(text).for_each(|(number, line)| diff.line(number, line));
    let Diff { mut files, message, places, more, .. } = diff;
    let added = files.iter().map(|file| file.added).sum::<usize>() + more.1;
    let removed = files.iter().map(|file| file.removed).sum::<usize>() + more.2;
    let count = files.len() + more.0;
    files.sort_by(|a, b| (b.added + b.removed).cmp(&(a.added + a.removed)).then_with(|| a.path.cmp(&b.path)));
    let mut findings = vec![format!("{count} files changed: {added} lines added, {removed} removed.")];
    let top_files = files.iter().take(MAX_FINDING_FILES).map(FileDiff::render);
    findings.push(format!("Most changed: {}.", join(top_files, "; ")));
    let mut states = BoundedCounts::<_, 8>::default();
    files.iter().filter(|file| !file.state.is_empty()).for_each(|file| states.add(file.state, 1));
    if states.len() > 0 {
        findings.push(format!("Files: {}.", states.render(4, |state| (*state).to_owned())));
    }
    let mut folders = BoundedCounts::<_, MAX_FILES>::default();
    let folder = |file: &FileDiff| file.path.rsplit_once('/').map_or(".", |(folder, _)| folder).to_owned();
    files.iter().for_each(|file| folders.add(folder(file), 1));
    if files.len() > MAX_FINDING_FILES {
        findings.push(format!("Files by directory: {}.", folders.render(6, |folder| shown(folder, 80))));
    }
    let names = |of: fn(&FileDiff) -> &Vec<String>| {
        let named = files.iter().filter(|file| !of(file).is_empty());
        let line = |file: &FileDiff| {
            let names = join(of(file).iter().take(MAX_SHOWN_NAMES).map(|name| shown(name, 60)), ", ");
            let more = of(file).len().saturating_sub(MAX_SHOWN_NAMES);
            let more = if more > 0 { format!(", {more} more") } else { String::new() };
            format!("{}: {names}{more}", shown(&file.path, MAX_SHOWN_CHARS))
        };
        named.take(MAX_SHOWN_FILES).map(line).collect::<Vec<_>>()
    };
    let (gains, losses) = (names(|file| &file.gains), names(|file| &file.losses));
    let places = places.iter().map(|(number, place)| format!("line {number}: {place}")).collect();
    let mut listed: Vec<String> = files.iter().take(MAX_SHOWN_FILES).map(FileDiff::render).collect();
    if count > listed.len() {
        listed.push(format!("{} more files", count - listed.len()));
    }
    vec![
        DigestSection::with_lines(findings),
        DigestSection::with_title("Message:", 15, message),
        DigestSection::query_matches(35, text, query),
        DigestSection::with_title("Files (lines added and removed):", 40, listed),
        DigestSection::with_title("Added names:", 30, gains),
        DigestSection::with_title("Removed names:", 10, losses),
        DigestSection::with_title("Hunks:", 10, places),
    ]
}

impl FileDiff {
    /// `src/a.rs +12 -3 new`
    fn render(&self) -> String {
        let before = self.before.as_ref().map(|path| format!(" from {}", shown(path, MAX_SHOWN_CHARS)));
        let before = before.unwrap_or_default();
        let state = if self.state.is_empty() { String::new() } else { format!(" {}", self.state) };
        format!("{} +{} -{}{state}{before}", shown(&self.path, MAX_SHOWN_CHARS), self.added, self.removed)
    }
}
