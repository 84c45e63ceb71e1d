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
    let (all, lines, more, about) = defined(text);
    let mut keywords = BoundedCounts::<_, 40>::default();
    all.iter().for_each(|defined| keywords.add(defined.symbol.keyword.clone(), 1));
    let mut findings = vec![format!("{lines} lines of code define {}.", keywords.render(8, String::clone))];
    findings.extend(about.map(|about| format!("First comment: {about}")));
    let mut longest: Vec<&SymbolEntry> = all.iter().filter(|defined| defined.symbol.is_function()).collect();
    longest.sort_by_key(|defined| (std::cmp::Reverse(defined.end - defined.line), defined.line));
    if !longest.is_empty() {
        let span = |d: &&SymbolEntry| format!("{} (lines {}-{})", d.symbol.name, d.line, d.end);
        findings.push(format!("The longest functions: {}.", join(longest.iter().take(3).map(span), ", ")));
    }
    let tops: Vec<usize> = (0..all.len()).filter(|at| all[*at].parent.is_none()).collect();
    let mut listed = grouped(&all, &tops);
    let mut inside: Vec<(usize, Vec<usize>)> = Vec::new();
    for (at, defined) in all.iter().enumerate() {
        let Some(parent) = defined.parent else { continue };
        match inside.last_mut().filter(|(last, _)| *last == parent) {
            Some((_, members)) => members.push(at),
            None => inside.push((parent, vec![at])),
        }
    }
    for (parent, members) in &inside {
        let name = format!("{} {}", all[*parent].symbol.keyword, all[*parent].symbol.name);
        listed.extend(grouped(&all, members).into_iter().map(|group| format!("in {name}: {group}")));
    }
    listed.truncate(MAX_SHOWN_LINES);
    if more > 0 {
        listed.push(format!("{more} more definitions"));
    }
    let mut said: Vec<&SymbolEntry> = all.iter().filter(|defined| !defined.comment.is_empty()).collect();
    said.sort_by_key(|defined| (!defined.symbol.public, defined.parent.is_some(), defined.line));
    let said = said
        .iter()
        .take(MAX_SHOWN_LINES)
        .map(|d| format!("{} ({}): {}", d.symbol.name, d.line, d.comment))
        .collect();
    vec![
        DigestSection::with_lines(findings),
        DigestSection::query_matches(40, text, query),
        DigestSection::with_title("Definitions (with lines):", 60, listed),
        DigestSection::with_title("Comments on definitions:", 30, said),
    ]
}

/// Lists names with lines, several per digest line, each keyword once: `fn a 12, b 30; struct C 44`.
fn grouped(all: &[SymbolEntry], members: &[usize]) -> Vec<String> {
    let line = |members: &[usize]| {
        let mut out = String::new();
        let mut keyword = "";
        for at in members {
            let SymbolEntry { symbol, line, .. } = &all[*at];
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
    let mut all: Vec<SymbolEntry> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut comments = symbol::CommentTracker::default();
    let (mut lines, mut more, mut last) = (0, 0, 0);
    let (mut above, mut about) = (String::new(), None);
    for (number, line) in numbered(text) {
        lines = number;
        if line.trim().is_empty() {
            continue;
        }
        if let Some(said) = comments.line(line) {
            let said = shown(said, MAX_COMMENT_CHARS);
            if about.is_none() && all.is_empty() && said.len() > 20 && !said.starts_with(['!', '-', '*']) {
                about = Some(said.clone());
            }
            // A string below `def` is its documentation. Other comments inside describe the implementation.
            let inside = all
                .last_mut()
                .filter(|d| comments.is_string() && d.comment.is_empty() && number <= d.line + 12);
            match inside {
                Some(defined) => defined.comment = said,
                None if above.is_empty() => above = said,
                None => {}
            }
            continue;
        }
        if line.trim_start().starts_with(['@', '#']) {
            continue;
        }
        let said = std::mem::take(&mut above);
        let indent = line.len() - line.trim_start().len();
        let Some(symbol) = symbol::parse(line) else {
            if !line.trim_start().starts_with(['}', ')', ']']) {
                close(&mut all, &mut open, indent + 1, last);
            }
            last = number;
            continue;
        };
        close(&mut all, &mut open, indent, last);
        last = number;
        if all.len() >= MAX_SYMBOLS {
            more += 1;
            continue;
        }
        let parent = open.iter().rev().copied().find(|at| !all[*at].symbol.is_function());
        open.push(all.len());
        all.push(SymbolEntry { symbol, line: number, end: number, comment: said, parent });
    }
    close(&mut all, &mut open, 0, last);
    (all, lines, more, about)
}

fn close(all: &mut [SymbolEntry], open: &mut Vec<usize>, indent: usize, last: usize) {
    while let Some(at) = open.last().copied().filter(|at| all[*at].symbol.indent >= indent) {
        all[at].end = last.max(all[at].line);
        open.pop();
    }
}
