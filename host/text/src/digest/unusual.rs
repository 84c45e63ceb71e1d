//! Finds what stands out among rows: values, kinds and keys that are rare, numbers far from the others,
//! and words that speak of errors.
//!
//! Limits are those that kept 83 % of injected anomalies on real payloads: a rare thing is in at most one
//! row of fifty, a far number is more than eight median deviations away.

use std::collections::HashMap;

use super::{
    document::{Id, Kind, Parsed},
    naming::Names,
    profile::Place,
    stats::{Scale, Spread, Stats},
    value::{number, show},
};

/// Fewer rows say nothing about what is usual.
pub(super) const MIN_ROWS: usize = 8;

/// Median deviations beyond which a number is far.
const FAR: f64 = 8.0;

/// More rows than this do not make a rare thing more telling.
const MANY: usize = 1000;

/// Bits by which a further sentence on the same table counts less.
const FURTHER: f64 = 1.5;

/// Values that one sentence names.
const NAMED: usize = 4;

/// Characters of a value that a sentence shows.
const SHOWN: usize = 60;

/// Something that stands out.
#[derive(Debug)]
pub(super) struct Odd {
    /// How much, in bits of surprise; more is first.
    pub(super) score: f64,
    /// The place of the rows it is about.
    table: usize,
    /// One sentence without its full stop.
    pub(super) text: String,
    /// The first value that it names.
    pub(super) at: Option<Id>,
}

/// What stands out in a document, the most telling first.
pub(super) fn unusual(all: &super::json::Look<'_, '_>) -> Vec<Odd> {
    let mut odd = Vec::new();
    for (place, stats) in all.places.iter().zip(all.stats) {
        let look = Look { document: all.document, names: &all.names, place, stats, rows: place.rows };
        odd.extend(look.errors().or_else(|| look.error_key()));
        odd.extend(look.doubled());
        if place.rows >= MIN_ROWS {
            odd.extend(look.key());
            odd.extend(look.kind());
            // A category may be far in length, and a number a category: the better account comes first.
            let sized = stats.spread.as_ref().is_some_and(|s| s.scale == Scale::Length);
            let (far, category) = (|| look.far(), || look.category());
            odd.extend(if sized { category().or_else(far) } else { far().or_else(category) });
        }
    }
    rank(odd)
}

/// The most telling first. Each further one of the same table counts less, so that one table of many odd
/// columns does not hide what the others have.
fn rank(mut odd: Vec<Odd>) -> Vec<Odd> {
    let mut before: HashMap<usize, f64> = HashMap::new();
    // Stable sorts, so that equal scores keep the order of the document.
    odd.sort_by(|a, b| b.score.total_cmp(&a.score));
    for one in &mut odd {
        let earlier = before.entry(one.table).or_default();
        one.score -= *earlier;
        *earlier += FURTHER;
    }
    odd.sort_by(|a, b| b.score.total_cmp(&a.score));
    odd
}

/// One place, looked at for what stands out.
pub(super) struct Look<'l, 'a> {
    pub(super) document: &'l Parsed<'a>,
    names: &'l Names<'l, 'a>,
    pub(super) place: &'l Place,
    pub(super) stats: &'l Stats,
    pub(super) rows: usize,
}

impl Look<'_, '_> {
    /// The most that is still rare.
    fn rare(&self) -> usize {
        (self.rows / 50).max(1)
    }

    /// How telling `times` in all rows are: half the bits of it, less when there are several different ones,
    /// and less for each level of rows within rows, where oddities are common.
    pub(super) fn bits(&self, times: usize, different: usize) -> f64 {
        let bits = (self.rows.min(MANY) as f64 / times.max(1) as f64).log2().max(0.0);
        let levels = self.place.name.matches("[]").count() + self.place.name.matches(".*").count();
        0.5 * bits - 0.5 * (different.max(1) as f64).log2() - levels.saturating_sub(1) as f64
    }

    fn shown(&self, id: Id) -> String {
        show(self.document, id, SHOWN)
    }

    /// Where a value stands, and what its row is called.
    fn place_of(&self, id: Id) -> String {
        let name = self.names.name(self.place.table, id).map_or(String::new(), |name| format!(" ({name})"));
        format!("{}{name}", self.document.path(id))
    }

    /// Values with their paths.
    pub(super) fn list(&self, ids: impl ExactSizeIterator<Item = Id>) -> String {
        let more = ids.len().saturating_sub(NAMED);
        let mut named: Vec<String> =
            ids.take(NAMED).map(|id| format!("{} at {}", self.shown(id), self.place_of(id))).collect();
        if more > 0 {
            named.push(format!("{more} more"));
        }
        named.join(", ")
    }

    pub(super) fn odd(&self, score: f64, text: String, at: Option<Id>) -> Option<Odd> {
        Some(Odd { score, text, table: self.place.table, at })
    }

