//! Digests settings (INI, TOML, `.env`, properties, output of `sysctl`). Sections that repeat become the rows of a
//! table.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use super::{
    document::{NodeBuilder, NodeKind, ParsedDocument},
    fit::DigestSection,
    json,
    kind::{TextKind, TextSample},
    lines::{MAX_SHOWN_CHARS, head, join, pack_lines, shown},
    measure,
};

pub(super) const KIND: TextKind = TextKind { name: "settings", is, sections };

const MIN_SETTINGS: usize = 6;
const MAX_KEY_BYTES: usize = 120;

const MIN_TABLE_ROWS: usize = 4;

const MAX_SECTIONS: usize = 4_000;
const MAX_LINE_BYTES: usize = 240;

enum SettingsLine<'a> {
    Blank,
    Section(&'a str),
    Setting(&'a str, &'a str),
    More,
    Other,
}

#[derive(Default)]
struct SettingsReader {
    /// Open brackets of the current value.
    open: usize,
    /// True if the previous line continues on this one.
    continues: bool,
}

impl SettingsReader {
    fn line<'a>(&mut self, line: &'a str) -> SettingsLine<'a> {
        let line = line.trim();
        let continues = std::mem::replace(&mut self.continues, line.ends_with('\\'));
        if line.is_empty() || line.starts_with(['#', ';', '!']) || line.starts_with("//") {
            return SettingsLine::Blank;
        }
        if self.open > 0 || continues {
            self.count(line);
            return SettingsLine::More;
        }
        if let Some(inner) = line.strip_prefix('[') {
            let inner = inner.strip_prefix('[').unwrap_or(inner);
            let Some((name, rest)) = inner.split_once(']') else { return SettingsLine::Other };
            let rest = rest.trim_start_matches([']', ' ', '\t']);
            let ends = rest.is_empty() || rest.starts_with(['#', ';']);
            return if ends { SettingsLine::Section(name.trim()) } else { SettingsLine::Other };
        }
        let Some((key, value)) = line.split_once('=') else { return SettingsLine::Other };
        let key = key.trim_end();
        let key = key.strip_prefix("export ").unwrap_or(key);
        let plain =
            |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '@' | ':' | '"' | '*');
        if key.is_empty()
            || key.len() > MAX_KEY_BYTES
            || !key.chars().all(plain)
            || value.starts_with(['=', '>', '~'])
        {
            return SettingsLine::Other;
        }
        self.count(value);
        SettingsLine::Setting(key, value.trim())
    }

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

fn is(sample: &TextSample<'_>) -> bool {
    let mut reader = SettingsReader::default();
    let (mut all, mut settings, mut more, mut code) = (0, 0, 0, 0);
    let (mut keys, mut in_sections) = (HashSet::new(), false);
    for line in &sample.lines {
        match reader.line(line) {
            SettingsLine::Blank => continue,
            SettingsLine::Section(_) => {
                settings += 1;
                in_sections = true;
            }
            SettingsLine::Setting(key, value) => {
                settings += 1;
                keys.insert(key);
                code += usize::from(value.ends_with([';', '(', '{']) || value.contains("::"));
            }
            SettingsLine::More => more += 1,
            SettingsLine::Other => {}
        }
        all += 1;
    }
    settings >= MIN_SETTINGS
        && (settings + more) * 20 >= all * 19
        && settings * 4 >= all
        && code * 4 <= settings
        // Outside sections, a key that repeats is a word of other lines: `uid=1_5 link`.
        && (in_sections || keys.len() * 2 > settings)
}

struct Setting {
    key: Range<usize>,
    value: Range<usize>,
}

struct SettingsSection<'a> {
    name: &'a str,
    times: Vec<Vec<Setting>>,
}

fn read(text: &str) -> Vec<SettingsSection<'_>> {
    let mut sections = vec![SettingsSection { name: "", times: vec![Vec::new()] }];
    let mut positions: HashMap<&str, usize> = HashMap::from([("", 0)]);
    let mut reader = SettingsReader::default();
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
            SettingsLine::Section(name) => {
                open = *positions.entry(name).or_insert(sections.len());
                if open == sections.len() && sections.len() < MAX_SECTIONS {
                    sections.push(SettingsSection { name, times: Vec::new() });
                }
                open = open.min(sections.len() - 1);
                sections[open].times.push(Vec::new());
            }
            SettingsLine::Setting(key, value) => {
                let setting = Setting { key: within(key), value: within(value) };
                if let Some(settings) = sections[open].times.last_mut() {
                    settings.push(setting);
                }
            }
            SettingsLine::More => {
                let last = sections[open].times.last_mut().and_then(|settings| settings.last_mut());
                if let Some(setting) = last {
                    setting.value.end = end.max(setting.value.start);
                }
            }
            SettingsLine::Blank | SettingsLine::Other => {}
        }
    }
    sections
}

