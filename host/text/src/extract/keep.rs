//! Selects the chunks that fit a budget.
//!
//! Chunks are taken by rank while they fit, each with its headings. Part of another chunk, preferably prose, fills the
//! rest.

mod fill;

use super::{
    mark,
    part::{ChunkPart, CutPoint},
};
use crate::{
    chunks::Chunk,
    layout::{SpanKind, TextLayout},
    tokens::count,
};

const GAP_MARK_TOKENS: usize = 18;

/// Maximum tokens of a gap that is closed, because its mark costs as much.
const MAX_CLOSED_TOKENS: usize = 12;

const MAX_UNUSED_PERCENT: usize = 2;

/// Maximum rounds of counting and filling. Each nearly uses up the rest of the budget.
const MAX_ROUNDS: usize = 14;

pub(super) struct ChunkSelection<'a> {
    text: &'a str,
    layout: &'a TextLayout,
    chunks: &'a [Chunk],
    budget: usize,
    parts: Vec<ChunkPart>,
    /// For each heading: its chunk, and the number of selected chunks in its section.
    headings: Vec<(usize, usize)>,
    /// Chunks by rank, best first, without headings that have content.
    order: Vec<usize>,
}

impl<'a> ChunkSelection<'a> {
    /// Returns the shortened text and its tokens, at least 95 % of the budget. A rank of `None` marks a heading that is
    /// included only with a chunk of its section.
    pub(super) fn fitting(
        text: &'a str,
        layout: &'a TextLayout,
        chunks: &'a [Chunk],
        ranks: &[Option<f64>],
        budget: usize,
    ) -> (String, usize) {
        let mut order: Vec<usize> = (0..chunks.len()).filter(|i| ranks[*i].is_some()).collect();
        // Stable, so equal ranks stay in document order.
        order.sort_by(|a, b| ranks[*b].unwrap_or(0.0).total_cmp(&ranks[*a].unwrap_or(0.0)));
        let mut headings = vec![(0, 0); layout.headings.len()];
        for (index, chunk) in chunks.iter().enumerate().filter(|(_, chunk)| chunk.kind == SpanKind::Heading) {
            if let Some(heading) = chunk.section.and_then(|section| headings.get_mut(section)) {
                *heading = (index, 0);
            }
        }
        let parts = vec![ChunkPart::None; chunks.len()];
        Self { text, layout, chunks, budget, parts, headings, order }.fit()
    }

    fn fit(mut self) -> (String, usize) {
        self.take(self.budget.saturating_sub(GAP_MARK_TOKENS));
        let mut best = (String::new(), 0);
        let mut selection = (self.parts.clone(), self.headings.clone());
        // Amount by which the sum of the parts underestimated the whole.
        let mut margin = 0;
        for _ in 0..MAX_ROUNDS {
            self.close();
            let (out, tokens) = self.print();
            if tokens > self.budget {
                margin += tokens - self.budget;
                self.drop_tokens(tokens - self.budget);
                continue;
            }
            if tokens > best.1 {
                best = (out, tokens);
                selection = (self.parts.clone(), self.headings.clone());
            }
            let remaining = (self.budget - tokens).saturating_sub(margin);
            // Blank text costs less in one piece than in many, so more fits than the sum of the parts suggests.
            let more = remaining * self.estimate().max(tokens) / tokens.max(1);
            let enough = self.uses_budget(tokens + margin);
            if enough
                || !(self.take(more)
                    || self.fill(remaining, CutPoint::Lines)
                    || self.fill(remaining, CutPoint::Words))
            {
                break;
            }
        }
        while best.0.is_empty()
            && let Some(weakest) =
                self.order.iter().rev().copied().find(|at| self.parts[*at] != ChunkPart::None)
        {
            self.set(weakest, ChunkPart::None);
            let (out, tokens) = self.print();
            if tokens <= self.budget {
                best = (out, tokens);
                selection = (self.parts.clone(), self.headings.clone());
            }
        }
        (self.parts, self.headings) = selection;
        if best.0.is_empty() { best } else { self.fill_counted(best) }
    }

    fn uses_budget(&self, tokens: usize) -> bool {
        self.budget.saturating_sub(tokens) * 100 <= self.budget * MAX_UNUSED_PERCENT
    }

    fn estimate(&self) -> usize {
        let whole = self.chunks.iter().zip(&self.parts).filter(|(_, part)| **part == ChunkPart::Whole);
        whole.map(|(chunk, _)| chunk.tokens).sum()
    }

    /// Returns the selected part of a chunk. A heading is selected whole if its section has a selected chunk.
    fn part(&self, index: usize) -> ChunkPart {
        let chunk = &self.chunks[index];
        let leads = || chunk.section.is_some_and(|section| self.headings[section].1 > 0);
        if chunk.kind == SpanKind::Heading && leads() { ChunkPart::Whole } else { self.parts[index] }
    }

    fn set(&mut self, index: usize, part: ChunkPart) {
        let (was, is) = (self.parts[index] != ChunkPart::None, part != ChunkPart::None);
        self.parts[index] = part;
        if was != is {
            for heading in self.layout.path(self.chunks[index].section) {
                let under = &mut self.headings[heading].1;
                *under = if is { *under + 1 } else { under.saturating_sub(1) };
            }
        }
    }