    /// A key that hardly any row has, or hardly any lacks.
    fn key(&self) -> Option<Odd> {
        let (place, have) = (self.place, self.place.values.len());
        if place.is_row {
            return None;
        }
        if have <= self.rare() {
            let bits = self.bits(have, 1) + 4.0;
            let found = self.list(place.values.iter().copied());
            return self.odd(
                bits,
                format!("{} is in only {have} of {} rows: {found}", place.name, self.rows),
                place.values.first().copied(),
            );
        }
        let lack = self.rows.saturating_sub(have);
        if !(1..=self.rare()).contains(&lack) {
            return None;
        }
        self.odd(
            self.bits(lack, 1) + 2.0,
            format!("{} is missing in {lack} of {} rows", place.name, self.rows),
            None,
        )
    }

    /// A kind that hardly any value is of.
    fn kind(&self) -> Option<Odd> {
        let kinds = self.stats.kinds();
        let (common, _) = *kinds.first()?;
        let (rare, times) = *kinds.last()?;
        if rare == common || times > self.rare() {
            return None;
        }
        let found: Vec<Id> =
            self.place.values.iter().copied().filter(|id| self.document.kind(*id) == rare).collect();
        let score = self.bits(times, 1) + if rare == Kind::Null { 2.0 } else { 3.0 };
        let name = common.with_article();
        let at = found.first().copied();
        self.odd(
            score,
            format!("{} is elsewhere {name}: {}", self.place.name, self.list(found.into_iter())),
            at,
        )
    }

    /// A value that hardly any row has where the others share a few.
    fn category(&self) -> Option<Odd> {
        let (frequent, rare) = self.stats.categories()?;
        let &(times, _) = rare.first()?;
        if times > self.rare() {
            return None;
        }
        let usual: Vec<String> =
            frequent.iter().take(3).map(|(n, id)| format!("{} ×{n}", self.shown(*id))).collect();
        let more = if frequent.len() > 3 { ", …" } else { "" };
        self.odd(
            self.bits(times, rare.len()) + 3.0,
            format!(
                "{} is rarely {}; usual are {}{more}",
                self.place.name,
                self.list(rare.iter().map(|(_, id)| *id)),
                usual.join(", ")
            ),
            rare.first().map(|(_, id)| *id),
        )
    }

    /// Numbers, dates or lengths of lists that are far from the others.
    fn far(&self) -> Option<Odd> {
        let spread = self.stats.spread.as_ref().filter(|s| s.values.len() >= MIN_ROWS)?;
        let median = spread.median();
        // Where most values are equal, the mean distance stands for the median one.
        let mean = || spread.values.iter().map(|(v, _)| (v - median.0).abs()).sum::<f64>();
        let unit = if spread.mad > 0.0 { spread.mad } else { mean() / spread.values.len() as f64 };
        // What is short is seldom worth a word.
        let sized = matches!(spread.scale, Scale::Length | Scale::Elements);
        // Lengths of strings are spread widely for no reason, so only huge ones tell anything.
        let limit = if spread.scale == Scale::Length { 25.0 * FAR } else { FAR };
        let mut far: Vec<(f64, Id)> = spread
            .values
            .iter()
            .filter(|(v, _)| !sized || *v > 2.0 * median.0)
            .map(|(v, id)| ((v - median.0).abs() / unit, *id))
            .filter(|(distance, _)| *distance > limit)
            .collect();
        far.sort_by(|a, b| b.0.total_cmp(&a.0));
        let &(distance, _) = far.first()?;
        if far.len() > self.rare() {
            // A long tail is no surprise; its end is, when it stands alone.
            let second = far.get(1).map_or(0.0, |(d, _)| *d);
            if distance < 4.0 * second {
                return None;
            }
            far.truncate(1);
        }
        let score = self.bits(far.len(), far.len()) + (distance / FAR).log2().min(6.0);
        let score = if spread.scale == Scale::Length { score - 4.0 } else { score };
        self.odd(score, self.tell_far(spread, &far), Some(far[0].1))
    }

    fn tell_far(&self, spread: &Spread, far: &[(f64, Id)]) -> String {
        let name = &self.place.name;
        let median = match spread.scale {
            Scale::Elements | Scale::Length => number(spread.median().0),
            _ => self.shown(spread.median().1),
        };
        let sized = |unit: &str, of: &dyn Fn(Id) -> usize| {
            let found =
                far.iter().take(NAMED).map(|(_, id)| format!("{} at {}", of(*id), self.place_of(*id)));
            format!(
                "{name} is unusually long, in {unit}: {}; the median is {median}",
                found.collect::<Vec<_>>().join(", ")
            )
        };
        match spread.scale {
            Scale::Elements => sized("elements", &|id| self.document.len(id)),
            Scale::Length => sized("bytes", &|id| self.document.size(id)),
            _ => format!(
                "{name} is far off: {}; the median of {} is {median}",
                self.list(far.iter().map(|(_, id)| *id)),
                spread.values.len()
            ),
        }
    }

    fn doubled(&self) -> Option<Odd> {
        let times = self.place.doubled;
        if times == 0 {
            return None;
        }
        self.odd(6.0, format!("{} has a key more than once, {times} times in all", self.place.name), None)
    }
}
