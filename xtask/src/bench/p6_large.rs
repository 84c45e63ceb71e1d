//! P6: how long a reply of a million bytes of text takes.

use anyhow::Result;

use super::report::{Bound, Judged, Report, Row};
use super::server::Server;
use super::setup::Bench;
use super::stats::{Paired, median, micros};
use super::{Turn, turns};

const ROUNDS: usize = 15;
const CALLS: usize = 20;
const BYTES: usize = 1_000_000;

pub(crate) fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    let gateway = bench.gateway(1)?;
    let (mut ours, mut floor) = (bench.start(&gateway)?, bench.start_floor()?);
    round(&mut ours, &gateway.big)?;
    round(&mut floor, "big")?;
    let mut times = Paired::default();
    let rounds = bench.rounds(ROUNDS);
    for turn in turns(rounds) {
        let time = match turn {
            Turn::Gateway => round(&mut ours, &gateway.big)?,
            Turn::Floor => round(&mut floor, "big")?,
        };
        times.side(turn).push(time);
    }
    report.add(Row {
        id: "P6",
        what: "text of 1 MB, p50".into(),
        unit: "µs",
        ours: median(&times.ours),
        floor: median(&times.floor),
        ratio: times.ratio(),
        n: rounds * CALLS,
        judged: Judged::Ratio,
        reach: Bound::AtMost(2.0),
        aim: Bound::AtMost(1.3),
    });
    Ok(())
}

/// The median of some calls.
fn round(server: &mut Server, tool: &str) -> Result<f64> {
    let times = (0..CALLS).map(|_| server.big(tool, BYTES).map(micros)).collect::<Result<Vec<_>>>()?;
    Ok(median(&times))
}