    /// Returns whether the end of the previous chunk and the start of the next one are selected.
    fn touches(&self, index: usize) -> (bool, bool) {
        let before = index.checked_sub(1).map(|i| self.part(i));
        let after = (index + 1 < self.chunks.len()).then(|| self.part(index + 1));
        (
            before.is_none_or(|part| matches!(part, ChunkPart::Whole | ChunkPart::Tail(_))),
            after.is_none_or(|part| matches!(part, ChunkPart::Whole | ChunkPart::Head(_))),
        )
    }

    /// Returns the cost of the marks around a chunk and of its missing headings.
    fn cost(&self, index: usize) -> usize {
        let missing =
            self.layout.path(self.chunks[index].section).filter(|heading| self.headings[*heading].1 == 0);
        let leading = missing.map(|heading| self.headings[heading].0);
        let mut leading: Vec<usize> =
            leading.filter(|at| *at != index && self.parts[*at] == ChunkPart::None).collect();
        leading.sort_unstable();
        let mut cost: usize = leading.iter().map(|at| self.chunks[*at].tokens).sum();
        // Headings directly above it need no mark of their own.
        let mut first = index;
        while leading.pop_if(|at| *at + 1 == first).is_some() {
            first -= 1;
        }
        // A chunk that touches no selected chunk splits a gap in two, which costs a mark.
        cost += if self.touches(first).0 || self.touches(index).1 { 0 } else { GAP_MARK_TOKENS };
        cost + leading.into_iter().filter(|at| self.touches(*at) == (false, false)).count() * GAP_MARK_TOKENS
    }

    /// Takes whole chunks, at most `tokens` in total. Returns whether it took any.
    fn take(&mut self, tokens: usize) -> bool {
        let mut remaining = tokens;
        for at in 0..self.order.len() {
            let index = self.order[at];
            if self.parts[index] != ChunkPart::None || self.chunks[index].tokens > remaining {
                continue;
            }
            let cost = self.chunks[index].tokens + self.cost(index);
            if cost <= remaining {
                self.set(index, ChunkPart::Whole);
                remaining -= cost;
            }
        }
        remaining < tokens
    }

    /// Selects the chunks of each gap that costs no more than its mark.
    fn close(&mut self) {
        let mut at = 0;
        while at < self.chunks.len() {
            let (mut tokens, mut end) = (0, at);
            while end < self.chunks.len() && self.part(end) == ChunkPart::None && tokens <= MAX_CLOSED_TOKENS
            {
                tokens += self.chunks[end].tokens;
                end += 1;
            }
            let bounded =
                end == self.chunks.len() || matches!(self.part(end), ChunkPart::Whole | ChunkPart::Head(_));
            let after_whole = at == 0 || matches!(self.part(at - 1), ChunkPart::Whole | ChunkPart::Tail(_));
            if end > at && tokens <= MAX_CLOSED_TOKENS && bounded && after_whole {
                (at..end).for_each(|index| self.set(index, ChunkPart::Whole));
            }
            at = end.max(at + 1);
            while at < self.chunks.len() && self.part(at) == ChunkPart::None {
                at += 1;
            }
        }
    }

    /// Drops about `tokens`: first a partial chunk, else the lowest-ranked chunks.
    fn drop_tokens(&mut self, tokens: usize) {
        if let Some(index) =
            self.parts.iter().position(|p| matches!(p, ChunkPart::Head(_) | ChunkPart::Tail(_)))
        {
            return self.set(index, ChunkPart::None);
        }
        let mut over = tokens;
        for at in (0..self.order.len()).rev() {
            let index = self.order[at];
            if over > 0 && self.parts[index] == ChunkPart::Whole {
                self.set(index, ChunkPart::None);
                over = over.saturating_sub(self.chunks[index].tokens);
            }
        }
    }

    fn piece(&self, index: usize) -> &'a str {
        &self.text[self.chunks[index].start..self.chunks[index].end]
    }

    /// Returns the selection in document order, with a mark for each gap, and its tokens.
    fn print(&self) -> (String, usize) {
        let mut out = String::new();
        // Start of the selected text, and of the open gap.
        let (mut kept, mut open) = (0, None);
        let write = |(first, start): (usize, usize), end: usize, out: &mut String| {
            mark::describe(self.text, self.layout, &self.chunks[first..], start..end).print(self.budget, out);
        };
        for (index, chunk) in self.chunks.iter().enumerate() {
            let (from, to) = match self.part(index) {
                ChunkPart::None => (chunk.end, chunk.end),
                ChunkPart::Whole => (chunk.start, chunk.end),
                ChunkPart::Head(bytes) => (chunk.start, chunk.start + bytes),
                ChunkPart::Tail(from) => (chunk.start + from, chunk.end),
            };
            if chunk.start < from && open.is_none() {
                mark::add(&self.text[kept..chunk.start], &mut out);
                open = Some((index, chunk.start));
            }
            if from < to
                && let Some(begun) = open.take()
            {
                write(begun, from, &mut out);
                kept = from;
            }
            if to < chunk.end && open.is_none() {
                mark::add(&self.text[kept..to], &mut out);
                open = Some((index, to));
            }
        }
        match open {
            Some(begun) => write(begun, self.text.len(), &mut out),
            None => mark::add(&self.text[kept..], &mut out),
        }
        let tokens = count(&out);
        (out, tokens)
    }
}
