//! Digests a listing of files: counts by kind, extension and directory, and the largest files.
//!
//! A line is a path (`find`), a size and a path (`du`), or a mode with size and name (`ls -l`).

use super::{
    fit::DigestSection,
    kind::{TextKind, TextSample},
    lines::{BoundedCounts, MAX_SHOWN_CHARS, numbered, shown},
};

pub(super) const KIND: TextKind = TextKind { name: "listing", is, sections };

const MAX_GROUPS: usize = 20_000;

const MAX_SHOWN_FOLDERS: usize = 60;
const MAX_SHOWN_ENTRIES: usize = 12;
const MAX_SHOWN_LINKS: usize = 40;

const MAX_NAMES_CHARS: usize = 400;

fn is(sample: &TextSample<'_>) -> bool {
    let lines = || sample.lines.iter().filter(|line| !line.trim().is_empty());
    let entries = lines().filter_map(|line| ListingEntry::parse(line));
    let (mut listed, mut deep) = (0, 0);
    for entry in entries {
        listed += 1;
        deep += usize::from(entry.kind.is_some() || entry.name.contains('/'));
    }
    let count = lines().count();
    count >= 8 && listed * 10 >= count * 9 && deep * 10 >= count * 8
}

struct ListingEntry<'a> {
    /// The first letter of its mode, if the line has one.
    kind: Option<char>,
    size: Option<u64>,
    name: &'a str,
    target: Option<&'a str>,
}

impl<'a> ListingEntry<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let line = line.trim_end();
        // The first line of `ls -l` is no entry.
        if line.strip_prefix("total ").is_some_and(|size| size.parse::<u64>().is_ok()) {
            return None;
        }
        if is_mode(line.split(' ').next()?) {
            return Self::parse_long(line);
        }
        let (first, rest) = line.split_once(['\t', ' ']).unwrap_or(("", line));
        let size =
            first.trim_end_matches(['K', 'M', 'G', 'T', 'B']).parse().ok().filter(|_| !rest.is_empty());
        let name = if size.is_some() { rest.trim_start() } else { line };
        let is_path = !name.is_empty()
            && !name.contains(['\t', '"', '<', '>', '{', '=', ';', ','])
            && !name.contains(": ");
        (is_path && name.split(' ').count() <= 3 && !name.contains("://")).then_some(Self {
            kind: None,
            size,
            name,
            target: None,
        })
    }

    /// Parses a line of `ls -l`. The name follows the time or the year.
    fn parse_long(line: &'a str) -> Option<Self> {
        let mut words = line.split(' ').filter(|word| !word.is_empty());
        let kind = words.next()?.chars().next();
        let size = words.nth(3)?.parse().ok();
        let is_time =
            |word: &&str| word.contains(':') || (word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit()));
        let time = words.by_ref().take(4).find(is_time)?;
        let (_, name) = line.split_once(&format!(" {time} "))?;
        let (name, target) =
            name.split_once(" -> ").map_or((name, None), |(name, target)| (name, Some(target)));
        Some(Self { kind, size, name, target })
    }
}

fn is_mode(word: &str) -> bool {
    matches!(word.len(), 10 | 11)
        && word.starts_with(['-', 'd', 'l', 'b', 'c', 'p', 's'])
        && word.bytes().skip(1).take(9).all(|b| b"rwxsStT-".contains(&b))
}

