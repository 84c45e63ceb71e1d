//! What a text is made of: headings with what stands under them, fenced code and tables, and the rest.
//!
//! Headings are those of Markdown (`#`, or underlined), reStructuredText (underlined, perhaps overlined) and AsciiDoc
//! (`=`); in source code they are the lines that define something, and the comments above such a line belong to it.
//! One pass over the lines, each looked at by itself and with the one or two before it.

mod code;
mod line;

pub(crate) use self::code::{definition, is_code};
use self::line::{BlockFence, LineKind};

/// A stretch of a text, and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextSpan {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) kind: SpanKind,
    /// The heading that it stands under, as an index of [`TextLayout::headings`]; of a heading, its own.
    pub(crate) section: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanKind {
    /// May be cut anywhere.
    Prose,
    Heading,
    /// Fenced code.
    Code,
    Table,
}

/// A heading in its place among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Heading {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// 1 is the highest.
    pub(crate) level: usize,
    /// The heading that it stands under.
    pub(crate) parent: Option<usize>,
}

/// A whole text, byte for byte.
#[derive(Debug, Default)]
pub(crate) struct TextLayout {
    pub(crate) spans: Vec<TextSpan>,
    pub(crate) headings: Vec<Heading>,
}

impl TextLayout {
    pub(crate) fn from_text(text: &str) -> Self {
        let mut reader = LayoutReader { text, code: code::is_code(text), ..LayoutReader::default() };
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            reader.line(start, line);
            start += line.len();
        }
        reader.layout
    }

    /// The headings that lead to a section, its own first.
    pub(crate) fn path(&self, section: Option<usize>) -> impl Iterator<Item = usize> {
        std::iter::successors(section, |heading| self.headings[*heading].parent)
    }
}

/// Headings inside one another that count; deeper ones stand beside the deepest.
const MAX_HEADING_DEPTH: usize = 8;

#[derive(Default)]
struct LayoutReader<'a> {
    text: &'a str,
    code: bool,
    layout: TextLayout,
    /// Headings that are open, each under the one before.
    open: Vec<usize>,
    /// What ends the fence or table that is open.
    fence: Option<BlockFence>,
    /// The two lines before, where they may be an overline and a title.
    before: [Option<(usize, usize)>; 2],
    /// Characters that underline headings, in the order in which they occur: that is their level.
    lines: Vec<(char, bool)>,
    /// Where the comments above a line of code begin.
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
                let known = self.lines.iter().position(|seen| *seen == kind).unwrap_or_else(|| {
                    self.lines.push(kind);
                    self.lines.len() - 1
                });
                self.cut(from);
                self.heading(from, end, known + 1);
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
            LineKind::Blank => self.extend_or(start, end),
        }
        self.before = [None, None];
    }

    fn line_of_code(&mut self, start: usize, end: usize, line: &str) {
        match code::line(line) {
            code::CodeLine::Definition(indent) => {
                let from = self.comments.take().unwrap_or(start);
                self.cut(from);
                self.definition(from, start, end, indent);
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

    /// Whether the line before is a title: alone, or under an overline, and not much longer than what underlines it.
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

    /// Whether the line before says that a block of code follows.
    fn is_announced(&self, before: Option<(usize, usize)>) -> bool {
        before.is_some_and(|(start, _)| self.text[start..].starts_with('['))
    }

    fn heading(&mut self, start: usize, end: usize, level: usize) {
        self.under(level);
        let parent = self.open.last().copied();
        self.layout.headings.push(Heading { start, end, level, parent });
        self.open.push(self.layout.headings.len() - 1);
        self.push(start, end, SpanKind::Heading);
    }

    /// A heading whose section begins above it.
    fn definition(&mut self, from: usize, start: usize, end: usize, indent: usize) {
        self.heading(start, end, indent + 1);
        // What was cut off above belongs to it.
        let own = self.open.last().copied();
        for span in self.layout.spans.iter_mut().rev().take_while(|span| span.start >= from) {
            span.section = own;
        }
    }

    fn under(&mut self, level: usize) {
        while self.open.len() >= MAX_HEADING_DEPTH
            || self.open.last().is_some_and(|open| self.layout.headings[*open].level >= level)
        {
            self.open.pop();
        }
    }

    /// Adds a stretch, to the one before where both are prose or one table.
    fn push(&mut self, start: usize, end: usize, kind: SpanKind) {
        let section = self.open.last().copied();
        let joins = matches!(kind, SpanKind::Prose | SpanKind::Table);
        match self.layout.spans.last_mut() {
            Some(last) if joins && last.kind == kind && last.section == section => last.end = end,
            _ => self.layout.spans.push(TextSpan { start, end, kind, section }),
        }
    }

    /// Adds a blank line to what stands before it: it belongs to no block of its own.
    fn extend_or(&mut self, start: usize, end: usize) {
        match self.layout.spans.last() {
            Some(last) if last.kind == SpanKind::Prose => self.extend(end),
            _ => self.push(start, end, SpanKind::Prose),
        }
    }

    fn extend(&mut self, end: usize) {
        if let Some(last) = self.layout.spans.last_mut() {
            last.end = end;
        }
    }

    /// Parts the last stretch, so that one begins here.
    fn cut(&mut self, at: usize) {
        if let Some(last) = self.layout.spans.last_mut().filter(|last| last.start < at && at < last.end) {
            let rest = TextSpan { start: at, ..*last };
            last.end = at;
            self.layout.spans.push(rest);
        }
        if !self.code {
            // The lines of a title become part of its heading.
            while self.layout.spans.last().is_some_and(|last| last.start >= at) {
                self.layout.spans.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests;
