//! The structure of a text: headings with their sections, fenced code, tables and prose.
//!
//! Headings follow Markdown (`#` or underlined), reStructuredText (underlined, optionally overlined) and AsciiDoc
//! (`=`). In source code, the lines of definitions are headings, together with the comments above them.

mod code;
mod line;

use self::line::{BlockFence, LineKind};
pub(crate) use self::{
    code::{definition, is_code},
    line::is_manual,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextSpan {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) kind: SpanKind,
    /// Index of its heading in [`TextLayout::headings`]. A heading's own section is itself.
    pub(crate) section: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanKind {
    /// May be cut anywhere.
    Prose,
    Heading,
    Code,
    Table,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Heading {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// 1 is the highest.
    pub(crate) level: usize,
    pub(crate) parent: Option<usize>,
}

/// The structure of a text. The spans cover it byte for byte.
#[derive(Debug, Default)]
pub(crate) struct TextLayout {
    pub(crate) spans: Vec<TextSpan>,
    pub(crate) headings: Vec<Heading>,
}

impl TextLayout {
    pub(crate) fn from_text(text: &str) -> Self {
        let mut reader = LayoutReader {
            text,
            code: code::has_comments(text),
            manual: line::is_manual(text),
            ..LayoutReader::default()
        };
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            reader.line(start, line);
            start += line.len();
        }
        reader.layout
    }

    /// Returns the headings that lead to a section, its own first.
    pub(crate) fn path(&self, section: Option<usize>) -> impl Iterator<Item = usize> {
        std::iter::successors(section, |heading| self.headings[*heading].parent)
    }
}

/// Maximum depth of the outline. Deeper headings become siblings of the deepest.
const MAX_HEADING_DEPTH: usize = 8;

#[derive(Default)]
struct LayoutReader<'a> {
    text: &'a str,
    code: bool,
    manual: bool,
    layout: TextLayout,
    /// The open headings, each a child of the previous one.
    open: Vec<usize>,
    fence: Option<BlockFence>,
    /// The two previous lines, if they can be an overline and a title.
    before: [Option<(usize, usize)>; 2],
    /// Styles of underlined headings (character, overlined). The order in which they first occur is their level.
    lines: Vec<(char, bool)>,
    comments: Option<usize>,
}

impl LayoutReader<'_> {
    fn line(&mut self, start: usize, line: &str) {
        let end = start + line.len();
        if let Some(fence) = &self.fence {
            if fence.is_closed_by(line) {
                self.fence = None;
            }
            self.extend(end);
            return;
        }
        if self.code {
            return self.line_of_code(start, end, line);
        }
        let [over, title] = self.before;
        let mark = match line::mark(line) {
            LineKind::Fence(BlockFence::AsciiDoc, _) if !self.is_announced(title) => LineKind::Rule('-', 4),
            LineKind::Text if self.manual && line::is_manual_title(line) => LineKind::Heading(1),
            mark => mark,
        };
        match mark {
            LineKind::Fence(fence, kind) => {
                self.push(start, end, kind);
                self.fence = Some(fence);
            }
            LineKind::Heading(level) => self.heading(start, end, level),
            LineKind::Rule(rule, length) if self.underlines(title, length) => {
                let over = over.filter(|(start, end)| {
                    line::mark(&self.text[*start..*end]) == LineKind::Rule(rule, length)
                });
                let from = over.or(title).map_or(start, |(start, _)| start);
                let kind = (rule, over.is_some());
                let position = self.lines.iter().position(|seen| *seen == kind).unwrap_or_else(|| {
                    self.lines.push(kind);
                    self.lines.len() - 1
                });
                self.cut(from);
                self.heading(from, end, position + 1);
            }
            LineKind::Table => {
                self.push(start, end, SpanKind::Table);
                self.before = [None, None];
                return;
            }
            LineKind::Rule(..) | LineKind::Text => {
                self.push(start, end, SpanKind::Prose);
                self.before = [title, Some((start, end))];
                return;
            }
            LineKind::Blank => match self.layout.spans.last() {
                Some(last) if last.kind == SpanKind::Prose => self.extend(end),
                _ => self.push(start, end, SpanKind::Prose),
            },
        }
        self.before = [None, None];
    }

    fn line_of_code(&mut self, start: usize, end: usize, line: &str) {
        match code::line(line) {
            code::CodeLine::Definition(indent) => {
                let from = self.comments.take().unwrap_or(start);
                self.cut(from);
                self.heading(start, end, indent + 1);
                // The comments above the definition belong to it.
                let section = self.open.last().copied();
                let spans = self.layout.spans.iter_mut().rev();
                spans.take_while(|span| span.start >= from).for_each(|span| span.section = section);
            }
            code::CodeLine::Comment => {
                self.comments.get_or_insert(start);
                self.push(start, end, SpanKind::Prose);
            }
            code::CodeLine::Other => {
                self.comments = None;
                self.push(start, end, SpanKind::Prose);
            }
        }
    }

    /// Returns whether the previous line can be a title: alone or below an overline, and not much longer than the
    /// underline.
    fn underlines(&self, title: Option<(usize, usize)>, length: usize) -> bool {
        let Some(title) = title.map(|(start, end)| self.text[start..end].trim()) else { return false };
        let alone = match self.before[0] {
            None => true,
            Some((start, end)) => matches!(line::mark(&self.text[start..end]), LineKind::Rule(..)),
        };
        alone
            && line::mark(title) == LineKind::Text
            && length >= 3
            && title.chars().take(line::MAX_TITLE_CHARS + 1).count()
                <= (length + length / 4 + 3).min(line::MAX_TITLE_CHARS)
    }

    /// Returns whether the previous line announces a block of code, such as `[source,c]`.
    fn is_announced(&self, before: Option<(usize, usize)>) -> bool {
        before.is_some_and(|(start, _)| self.text[start..].starts_with('['))
    }

    fn heading(&mut self, start: usize, end: usize, level: usize) {
        while self.open.len() >= MAX_HEADING_DEPTH
            || self.open.last().is_some_and(|open| self.layout.headings[*open].level >= level)
        {
            self.open.pop();
        }
        let parent = self.open.last().copied();
        self.layout.headings.push(Heading { start, end, level, parent });
        self.open.push(self.layout.headings.len() - 1);
        self.push(start, end, SpanKind::Heading);
    }

    /// Adds a range, merged into the previous span if both are prose or both are a table.
    fn push(&mut self, start: usize, end: usize, kind: SpanKind) {
        let section = self.open.last().copied();
        let joins = matches!(kind, SpanKind::Prose | SpanKind::Table);
        match self.layout.spans.last_mut() {
            Some(last) if joins && last.kind == kind && last.section == section => last.end = end,
            _ => self.layout.spans.push(TextSpan { start, end, kind, section }),
        }
    }

    fn extend(&mut self, end: usize) {
        if let Some(last) = self.layout.spans.last_mut() {
            last.end = end;
        }
    }

    fn cut(&mut self, at: usize) {
        if let Some(last) = self.layout.spans.last_mut().filter(|last| last.start < at && at < last.end) {
            let rest = TextSpan { start: at, ..*last };
            last.end = at;
            self.layout.spans.push(rest);
        }
        if !self.code {
            // The lines of the title become part of its heading.
            while self.layout.spans.last().is_some_and(|last| last.start >= at) {
                self.layout.spans.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests;
