//! Fills the rest of a budget with part of another chunk.
//!
//! The cost of a part is first estimated. If that leaves too much unused, the parts are counted as printed.

use super::{
    super::part::{ChunkPart, CutPoint, head, tail},
    ChunkSelection, GAP_MARK_TOKENS,
};
use crate::{layout::SpanKind, tokens::count};

const MAX_FILLED_CHUNKS: usize = 4;

const MAX_TRIED_CHUNKS: usize = 2_000;

impl ChunkSelection<'_> {
    /// Extends a partial chunk or adds part of another. Returns whether it added anything. Cuts blocks only if no prose
    /// is left.
    pub(super) fn fill(&mut self, left: usize, cut: CutPoint) -> bool {
        self.candidates(left, cut).into_iter().any(|(index, cut)| self.fill_one(index, left, cut))
    }

    /// Extends the printed text unless it uses up the budget, counting each attempt as printed.
    pub(super) fn fill_counted(&mut self, mut best: (String, usize)) -> (String, usize) {
        while !self.uses_budget(best.1) {
            let had = best.1;
            // Extending a chunk may only move a mark, which costs nothing.
            for (index, cut) in self.candidates(self.budget - had + GAP_MARK_TOKENS, CutPoint::Words) {
                self.fill_one_counted(index, cut, &mut best);
                if best.1 > had {
                    break;
                }
            }
            if best.1 == had {
                break;
            }
        }
        best
    }

    /// Returns chunks that can be extended and their cut points. Partial chunks come first.
    fn candidates(&self, left: usize, cut: CutPoint) -> Vec<(usize, CutPoint)> {
        let in_part = |i: &usize| matches!(self.parts[*i], ChunkPart::Head(_) | ChunkPart::Tail(_));
        let may = |i: &usize| cut == CutPoint::Words || self.chunks[*i].kind == SpanKind::Prose;
        let partial_chunks = (0..self.parts.len()).filter(in_part).filter(may).take(MAX_FILLED_CHUNKS);
        let mut candidates: Vec<(usize, CutPoint)> =
            partial_chunks.map(|index| (index, CutPoint::Words)).collect();
        for (prose, cut) in [(true, CutPoint::Words), (false, cut)] {
            let free_chunks = || self.free(prose).take(MAX_TRIED_CHUNKS).filter(|i| self.cost(*i) + 1 < left);
            // A chunk next to a selected one needs no mark.
            let beside = free_chunks().find(|i| self.touches(*i) != (false, false));
            let first = free_chunks().next();
            candidates.extend(beside.into_iter().chain(first).map(|index| (index, cut)));
        }
        candidates
    }

    fn free(&self, prose: bool) -> impl Iterator<Item = usize> {
        let of = move |i: &usize| (self.chunks[*i].kind == SpanKind::Prose) == prose;
        self.order.iter().copied().filter(|i| self.parts[*i] == ChunkPart::None).filter(of)
    }

    fn fill_one(&mut self, index: usize, left: usize, cut: CutPoint) -> bool {
        let (had, from_end) = self.kept_tokens(index);
        let marks = if had == 0 { 1 + self.cost(index) } else { 1 };
        let Some(room) = (had + left).checked_sub(marks).filter(|room| *room > had) else { return false };
        let part = self.part_of(index, room, from_end, cut);
        let changed = part != self.parts[index] && part != ChunkPart::None;
        if changed {
            self.set(index, part);
        }
        changed
    }

    /// Adds as much of a chunk as fits when printed, if that uses more of the budget.
    fn fill_one_counted(&mut self, index: usize, cut: CutPoint, best: &mut (String, usize)) {
        let (had, from_end) = self.kept_tokens(index);
        let mut best_part = self.parts[index];
        // Closing a gap frees the tokens of its mark.
        let (mut low, mut high) = (had, had + self.budget - best.1 + GAP_MARK_TOKENS);
        while low < high {
            let middle = (low + high).div_ceil(2);
            self.set(index, self.part_of(index, middle, from_end, cut));
            let (out, tokens) = self.print();
            if tokens > self.budget {
                high = middle - 1;
                continue;
            }
            low = middle;
            if tokens > best.1 {
                *best = (out, tokens);
                best_part = self.parts[index];
            }
        }
        self.set(index, best_part);
    }

    /// Returns the selected tokens of a chunk, and whether it is extended at its start.
    fn kept_tokens(&self, index: usize) -> (usize, bool) {
        let whole = self.piece(index);
        match self.parts[index] {
            ChunkPart::Head(bytes) => (count(&whole[..bytes]), false),
            ChunkPart::Tail(from) => (count(&whole[from..]), true),
            _ => (0, self.touches(index) == (false, true)),
        }
    }

    /// Returns the part of a chunk with at most this many tokens, from its end or its start.
    fn part_of(&self, index: usize, tokens: usize, from_end: bool, cut: CutPoint) -> ChunkPart {
        let whole = self.piece(index);
        match if from_end { tail(whole, tokens, cut) } else { head(whole, tokens, cut) } {
            ChunkPart::Head(0) => ChunkPart::None,
            ChunkPart::Head(bytes) if bytes == whole.len() => ChunkPart::Whole,
            ChunkPart::Tail(0) => ChunkPart::Whole,
            ChunkPart::Tail(from) if from == whole.len() => ChunkPart::None,
            part => part,
        }
    }
}
