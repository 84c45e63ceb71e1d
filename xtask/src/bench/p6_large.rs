//! P6: time of a reply with 1 MB of text.

use anyhow::Result;

use super::report::{BenchReport, Bound, BoundSubject, ReportRow};
use super::server::BenchServer;
use super::setup::Bench;
use super::stats::{PairedSamples, median, micros};
use super::{BenchSide, turns};

const ROUNDS: usize = 15;
const CALLS: usize = 20;
const BYTES: usize = 1_000_000;

pub(crate) fn run(bench: &Bench, report: &mut BenchReport) -> Result<()> {
    let gateway = bench.gateway(1)?;
    let (mut ours, mut floor) = (bench.start(&gateway)?, bench.start_floor()?);
    round(&mut ours, &gateway.big)?;
    round(&mut floor, "big")?;
    let mut times = PairedSamples::default();
    let rounds = bench.rounds(ROUNDS);
    for turn in turns(rounds) {
        let time = match turn {
            BenchSide::Gateway => round(&mut ours, &gateway.big)?,
            BenchSide::Floor => round(&mut floor, "big")?,
        };
        times.side(turn).push(time);
    }
    report.add(ReportRow {
        id: "P6",
        what: "text of 1 MB, p50".into(),
        unit: "µs",
        ours: median(&times.ours),
        floor: median(&times.floor),
        ratio: times.ratio(),
        n: rounds * CALLS,
        judged: BoundSubject::Ratio,
        reach: Bound::AtMost(2.0),
        aim: Bound::AtMost(1.3),
    });
    Ok(())
}

fn round(server: &mut BenchServer, tool: &str) -> Result<f64> {
    let times = (0..CALLS).map(|_| server.big(tool, BYTES).map(micros)).collect::<Result<Vec<_>>>()?;
    Ok(median(&times))
}