fn sections(text: &str, query: &str, _: usize) -> Vec<DigestSection> {
    let mut extensions = BoundedCounts::<_, MAX_GROUPS>::default();
    let mut folders = BoundedCounts::<_, MAX_GROUPS>::default();
    let mut kinds = BoundedCounts::<_, 8>::default();
    let mut largest: Vec<(u64, usize, &str)> = Vec::new();
    let mut links = Vec::new();
    let mut names: Vec<(&str, String)> = Vec::new();
    let (mut count, mut total, mut deepest) = (0, 0_u64, 0);
    for (number, line) in numbered(text) {
        let Some(entry) = ListingEntry::parse(line) else { continue };
        count += 1;
        let (folder, name) = entry.name.trim_end_matches('/').rsplit_once('/').unwrap_or(("", entry.name));
        deepest = deepest.max(entry.name.matches('/').count());
        let extension = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
        extensions.add(extension.map_or("", |(_, extension)| extension), 1);
        folders.add(folder, 1);
        if let Some(kind) = entry.kind {
            kinds.add(kind, 1);
        }
        if let Some(target) = entry.target.filter(|_| links.len() < MAX_SHOWN_LINKS) {
            let [name, target] = [entry.name, target].map(|path| shown(path, MAX_SHOWN_CHARS));
            links.push(format!("{name} -> {target}"));
        }
        let of_file = entry.kind.is_none_or(|kind| kind == '-');
        if let Some(size) = entry.size.filter(|_| of_file) {
            total = total.saturating_add(size);
            // In descending order. Of equal sizes, the earlier comes first.
            let at = largest.partition_point(|other| other.0 >= size);
            if at < MAX_SHOWN_ENTRIES {
                largest.insert(at, (size, number, entry.name));
                largest.truncate(MAX_SHOWN_ENTRIES);
            }
        }
        let room = names.len() < MAX_GROUPS;
        match names.last_mut() {
            Some((last, together)) if *last == folder && together.len() < MAX_NAMES_CHARS => {
                together.push_str(", ");
                together.push_str(&shown(name, 60));
            }
            Some((last, _)) if *last == folder => {}
            _ if room => names.push((folder, shown(name, 60))),
            _ => {}
        }
    }
    let extension = |extension: &&str| {
        if extension.is_empty() { "none".to_owned() } else { format!(".{}", shown(extension, 30)) }
    };
    let folder =
        |folder: &&str| if folder.is_empty() { ".".to_owned() } else { shown(folder, MAX_SHOWN_CHARS) };
    let mut findings =
        vec![format!("{count} entries in {} directories, at most {deepest} deep.", folders.len())];
    if kinds.len() > 0 {
        findings.push(format!("By kind: {}.", kinds.render(6, |kind| kind_name(*kind).to_owned())));
    }
    findings.push(format!("By extension: {}.", extensions.render(12, extension)));
    if folders.len() > 1 {
        findings.push(format!("Most entries directly in: {}.", folders.render(5, folder)));
    }
    if let Some((size, _, name)) = largest.first() {
        let name = shown(name, MAX_SHOWN_CHARS);
        findings.push(format!("The largest is {name} with {size}; the total is {total}."));
    }
    let entry = |(size, number, name): &(u64, usize, &str)| {
        format!("{size} {} (line {number})", shown(name, MAX_SHOWN_CHARS))
    };
    let largest = largest.iter().map(entry).collect();
    let frequent = if folders.len() > 1 { folders.most_frequent() } else { Vec::new() };
    let frequent = frequent.iter().take(MAX_SHOWN_FOLDERS).map(|(name, n)| format!("{} {n}", folder(name)));
    // One entry per run of lines from the same directory, from the whole listing.
    let run = |(name, together): &(&str, String)| {
        let more = if together.len() >= MAX_NAMES_CHARS { ", …" } else { "" };
        format!("{}/ {together}{more}", folder(name))
    };
    let step = names.len().div_ceil(MAX_SHOWN_LINKS).max(1);
    let shown_names = names.iter().step_by(step).map(run).collect();
    vec![
        DigestSection::with_lines(findings),
        DigestSection::query_matches(40, text, query),
        DigestSection::with_title("Largest:", 25, largest),
        DigestSection::with_title("Entries directly in directories:", 30, frequent.collect()),
        DigestSection::with_title("Links:", 20, links),
        DigestSection::with_title("Names:", 30, shown_names),
    ]
}

fn kind_name(kind: char) -> &'static str {
    match kind {
        '-' => "files",
        'd' => "directories",
        'l' => "links",
        'b' | 'c' => "devices",
        'p' => "pipes",
        _ => "sockets",
    }
}
