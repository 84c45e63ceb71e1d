//! Statistics on the values of a place: kinds, frequent values, ranges.

use std::{cmp::Ordering, collections::HashMap};

use super::{
    document::{NodeIndex, NodeKind, ParsedDocument},
    measure,
};

#[derive(Debug)]
pub(super) struct PlaceStats {
    kinds: [usize; 6],
    /// Distinct scalars by frequency, then in document order.
    pub(super) scalars: Vec<ScalarCount>,
    pub(super) total: usize,
    pub(super) spread: Option<ValueSpread>,
    /// `None` if a number has too many digits or an exponent, or if not all were read.
    pub(super) sum: Option<String>,
}

/// Count of a scalar, and its first node.
pub(super) type ScalarCount = (usize, NodeIndex);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MeasureScale {
    Number,
    /// Numbers written as strings.
    NumberInText,
    /// ISO 8601 dates and times, in seconds.
    Date,
    Elements,
    /// Length of strings in bytes.
    Length,
}

/// Distribution of measured values. Each refers to its node, so that large numbers retain their digits.
#[derive(Debug)]
pub(super) struct ValueSpread {
    pub(super) scale: MeasureScale,
    pub(super) values: Vec<(f64, NodeIndex)>,
    /// Median absolute deviation.
    pub(super) mad: f64,
}

impl ValueSpread {
    pub(super) fn min(&self) -> (f64, NodeIndex) {
        self.values[0]
    }

    pub(super) fn max(&self) -> (f64, NodeIndex) {
        self.values[self.values.len() - 1]
    }

    pub(super) fn median(&self) -> (f64, NodeIndex) {
        self.values[(self.values.len() - 1) / 2]
    }
}

impl PlaceStats {
    pub(super) fn from_values(document: &ParsedDocument<'_>, values: &[NodeIndex]) -> Self {
        let mut kinds = [0; 6];
        let mut scalars: Vec<ScalarCount> = Vec::new();
        let mut positions: HashMap<&str, usize> = HashMap::new();
        for id in values {
            let kind = document.kind(*id);
            kinds[kind as usize] += 1;
            if matches!(kind, NodeKind::Array | NodeKind::Object) {
                continue;
            }
            let at = *positions.entry(document.source(*id)).or_insert(scalars.len());
            match scalars.get_mut(at) {
                Some(scalar) => scalar.0 += 1,
                None => scalars.push((1, *id)),
            }
        }
        // Stable, so equal counts stay in document order.
        scalars.sort_by_key(|(times, _)| std::cmp::Reverse(*times));
        let total = scalars.iter().map(|(times, _)| times).sum();
        let spread = spread(document, values, kinds);
        let exact = |spread: &&ValueSpread| spread.scale == MeasureScale::Number && !document.sampled;
        let numbers = spread.as_ref().filter(exact);
        let sum = numbers.and_then(|s| measure::sum(s.values.iter().map(|(_, id)| document.source(*id))));
        Self { kinds, scalars, total, spread, sum }
    }

    pub(super) fn kind(&self, kind: NodeKind) -> usize {
        self.kinds[kind as usize]
    }

    pub(super) fn kinds(&self) -> Vec<(NodeKind, usize)> {
        let mut kinds: Vec<_> =
            NodeKind::ALL.into_iter().map(|k| (k, self.kind(k))).filter(|(_, n)| *n > 0).collect();
        kinds.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        kinds
    }

    /// Returns the largest number, if the numbers differ.
    pub(super) fn largest_number(&self) -> Option<NodeIndex> {
        let spread = self.spread.as_ref().filter(|spread| spread.scale == MeasureScale::Number)?;
        (spread.min().0 < spread.max().0).then(|| spread.max().1)
    }

    /// Splits scalars into categories, with more than one in fifty values each, and rare values. `None` unless
    /// categories cover 90 %.
    pub(super) fn categories(&self) -> Option<(&[ScalarCount], &[ScalarCount])> {
        let total: usize = self.scalars.iter().map(|(n, _)| n).sum();
        let frequent = self.scalars.partition_point(|(n, _)| *n > 1 && *n * 50 > total);
        let (frequent, rare) = self.scalars.split_at(frequent);
        let covered: usize = frequent.iter().map(|(n, _)| n).sum();
        (!frequent.is_empty() && covered * 10 >= total * 9 - 9).then_some((frequent, rare))
    }
}

