//! Recall with confidence intervals, and processor time per question.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

const DEPTHS: [usize; 3] = [1, 5, 10];

const SAMPLES: usize = 2_000;

#[derive(Default)]
pub(crate) struct Recall {
    found: [Vec<f64>; DEPTHS.len()],
    /// nDCG@10 with binary relevance, as in published results on the tool sets.
    gain: Vec<f64>,
    /// Processor time of all measured searches, of all threads.
    cpu: Duration,
    measured: u32,
}

/// Returns the processor time that this process has used, of all its threads.
pub(crate) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

impl Recall {
    /// Adds a query: the hits, best first, and the right answers.
    ///
    /// Recall at k is the number of right answers among the first k hits, divided by the lesser of k and the number of
    /// right answers.
    pub(crate) fn add(&mut self, found: &[String], right: &[String]) {
        for (depth, shares) in DEPTHS.into_iter().zip(&mut self.found) {
            let hits = found.iter().take(depth).filter(|id| right.contains(id)).count();
            shares.push(hits as f64 / depth.min(right.len()).max(1) as f64);
        }
        let gains = found.iter().take(10).enumerate().filter(|(_, id)| right.contains(id));
        let gain: f64 = gains.map(|(place, _)| discount(place)).sum();
        let best: f64 = (0..right.len().min(10)).map(discount).sum();
        self.gain.push(if best > 0.0 { gain / best } else { 0.0 });
    }

    /// Adds the processor time of a search that began at `begin`, a [`cpu_time`].
    pub(crate) fn add_cpu_since(&mut self, begin: Duration) {
        self.cpu += cpu_time().saturating_sub(begin);
        self.measured += 1;
    }

    pub(crate) fn row(&self, set: &str, documents: usize, way: &str) -> Value {
        let mut row = json!({"set": set, "documents": documents, "queries": self.found[0].len(), "way": way});
        for (depth, shares) in DEPTHS.into_iter().zip(&self.found) {
            let (low, high) = interval(shares);
            row[format!("recall@{depth}")] = json!(rounded(mean(shares)));
            row[format!("interval@{depth}")] = json!([rounded(low), rounded(high)]);
        }
        row["ndcg@10"] = json!(rounded(mean(&self.gain)));
        if let Some(cpu) = self.cpu.checked_div(self.measured) {
            row["cpu_us"] = json!(cpu.as_micros() as u64);
        }
        row
    }
}

/// Returns the gain of an answer at a 0-based rank (Järvelin and Kekäläinen 2002).
fn discount(place: usize) -> f64 {
    1.0 / (place as f64 + 2.0).log2()
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// Returns the 95 % percentile bootstrap interval of the mean (Efron 1979). The seed is fixed, so the same values give
/// the same interval.
fn interval(values: &[f64]) -> (f64, f64) {
    if values.is_empty() {
        return (0.0, 0.0);
    }
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut means: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            let drawn = (0..values.len()).map(|_| {
                // xorshift64*, Vigna 2016
                random ^= random >> 12;
                random ^= random << 25;
                random ^= random >> 27;
                let number = random.wrapping_mul(0x2545_F491_4F6C_DD1D);
                values[((u128::from(number) * values.len() as u128) >> 64) as usize]
            });
            drawn.sum::<f64>() / values.len() as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    (means[SAMPLES * 25 / 1000], means[SAMPLES * 975 / 1000 - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn recall_is_a_share_of_what_a_depth_can_hold() {
        let mut recall = Recall::default();
        recall.add(&ids("a x b y z c"), &ids("a b c"));
        let row = recall.row("s", 9, "w");
        assert_eq!((&row["recall@1"], &row["recall@5"]), (&json!(1.0), &json!(0.6667)));
        assert_eq!(row["recall@10"], json!(1.0));
        // 1 + 1/log2(4) + 1/log2(7) of 1 + 1/log2(3) + 1/log2(4)
        assert_eq!(row["ndcg@10"], json!(0.8711));
    }

    #[test]
    fn processor_time_is_given_per_measured_search() {
        let mut recall = Recall::default();
        assert!(recall.row("s", 9, "w")["cpu_us"].is_null());
        let begin = cpu_time();
        let sum = std::hint::black_box((0..1_000_000_u64).fold(0, |sum: u64, n| sum.wrapping_mul(31) ^ n));
        assert!(sum > 0 && cpu_time() > begin);
        recall.add_cpu_since(begin);
        assert!(recall.row("s", 9, "w")["cpu_us"].as_u64().is_some_and(|cpu| cpu > 0));
    }

    #[test]
    fn intervals_hold_the_mean_and_are_the_same_every_time() {
        let values: Vec<f64> = (0..100).map(|n| f64::from(n % 3 == 0)).collect();
        let (low, high) = interval(&values);
        assert!(low < mean(&values) && mean(&values) < high && high - low < 0.2, "{low} {high}");
        assert_eq!(interval(&values), (low, high));
        assert_eq!(interval(&[1.0; 50]), (1.0, 1.0));
        assert_eq!(interval(&[]), (0.0, 0.0));
    }
}
