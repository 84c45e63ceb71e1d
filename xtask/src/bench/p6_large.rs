//! P6: time of a reply with 1 MB of text.

use anyhow::Result;

use super::report::{BenchReport, Bound, ReportRow};
use super::setup::Bench;
use super::stats::{PairedSamples, median_of_calls};
use super::{BenchSide, turns};

const ROUNDS: usize = 15;
const CALLS: usize = 20;
const BYTES: usize = 1_000_000;

pub(crate) fn run(bench: &Bench, report: &mut BenchReport) -> Result<()> {
    let gateway = bench.gateway(1)?;
    let (mut ours, mut floor) = (bench.start(&gateway)?, bench.start_floor()?);
    let mut round = |turn| match turn {
        BenchSide::Gateway => median_of_calls(CALLS, || ours.big(&gateway.big, BYTES)),
        BenchSide::Floor => median_of_calls(CALLS, || floor.big("big", BYTES)),
    };
    turns(1).try_for_each(|turn| round(turn).map(drop))?;
    let rounds = bench.rounds(ROUNDS);
    let times = PairedSamples::measure(rounds, round)?;
    let bounds = (Bound::AtMost(2.0), Bound::AtMost(1.3));
    report.add(ReportRow::ratio("P6", "text of 1 MB, p50", "µs", &times, rounds * CALLS, bounds));
    Ok(())
}
