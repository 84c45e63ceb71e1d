//! Tells settings (INI, TOML, `.env`, properties, what `sysctl` prints): sections with their keys and values, without
//! comments; sections that come again and again as the rows of a table.

use std::{collections::HashMap, ops::Range};

use super::{
    document::{Id, Kind, Node, Parsed},
    fit::Section,
    json,
    kind::{Sample, TextKind},
    lines::{SHOWN, head, matching, shown},
    measure,
};

pub(super) const KIND: TextKind = TextKind { name: "settings", is, sections };

/// Settings of the beginning that make a text one, and bytes of the longest key.
const LEAST: usize = 6;
const KEY: usize = 120;

/// Times that a section comes from which on it is a table.
const ROWS: usize = 4;

/// Sections that are told apart, and characters of one line of settings.
const SECTIONS: usize = 4_000;
const TOGETHER: usize = 240;

/// What a line is.
enum Line<'a> {
    /// Blank or a comment.
    Nothing,
    Section(&'a str),
    Setting(&'a str, &'a str),
    /// Part of a value that takes several lines.
    More,
    Other,
}

/// Reads lines one after the other.
#[derive(Default)]
struct Reader {
    /// Brackets of a value that are still open.
    open: usize,
    /// Whether the line before goes on in this one.
    goes_on: bool,
}

impl Reader {
    fn line<'a>(&mut self, line: &'a str) -> Line<'a> {
        let line = line.trim();
        let goes_on = std::mem::replace(&mut self.goes_on, line.ends_with('\\'));
        if line.is_empty() || line.starts_with(['#', ';', '!']) || line.starts_with("//") {
            return Line::Nothing;
        }
        if self.open > 0 || goes_on {
            self.count(line);
            return Line::More;
        }
        if let Some(inner) = line.strip_prefix('[') {
            let inner = inner.strip_prefix('[').unwrap_or(inner);
            let Some((name, rest)) = inner.split_once(']') else { return Line::Other };
            let rest = rest.trim_start_matches([']', ' ', '\t']);
            let ends = rest.is_empty() || rest.starts_with(['#', ';']);
            return if ends { Line::Section(name.trim()) } else { Line::Other };
        }
        let Some((key, value)) = line.split_once('=') else { return Line::Other };
        let key = key.trim_end();
        let key = key.strip_prefix("export ").unwrap_or(key);
        let plain =
            |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '@' | ':' | '"' | '*');
        if key.is_empty() || key.len() > KEY || !key.chars().all(plain) || value.starts_with(['=', '>', '~'])
        {
            return Line::Other;
        }
        self.count(value);
        Line::Setting(key, value.trim())
    }

    /// Brackets outside of quotes.
    fn count(&mut self, value: &str) {
        let mut quoted = None;
        for c in value.chars() {
            match (quoted, c) {
                (None, '"' | '\'') => quoted = Some(c),
                (Some(mark), c) if mark == c => quoted = None,
                (None, '#') => return,
                (None, '[' | '{') => self.open += 1,
                (None, ']' | '}') => self.open = self.open.saturating_sub(1),
                _ => {}
            }
        }
    }
}

fn is(sample: &Sample<'_>) -> bool {
    let mut reader = Reader::default();
    let (mut all, mut settings, mut more, mut code) = (0, 0, 0, 0);
    for line in &sample.lines {
        match reader.line(line) {
            Line::Nothing => continue,
            Line::Section(_) => settings += 1,
            Line::Setting(_, value) => {
                settings += 1;
                code += usize::from(value.ends_with([';', '(', '{']) || value.contains("::"));
            }
            Line::More => more += 1,
            Line::Other => {}
        }
        all += 1;
    }
    settings >= LEAST && (settings + more) * 20 >= all * 19 && settings * 4 >= all && code * 4 <= settings
}

/// A setting: where its key and value stand.
struct Setting {
    key: Range<usize>,
    value: Range<usize>,
}

/// A section as often as it comes.
struct Found<'a> {
    name: &'a str,
    times: Vec<Vec<Setting>>,
}

fn read(text: &str) -> Vec<Found<'_>> {
    let mut found = vec![Found { name: "", times: vec![Vec::new()] }];
    let mut known: HashMap<&str, usize> = HashMap::from([("", 0)]);
    let mut reader = Reader::default();
    let mut open = 0;
    let mut at = 0;
    let within = |part: &str| {
        let start = part.as_ptr() as usize - text.as_ptr() as usize;
        start..start + part.len()
    };
    for line in text.split_inclusive('\n') {
        let end = at + line.trim_end().len();
        at += line.len();
        match reader.line(head(line)) {
            Line::Section(name) => {
                open = *known.entry(name).or_insert(found.len());
                if open == found.len() && found.len() < SECTIONS {
                    found.push(Found { name, times: Vec::new() });
                }
                open = open.min(found.len() - 1);
                found[open].times.push(Vec::new());
            }
            Line::Setting(key, value) => {
                let setting = Setting { key: within(key), value: within(value) };
                if let Some(settings) = found[open].times.last_mut() {
                    settings.push(setting);
                }
            }
            Line::More => {
                let last = found[open].times.last_mut().and_then(|settings| settings.last_mut());
                if let Some(setting) = last {
                    setting.value.end = end.max(setting.value.start);
                }
            }
            Line::Nothing | Line::Other => {}
        }
    }
    found
}

