//! Order statistics, and CPU and memory figures from `/proc`.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

use super::{BenchSide, turns};

const LINUX: &str = "the benchmark needs Linux";

/// Returns the nearest-rank quantile `q` (0 to 1) of the samples; 0 if there are none.
pub(crate) fn quantile(samples: &[f64], q: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * q).round() as usize).copied().unwrap_or(0.0)
}

pub(crate) fn median(samples: &[f64]) -> f64 {
    quantile(samples, 0.5)
}

pub(crate) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

#[derive(Clone, Default)]
pub(crate) struct PairedSamples {
    pub(crate) ours: Vec<f64>,
    pub(crate) floor: Vec<f64>,
}

impl PairedSamples {
    /// Takes a sample of each side in turn.
    pub(crate) fn measure(rounds: usize, mut sample: impl FnMut(BenchSide) -> Result<f64>) -> Result<Self> {
        let mut pair = Self::default();
        turns(rounds).try_for_each(|turn| sample(turn).map(|sample| pair.side(turn).push(sample)))?;
        Ok(pair)
    }

    pub(crate) fn side(&mut self, turn: BenchSide) -> &mut Vec<f64> {
        match turn {
            BenchSide::Gateway => &mut self.ours,
            BenchSide::Floor => &mut self.floor,
        }
    }

    /// Returns the median of the rounds' ratios.
    ///
    /// Both turns of a round see the same load, while the medians of the two sides may come from a busy and a quiet
    /// minute.
    pub(crate) fn ratio(&self) -> f64 {
        let ratios: Vec<f64> = self.ours.iter().zip(&self.floor).map(|(ours, floor)| ours / floor).collect();
        median(&ratios)
    }
}

/// Returns the times of some calls in µs, and the CPU time of the server for each in µs.
pub(crate) fn call_times(
    process: u32,
    calls: usize,
    mut call: impl FnMut() -> Result<Duration>,
) -> Result<(Vec<f64>, f64)> {
    let before = cpu_seconds(process)?;
    let times = (0..calls).map(|_| call().map(micros)).collect::<Result<Vec<_>>>()?;
    Ok((times, (cpu_seconds(process)? - before) * 1e6 / calls as f64))
}

/// Returns the median time of some calls in µs.
pub(crate) fn median_of_calls(calls: usize, mut call: impl FnMut() -> Result<Duration>) -> Result<f64> {
    let times = (0..calls).map(|_| call().map(micros)).collect::<Result<Vec<_>>>()?;
    Ok(median(&times))
}

/// Returns the CPU seconds that the living threads of a process have used.
pub(crate) fn cpu_seconds(process: u32) -> Result<f64> {
    let folder = format!("/proc/{process}/task");
    let threads = fs::read_dir(&folder).with_context(|| format!("cannot read {folder}; {LINUX}"))?;
    let mut nanoseconds = 0.0;
    for thread in threads {
        let Ok(text) = fs::read_to_string(thread?.path().join("schedstat")) else { continue };
        nanoseconds += text.split(' ').next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0);
    }
    Ok(nanoseconds / 1e9)
}

/// Returns the resident memory of a process in MB, and the part that no file backs.
pub(crate) fn memory(process: u32) -> Result<(f64, f64)> {
    let path = format!("/proc/{process}/status");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}; {LINUX}"))?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let kilobytes =
            line.and_then(|line| line.split_whitespace().next()).and_then(|n| n.parse::<f64>().ok());
        kilobytes.map(|n| n * 1024.0 / 1e6).with_context(|| format!("/proc/…/status has no {name}"))
    };
    Ok((field("VmRSS:")?, field("RssAnon:")?))
}

#[cfg(test)]
mod tests {
    use super::{PairedSamples, cpu_seconds, median, memory, quantile};

    #[test]
    fn a_busy_minute_on_both_sides_does_not_move_the_ratio() {
        let pair = PairedSamples { ours: vec![2.0, 2.0, 20.0, 20.0], floor: vec![1.0, 1.0, 10.0, 10.0] };
        assert_eq!(pair.ratio(), 2.0);
    }

    #[test]
    fn quantiles_do_not_depend_on_order() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0, 5.0], 1.0), 5.0);
        assert_eq!(median(&[]), 0.0);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn own_process_can_be_read() {
        let own = std::process::id();
        assert!(cpu_seconds(own).unwrap() > 0.0);
        let (all, anonymous) = memory(own).unwrap();
        assert!(all >= anonymous && all > 0.0);
    }
}