/// Measures the values of the most common kind, on the finest scale that suits 90 % of them.
fn spread(document: &ParsedDocument<'_>, values: &[NodeIndex], kinds: [usize; 6]) -> Option<ValueSpread> {
    let of =
        |kind: NodeKind, measure: &dyn Fn(&str, NodeIndex) -> Option<f64>| -> Option<Vec<(f64, NodeIndex)>> {
            let readings: Vec<_> = values
                .iter()
                .filter(|id| document.kind(**id) == kind)
                .filter_map(|id| Some((measure(document.raw(*id), *id)?, *id)))
                .collect();
            (!readings.is_empty() && readings.len() * 10 >= kinds[kind as usize] * 9).then_some(readings)
        };
    let main_kind = NodeKind::ALL
        .into_iter()
        .filter(|k| *k != NodeKind::Null)
        .max_by_key(|kind| kinds[*kind as usize])?;
    let (scale, mut values) = match main_kind {
        NodeKind::Number => (MeasureScale::Number, of(main_kind, &|text, _| measure::number(text))?),
        NodeKind::Array => (MeasureScale::Elements, of(main_kind, &|_, id| Some(document.len(id) as f64))?),
        NodeKind::String => of(main_kind, &|text, _| measure::number(text))
            .map(|v| (MeasureScale::NumberInText, v))
            .or_else(|| Some((MeasureScale::Date, of(main_kind, &|text, _| measure::date(text))?)))
            .or_else(|| Some((MeasureScale::Length, of(main_kind, &|text, _| Some(text.len() as f64))?)))?,
        NodeKind::Null | NodeKind::Bool | NodeKind::Object => return None,
    };
    let exact = |a: NodeIndex, b: NodeIndex| match scale {
        MeasureScale::Number => measure::compare(document.source(a), document.source(b)),
        _ => Ordering::Equal,
    };
    values.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| exact(a.1, b.1)));
    let mut spread = ValueSpread { scale, values, mad: 0.0 };
    let median = spread.median().0;
    let mut distances: Vec<f64> = spread.values.iter().map(|(v, _)| (v - median).abs()).collect();
    let middle = (distances.len() - 1) / 2;
    spread.mad = *distances.select_nth_unstable_by(middle, f64::total_cmp).1;
    Some(spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_stats<T>(text: &str, look: impl Fn(&ParsedDocument<'_>, PlaceStats) -> T) -> T {
        let document = ParsedDocument::read(text).unwrap();
        let values: Vec<NodeIndex> = document.children(ParsedDocument::ROOT).collect();
        look(&document, PlaceStats::from_values(&document, &values))
    }

    #[test]
    fn large_numbers_are_compared_by_their_digits() {
        // All four are the same f64.
        let text = "[9007199254740993000001, 9007199254740993000003, 9007199254740993000000, 9007199254740993000002]";
        let (min, max) = with_stats(text, |d, s| {
            let spread = s.spread.unwrap();
            (d.source(spread.min().1).to_owned(), d.source(spread.max().1).to_owned())
        });
        assert_eq!((min.as_str(), max.as_str()), ("9007199254740993000000", "9007199254740993000003"));
    }

    #[test]
    fn numbers_and_dates_in_strings_are_measured() {
        let scale = |text: &str| with_stats(text, |_, s| s.spread.map(|s| (s.scale, s.median().0, s.mad)));
        assert_eq!(scale(r#"["1.5", "2", "30"]"#), Some((MeasureScale::NumberInText, 2.0, 0.5)));
        assert_eq!(scale(r#"["1970-01-01", "1970-01-02T00:00:01Z"]"#), Some((MeasureScale::Date, 0.0, 0.0)));
        assert_eq!(scale(r#"["a", "bcd", "nan"]"#), Some((MeasureScale::Length, 3.0, 0.0)));
        assert_eq!(scale("[[], [1, 2], [1]]"), Some((MeasureScale::Elements, 1.0, 1.0)));
        assert_eq!(scale("[null, true]"), None);
    }

    #[test]
    fn categories_are_what_most_values_are() {
        let text = format!("[{}, \"odd\"]", ["\"ok\"", "\"late\""].repeat(30).join(","));
        let (frequent, rare) =
            with_stats(&text, |_, s| s.categories().map(|(f, r)| (f.len(), r.len()))).unwrap();
        assert_eq!((frequent, rare), (2, 1));
        assert!(with_stats("[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]", |_, s| s.categories().is_none()));
    }
}
