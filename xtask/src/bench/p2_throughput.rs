//! P2: calls per second with many in flight. Lost and wrong replies fail the run.

use anyhow::Result;

use super::report::{BenchReport, Bound, ReportRow};
use super::setup::Bench;
use super::stats::PairedSamples;
use super::{BenchSide, turns};

const ROUNDS: usize = 20;
const CALLS: u64 = 2000;

pub(crate) fn run(bench: &Bench, report: &mut BenchReport) -> Result<()> {
    let gateway = bench.gateway(1)?;
    let (mut ours, mut floor) = (bench.start(&gateway)?, bench.start_floor()?);
    let native = ["echo".to_owned()];
    for flight in [16, 64] {
        let mut rate = |turn| -> Result<f64> {
            let tally = match turn {
                BenchSide::Gateway => ours.echoes(&gateway.echo, CALLS, flight)?,
                BenchSide::Floor => floor.echoes(&native, CALLS, flight)?,
            };
            if let Some(failures) = tally.failures(turn, &format!("{CALLS} calls with {flight} in flight")) {
                report.problem(failures);
            }
            Ok(tally.rate())
        };
        let rounds = bench.rounds(ROUNDS);
        // The first turn of each side is warm-up.
        turns(1).try_for_each(|turn| rate(turn).map(drop))?;
        let rates = PairedSamples::measure(rounds, rate)?;
        let bounds = (Bound::AtLeast(0.7), Bound::AtLeast(0.9));
        let n = rounds * CALLS as usize;
        report.add(ReportRow::ratio("P2", format!("echo, {flight} in flight"), "/s", &rates, n, bounds));
    }
    Ok(())
}
