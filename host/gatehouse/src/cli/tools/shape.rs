//! Short formats for numbers in terminal tables.

const CELLS: usize = 10;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Formats a count with at most five characters: `950`, `12.3k`, `4.0M`.
pub(super) fn count(number: u64) -> String {
    const STEPS: [(u64, &str); 4] =
        [(1_000_000_000_000, "T"), (1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    match STEPS.iter().find(|(step, _)| number >= *step && number >= 10_000) {
        None => number.to_string(),
        Some((step, unit)) if number / step >= 100 => format!("{}{unit}", number / step),
        Some((step, unit)) => format!("{}.{}{unit}", number / step, number % step / (step / 10)),
    }
}

/// Formats milliseconds with a unit. Up to a day, the result has at most five characters.
pub(super) fn time(ms: Option<f64>) -> String {
    match ms {
        None => "-".into(),
        Some(ms) if ms < 9.95 => format!("{ms:.1}ms"),
        Some(ms) if ms < 999.5 => format!("{ms:.0}ms"),
        Some(ms) if ms < 99_950.0 => format!("{:.1}s", ms / 1_000.0),
        Some(ms) => format!("{:.0}s", ms / 1_000.0),
    }
}

/// Formats a past duration in milliseconds: `5s`, `12m`, `3h`, `9d`.
pub(in crate::cli) fn ago(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Formats a share in percent, rounded down, so that `100` means all.
pub(super) fn percent(share: Option<f64>) -> String {
    match share {
        None => "-".into(),
        Some(share) if share < 1.0 => format!("{}", (share * 100.0).floor().min(99.0)),
        Some(_) => "100".into(),
    }
}

pub(super) fn days_in_a_cell(days: usize) -> usize {
    days.div_ceil(CELLS).max(1)
}

/// Draws calls by day, oldest first, as bars. A dot means zero.
pub(super) fn sparkline(by_day: &[u64]) -> String {
    // Cells are aligned at the last day, so the first cell may cover fewer days.
    let cells: Vec<u64> =
        by_day.rchunks(days_in_a_cell(by_day.len())).rev().map(|days| days.iter().sum()).collect();
    let max_calls = cells.iter().copied().max().unwrap_or_default().max(1);
    let bar = |calls: &u64| match calls {
        0 => '·',
        calls => BARS[(*calls as f64 / max_calls as f64 * BARS.len() as f64).ceil() as usize - 1],
    };
    cells.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let counts = [0, 9_999, 10_000, 12_345, 999_999, 4_000_000, 123_456_789, u64::MAX];
        let shown: Vec<String> = counts.into_iter().map(count).collect();
        assert_eq!(shown, ["0", "9999", "10.0k", "12.3k", "999k", "4.0M", "123M", "18446744T"]);
        let times = [0.04, 9.94, 9.96, 999.4, 999.6, 99_940.0, 99_960.0, 86_400_000.0];
        let shown: Vec<String> = times.into_iter().map(|ms| time(Some(ms))).collect();
        assert_eq!(shown, ["0.0ms", "9.9ms", "10ms", "999ms", "1.0s", "99.9s", "100s", "86400s"]);
        let shown: Vec<String> = [0, 59_999, 60_000, 7_200_000, 864_000_000].into_iter().map(ago).collect();
        assert_eq!(shown, ["0s", "59s", "1m", "2h", "10d"]);
        let shares = [None, Some(0.0), Some(0.9999), Some(1.0)];
        assert_eq!(shares.map(percent), ["-", "0", "99", "100"]);
    }

    #[test]
    fn a_sparkline_has_few_cells_and_the_last_days_stand_last() {
        assert_eq!(sparkline(&[0, 1, 4, 8]), "·▁▄█");
        assert_eq!(sparkline(&[0, 0, 0]), "···");
        assert_eq!(sparkline(&[]), "");
        let mut month = [0; 30];
        month[29] = 5;
        assert_eq!(sparkline(&month), "·········█");
        assert_eq!(sparkline(&[1; 14]).chars().count(), 7);
    }
}
