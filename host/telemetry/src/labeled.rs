//! Metrics with labels. Values of labels come from servers, files and clients, so each label has a limited number.

use std::{
    collections::HashSet,
    fmt::Debug,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use prometheus_client::{
    encoding::EncodeMetric,
    metrics::{TypedMetric, counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

/// Maximum values of a label. Each may have a series for each value of the other labels.
const MAX_VALUES: usize = 2_000;

/// Maximum series of a metric.
const MAX_SERIES: usize = 10_000;

/// Longest value of a label in bytes. Names of tools are shorter.
const MAX_VALUE: usize = 200;

/// Value that stands for all further values.
pub const OTHER: &str = "_other";

/// Upper bounds of the buckets of times in seconds: those of the conventions for MCP, and finer ones below 10 ms, where
/// most calls of gates end.
const SECONDS: [f64; 20] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0,
    30.0, 60.0, 120.0, 300.0,
];

/// A type of metric.
pub trait MetricKind: Clone + Debug + EncodeMetric + TypedMetric + Send + Sync + 'static {
    fn new() -> Self;
}

impl MetricKind for Counter {
    fn new() -> Self {
        Self::default()
    }
}

impl MetricKind for Counter<f64, AtomicU64> {
    fn new() -> Self {
        Self::default()
    }
}

impl MetricKind for Gauge {
    fn new() -> Self {
        Self::default()
    }
}

impl MetricKind for Gauge<f64, AtomicU64> {
    fn new() -> Self {
        Self::default()
    }
}

impl MetricKind for Histogram {
    fn new() -> Self {
        Self::new(SECONDS)
    }
}

type Series<M, const N: usize> = Family<[(&'static str, Arc<str>); N], M>;

/// A metric with `N` labels, one series for each combination of their values.
pub struct LabeledMetric<M, const N: usize> {
    labels: [(&'static str, LabelValues); N],
    by_labels: Series<M, N>,
    count: AtomicUsize,
}

impl<M: MetricKind, const N: usize> LabeledMetric<M, N> {
    pub(crate) fn register(
        registry: &mut Registry,
        name: &str,
        about: &str,
        labels: [&'static str; N],
    ) -> Self {
        let series = Series::new_with_constructor(M::new as fn() -> M);
        registry.register(name, about, series.clone());
        let labels = labels.map(|label| (label, LabelValues::default()));
        let metric = Self { labels, by_labels: series, count: AtomicUsize::default() };
        if N == 0 {
            // Rules about it need a value before the first event.
            metric.series([""; N]);
        }
        metric
    }

    /// Returns the series with these values of the labels, in the order of the declaration. An empty value is no label.
    pub fn series(&self, values: [&str; N]) -> M {
        let mut values = values.into_iter();
        let known = self
            .labels
            .each_ref()
            .map(|(label, known)| (*label, known.bounded(values.next().unwrap_or_default())));
        if let Some(series) = self.by_labels.get(&known) {
            return series.clone();
        }
        if self.count.fetch_add(1, Ordering::Relaxed) < MAX_SERIES {
            return self.by_labels.get_or_create_owned(&known);
        }
        self.by_labels.get_or_create_owned(&known.map(|(label, _)| (label, OTHER.into())))
    }

    /// Removes all series, before those that still exist are set again.
    pub fn clear(&self) {
        self.by_labels.clear();
        self.count.store(0, Ordering::Relaxed);
    }
}

/// Values that a label has had.
#[derive(Default)]
struct LabelValues(RwLock<HashSet<Arc<str>>>);

impl LabelValues {
    fn bounded(&self, value: &str) -> Arc<str> {
        if let Some(known) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(value) {
            return Arc::clone(known);
        }
        let mut values = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let value = if values.len() < MAX_VALUES && value.len() <= MAX_VALUE { value } else { OTHER };
        let value: Arc<str> = value.into();
        values.insert(Arc::clone(&value));
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_values_are_one() {
        let mut registry = Registry::default();
        let metric: LabeledMetric<Counter, 1> =
            LabeledMetric::register(&mut registry, "calls", "Calls", ["tool"]);
        for number in 0..MAX_VALUES + 5 {
            metric.series([&number.to_string()]).inc();
        }
        metric.series([&"x".repeat(MAX_VALUE + 1)]).inc();
        metric.series(["3"]).inc();
        assert_eq!((metric.series([OTHER]).get(), metric.series(["3"]).get()), (6, 2));
        assert_eq!(metric.count.into_inner(), MAX_VALUES + 1);
    }

    #[test]
    fn further_combinations_are_one() {
        let mut registry = Registry::default();
        let metric: LabeledMetric<Counter, 2> =
            LabeledMetric::register(&mut registry, "calls", "Calls", ["tool", "error"]);
        for number in 0..MAX_SERIES + 5 {
            metric.series([&(number / 10).to_string(), &(number % 10).to_string()]).inc();
        }
        assert_eq!((metric.series([OTHER, OTHER]).get(), metric.series(["1", "1"]).get()), (5, 1));
    }
}
