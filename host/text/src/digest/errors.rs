//! Finds errors in the values of a document.

use super::{
    anomalies::{Anomaly, MIN_ROWS, PlaceAnalysis},
    document::{NodeIndex, NodeKind},
    error_words::{error_at, says_error},
};

impl PlaceAnalysis<'_, '_> {
    pub(super) fn errors(&self) -> Option<Anomaly> {
        let says = |id: NodeIndex| says_error(self.place.key(), self.document.raw(id));
        let mut found: Vec<(usize, NodeIndex)> = Vec::new();
        for &(times, id) in &self.stats.scalars {
            if self.document.kind(id) == NodeKind::String && says(id).is_some() {
                found.push((times, id));
            }
        }
        // A text that starts with an error word is an error; a text with one further on only mentions it.
        found.sort_by_key(|(_, id)| says(*id));
        let times: usize = found.iter().map(|(n, _)| n).sum();
        if times == 0 || times * 10 > self.rows.max(10) {
            return None;
        }
        let list = self.list(found.iter().map(|(_, id)| *id));
        let text = match self.rows {
            1 => format!("{} reports an error: {list}", self.place.name),
            rows => format!("{} reports errors in {times} of {rows} rows: {list}", self.place.name),
        };
        // Prose mentions errors; a short text with an error word is one.
        let short = found.iter().any(|(_, id)| self.document.size(*id) <= 200);
        let alone = if self.rows < MIN_ROWS { 6.0 } else { 0.0 };
        self.anomaly(
            self.surprise_bits(times, times) + alone + if short { 5.0 } else { 0.0 },
            text,
            Some(found[0].1),
        )
    }

    pub(super) fn error_key(&self) -> Option<Anomaly> {
        let (place, document) = (self.place, self.document);
        if place.is_row || error_at(place.key()).is_none() {
            return None;
        }
        let empty =
            |id: NodeIndex| matches!(document.source(id), "null" | "false" | "0" | "\"\"" | "[]" | "{}");
        let found: Vec<NodeIndex> = place.values.iter().copied().filter(|id| !empty(*id)).collect();
        if found.is_empty() || found.len() * 10 > self.rows.max(10) {
            return None;
        }
        let text = format!("{} is present in {} of {}", place.name, found.len(), self.rows);
        let list = self.list(found.iter().copied());
        self.anomaly(
            self.surprise_bits(found.len(), 1) + 6.0,
            format!("{text}: {list}"),
            found.first().copied(),
        )
    }
}
