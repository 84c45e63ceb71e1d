//! Digests source code: definitions with their lines, and the comments above them.

use super::{
    fit::DigestSection,
    kind::{TextKind, TextSample},
    lines::{BoundedCounts, join, numbered, shown},
    symbol::{self, Symbol},
};

pub(super) const KIND: TextKind = TextKind { name: "code", is, sections };

const MAX_SYMBOLS: usize = 8_192;

const MAX_NAMES_PER_LINE: usize = 12;
const MAX_SHOWN_LINES: usize = 160;

const MAX_COMMENT_CHARS: usize = 100;

/// Minimum definitions, and minimum percentage of lines that look like code.
const MIN_CODE_LINES: usize = 3;
const MIN_CODE_PERCENT: usize = 45;

fn is(sample: &TextSample<'_>) -> bool {
    let (mut all, mut code, mut symbols, mut prose) = (0, 0, 0, 0);
    let mut comments = symbol::CommentTracker::default();
    for line in sample.lines.iter().filter(|line| !line.trim().is_empty()) {
        let comment = comments.line(line);
        if comment.is_some() {
            continue;
        }
        all += 1;
        symbols += usize::from(symbol::parse(line).is_some());
        let end = line.trim_end();
        code += usize::from(end.ends_with([';', '{', '}', ')', '(', ':', ',', ']', '[']));
        prose += usize::from(end.ends_with('.') && end.starts_with(|c: char| c.is_uppercase()));
    }
    symbols >= MIN_CODE_LINES
        && symbols * 60 >= all
        && code * 100 >= all * MIN_CODE_PERCENT
        && prose * 10 <= all
}

struct SymbolEntry {
    symbol: Symbol,
    line: usize,
    end: usize,
    /// First line of the comment above it or of its docstring.
    comment: String,
    /// Index of the definition around it that is not a function.
    parent: Option<usize>,
}

fn sections(text: &str, query: &str, _: usize) -> Vec<DigestSection> {
    let (entries, lines, more, about) = defined(text);
    let mut keywords = BoundedCounts::<_, 40>::default();
    entries.iter().for_each(|defined| keywords.add(defined.symbol.keyword.clone(), 1));
    let mut findings = vec![format!("{lines} lines of code define {}.", keywords.render(8, String::clone))];
    findings.extend(about.map(|about| format!("First comment: {about}")));
    let mut longest: Vec<&SymbolEntry> =
        entries.iter().filter(|defined| defined.symbol.is_function()).collect();
    longest.sort_by_key(|defined| (std::cmp::Reverse(defined.end - defined.line), defined.line));
    if !longest.is_empty() {
        let span = |d: &&SymbolEntry| format!("{} (lines {}-{})", d.symbol.name, d.line, d.end);
        findings.push(format!("The longest functions: {}.", join(longest.iter().take(3).map(span), ", ")));
    }
    let tops: Vec<usize> = (0..entries.len()).filter(|at| entries[*at].parent.is_none()).collect();
    let mut listed = grouped(&entries, &tops);
    let mut inside: Vec<(usize, Vec<usize>)> = Vec::new();
    for (at, defined) in entries.iter().enumerate() {
        let Some(parent) = defined.parent else { continue };
        match inside.last_mut().filter(|(last, _)| *last == parent) {
            Some((_, members)) => members.push(at),
            None => inside.push((parent, vec![at])),
        }
    }
    for (parent, members) in &inside {
        let name = format!("{} {}", entries[*parent].symbol.keyword, entries[*parent].symbol.name);
        listed.extend(grouped(&entries, members).into_iter().map(|group| format!("in {name}: {group}")));
    }
    listed.truncate(MAX_SHOWN_LINES);
    if more > 0 {
        listed.push(format!("{more} more definitions"));
    }
    let mut commented: Vec<&SymbolEntry> =
        entries.iter().filter(|defined| !defined.comment.is_empty()).collect();
    commented.sort_by_key(|defined| (!defined.symbol.public, defined.parent.is_some(), defined.line));
    let comments = commented
        .iter()
        .take(MAX_SHOWN_LINES)
        .map(|d| format!("{} ({}): {}", d.symbol.name, d.line, d.comment))
        .collect();
    vec![
        DigestSection::with_lines(findings),
        DigestSection::query_matches(40, text, query),
        DigestSection::with_title("Definitions (with lines):", 60, listed),
        DigestSection::with_title("Comments on definitions:", 30, comments),
    ]
}

/// Lists names with lines, several per digest line, each keyword once: `fn a 12, b 30; struct C 44`.
fn grouped(entries: &[SymbolEntry], members: &[usize]) -> Vec<String> {
    let line = |members: &[usize]| {
        let mut out = String::new();
        let mut keyword = "";
        for at in members {
            let SymbolEntry { symbol, line, .. } = &entries[*at];
            if symbol.keyword == keyword {
                out.push_str(", ");
            } else {
                out.push_str(if out.is_empty() { "" } else { "; " });
                out.push_str(&symbol.keyword);
                out.push(' ');
                keyword = &symbol.keyword;
            }
            out.push_str(&format!("{} {line}", symbol.name));
        }
        out
    };
    members.chunks(MAX_NAMES_PER_LINE).map(line).collect()
}

/// Returns the definitions, the line count, the number of further definitions, and the file's first comment.
fn defined(text: &str) -> (Vec<SymbolEntry>, usize, usize, Option<String>) {
    let mut entries: Vec<SymbolEntry> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut comments = symbol::CommentTracker::default();
    let (mut lines, mut more, mut last) = (0, 0, 0);
    let (mut above, mut about) = (String::new(), None);
    for (number, line) in numbered(text) {
        lines = number;
        if line.trim().is_empty() {
            continue;
        }
        if let Some(comment) = comments.line(line) {
            let comment = shown(comment, MAX_COMMENT_CHARS);
            if about.is_none()
                && entries.is_empty()
                && comment.len() > 20
                && !comment.starts_with(['!', '-', '*'])
            {
                about = Some(comment.clone());
            }
            // A string below `def` is its documentation. Other comments inside describe the implementation.
            let inside = entries
                .last_mut()
                .filter(|d| comments.is_string() && d.comment.is_empty() && number <= d.line + 12);
            match inside {
                Some(defined) => defined.comment = comment,
                None if above.is_empty() => above = comment,
                None => {}
            }
            continue;
        }
        if line.trim_start().starts_with(['@', '#']) {
            continue;
        }
        let comment = std::mem::take(&mut above);
        let indent = line.len() - line.trim_start().len();
        let Some(symbol) = symbol::parse(line) else {
            if !line.trim_start().starts_with(['}', ')', ']']) {
                close(&mut entries, &mut open, indent + 1, last);
            }
            last = number;
            continue;
        };
        close(&mut entries, &mut open, indent, last);
        last = number;
        if entries.len() >= MAX_SYMBOLS {
            more += 1;
            continue;
        }
        let parent = open.iter().rev().copied().find(|at| !entries[*at].symbol.is_function());
        open.push(entries.len());
        entries.push(SymbolEntry { symbol, line: number, end: number, comment, parent });
    }
    close(&mut entries, &mut open, 0, last);
    (entries, lines, more, about)
}

fn close(entries: &mut [SymbolEntry], open: &mut Vec<usize>, indent: usize, last: usize) {
    while let Some(at) = open.last().copied().filter(|at| entries[*at].symbol.indent >= indent) {
        entries[at].end = last.max(entries[at].line);
        open.pop();
    }
}