fn sections(text: &str, query: &str, budget: usize) -> Vec<Section> {
    let found = read(text);
    let (tables, single): (Vec<&Found<'_>>, Vec<&Found<'_>>) =
        found.iter().partition(|section| section.times.len() >= ROWS);
    let count = |section: &&Found<'_>| section.times.iter().map(Vec::len).sum::<usize>();
    let all = found.iter().map(|section| count(&section)).sum::<usize>();
    let named = found.iter().filter(|section| !section.name.is_empty()).map(|s| s.times.len()).sum::<usize>();
    let mut findings = vec![format!("{all} settings in {named} sections.")];
    for table in tables.iter().take(2) {
        findings.push(format!("The section {} comes {} times.", shown(table.name, 60), table.times.len()));
    }
    let mut grouped: Vec<(String, Vec<String>)> = Vec::new();
    for section in &single {
        for setting in section.times.iter().flatten() {
            // `net.ipv4.tcp_mem`: the first word stands for a section.
            let key = &text[setting.key.clone()];
            let title = match section.name {
                "" => {
                    key.split_once('.').map_or(String::new(), |(group, _)| format!("{}.*", shown(group, 60)))
                }
                name => format!("[{}]", shown(name, 60)),
            };
            let told = format!("{} = {}", shown(key, KEY), shown(&text[setting.value.clone()], SHOWN));
            let room = grouped.len() < SECTIONS / 10;
            match grouped.iter_mut().find(|(known, _)| *known == title) {
                Some((_, settings)) => settings.push(told),
                None if room => grouped.push((title, vec![told])),
                None => {}
            }
        }
    }
    let mut largest: Vec<&(String, Vec<String>)> = grouped.iter().collect();
    largest.sort_by_key(|(_, settings)| std::cmp::Reverse(settings.len()));
    if grouped.len() > 1 {
        let most: Vec<String> = largest
            .iter()
            .take(6)
            .map(|(title, settings)| {
                format!("{} {}", if title.is_empty() { "no section" } else { title }, settings.len())
            })
            .collect();
        findings.push(format!("Most settings stand in: {}.", most.join(", ")));
    }
    let settings = grouped.iter().flat_map(|(title, settings)| together(title, settings)).collect();
    let mut sections = match tables.is_empty() {
        true => vec![Section::list(Vec::new())],
        false => json::sections_of_parts(&rows(text, &tables), query, budget),
    };
    sections[0].lines.splice(0..0, findings);
    sections.insert(1, Section::titled("Lines that match the query:", 40, matching(text, query)));
    sections.insert(2, Section::titled("Settings:", if tables.is_empty() { 60 } else { 20 }, settings));
    sections
}

/// The settings of a section, as many in a line as it takes.
fn together(title: &str, settings: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for setting in settings {
        match lines.last_mut() {
            Some(line) if line.len() + setting.len() < TOGETHER => {
                line.push_str("; ");
                line.push_str(setting);
            }
            _ => lines.push(format!("{title}{}{setting}", if title.is_empty() { "" } else { " " })),
        }
    }
    lines
}

/// Sections that come again and again, as lists by their names.
fn rows<'a>(text: &'a str, tables: &[&Found<'a>]) -> Parsed<'a> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut push = |kind: Kind,
                    at: Range<usize>,
                    parent: Id,
                    index: usize,
                    len: usize,
                    inside: usize|
     -> Id {
        let id = nodes.len() as Id;
        let (start, end, index) = (at.start as u32, at.end as u32, index as u32);
        nodes.push(Node { kind, start, end, next: id + 1 + inside as u32, len: len as u32, parent, index });
        id
    };
    let inside = |section: &Found<'_>| section.times.iter().map(|row| 1 + 2 * row.len()).sum::<usize>();
    let whole = tables.iter().map(|section| 2 + inside(section)).sum();
    let root = push(Kind::Object, 0..text.len(), 0, 0, tables.len(), whole);
    for (at, section) in tables.iter().enumerate() {
        let start = section.name.as_ptr() as usize - text.as_ptr() as usize;
        push(Kind::String, start..start + section.name.len(), root, at, 0, 0);
        let of = |row: &Vec<Setting>| match (row.first(), row.last()) {
            (Some(first), Some(last)) => first.key.start..last.value.end.max(first.key.start),
            _ => start..start,
        };
        let end = section.times.last().map_or(start, |row| of(row).end).max(start);
        let list = push(Kind::Array, start..end, root, at, section.times.len(), inside(section));
        for (at, row) in section.times.iter().enumerate() {
            let object = push(Kind::Object, of(row), list, at, row.len(), 2 * row.len());
            for (at, Setting { key, value }) in row.iter().enumerate() {
                push(Kind::String, key.clone(), object, at, 0, 0);
                let kind =
                    if measure::number(&text[value.clone()]).is_some() { Kind::Number } else { Kind::String };
                push(kind, value.clone(), object, at, 0, 0);
            }
        }
    }
    let mut parsed = Parsed::of(text, nodes, String::new());
    parsed.note = None;
    parsed
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