fn sections(text: &str, query: &str, budget: usize) -> Vec<DigestSection> {
    let settings_sections = read(text);
    let (tables, single): (Vec<&SettingsSection<'_>>, Vec<&SettingsSection<'_>>) =
        settings_sections.iter().partition(|section| section.times.len() >= MIN_TABLE_ROWS);
    let count = |section: &&SettingsSection<'_>| section.times.iter().map(Vec::len).sum::<usize>();
    let total = settings_sections.iter().map(|section| count(&section)).sum::<usize>();
    let named = settings_sections
        .iter()
        .filter(|section| !section.name.is_empty())
        .map(|s| s.times.len())
        .sum::<usize>();
    let mut findings = vec![format!("{total} settings in {named} sections.")];
    for table in tables.iter().take(2) {
        findings.push(format!("The section {} occurs {} times.", shown(table.name, 60), table.times.len()));
    }
    let mut grouped: Vec<(String, Vec<String>)> = Vec::new();
    for section in &single {
        for setting in section.times.iter().flatten() {
            // `net.ipv4.tcp_mem`: the first word serves as a section.
            let key = &text[setting.key.clone()];
            let title = match (section.name, key.split_once('.')) {
                ("", Some((group, _))) => format!("{}.*", shown(group, 60)),
                ("", None) => String::new(),
                (name, _) => format!("[{}]", shown(name, 60)),
            };
            let value = shown(&text[setting.value.clone()], MAX_SHOWN_CHARS);
            let setting = format!("{} = {value}", shown(key, MAX_KEY_BYTES));
            let has_room = grouped.len() < MAX_SECTIONS / 10;
            match grouped.iter_mut().find(|(other_title, _)| *other_title == title) {
                Some((_, settings)) => settings.push(setting),
                None if has_room => grouped.push((title, vec![setting])),
                None => {}
            }
        }
    }
    let mut largest: Vec<&(String, Vec<String>)> = grouped.iter().collect();
    largest.sort_by_key(|(_, settings)| std::cmp::Reverse(settings.len()));
    if grouped.len() > 1 {
        let size = |(title, settings): &&(String, Vec<String>)| {
            format!("{} {}", if title.is_empty() { "no section" } else { title }, settings.len())
        };
        findings.push(format!("Most settings are in: {}.", join(largest.iter().take(6).map(size), ", ")));
    }
    let pack = |(title, settings): (String, Vec<String>)| {
        let prefix = if title.is_empty() { title } else { title + " " };
        pack_lines(&prefix, settings, "; ", MAX_LINE_BYTES)
    };
    let settings = grouped.into_iter().flat_map(pack).collect();
    let (mut sections, share) = match tables.is_empty() {
        true => (vec![DigestSection::with_lines(Vec::new())], 60),
        false => (json::sections_of_parts(&rows(text, &tables), query, budget), 20),
    };
    sections[0].lines.splice(0..0, findings);
    sections.insert(1, DigestSection::query_matches(40, text, query));
    sections.insert(2, DigestSection::with_title("Settings:", share, settings));
    sections
}

fn rows<'a>(text: &'a str, tables: &[&SettingsSection<'a>]) -> ParsedDocument<'a> {
    let mut tree = NodeBuilder::default();
    let root = tree.push(NodeKind::Object, 0..text.len(), 0, 0);
    for (at, section) in tables.iter().enumerate() {
        let start = section.name.as_ptr() as usize - text.as_ptr() as usize;
        tree.push(NodeKind::String, start..start + section.name.len(), root, at);
        let range = |row: &Vec<Setting>| match (row.first(), row.last()) {
            (Some(first), Some(last)) => first.key.start..last.value.end.max(first.key.start),
            _ => start..start,
        };
        let end = section.times.last().map_or(start, |row| range(row).end).max(start);
        let list = tree.push(NodeKind::Array, start..end, root, at);
        for (at, row) in section.times.iter().enumerate() {
            let object = tree.push(NodeKind::Object, range(row), list, at);
            for (at, Setting { key, value }) in row.iter().enumerate() {
                tree.push(NodeKind::String, key.clone(), object, at);
                let is_number = measure::number(&text[value.clone()]).is_some();
                let kind = if is_number { NodeKind::Number } else { NodeKind::String };
                tree.push(kind, value.clone(), object, at);
            }
            tree.close(object, row.len());
        }
        tree.close(list, section.times.len());
    }
    tree.close(root, tables.len());
    ParsedDocument::from_nodes(text, tree.nodes, None, None)
}
