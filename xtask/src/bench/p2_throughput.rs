//! P2: calls per second with many in flight. Lost and wrong replies fail the run.

use anyhow::Result;

use super::report::{BenchReport, Bound, BoundSubject, ReportRow};
use super::server::BenchServer;
use super::setup::Bench;
use super::stats::{PairedSamples, median};
use super::{BenchSide, turns};

const ROUNDS: usize = 20;
const CALLS: u64 = 2000;

pub(crate) fn run(bench: &Bench, report: &mut BenchReport) -> Result<()> {
    let gateway = bench.gateway(1)?;
    let (mut ours, mut floor) = (bench.start(&gateway)?, bench.start_floor()?);
    let native = ["echo".to_owned()];
    for flight in [16, 64] {
        let mut rates = PairedSamples::default();
        let rounds = bench.rounds(ROUNDS);
        // The first turn of each side is warm-up.
        rate("the gateway", &mut ours, &gateway.echo, flight, report)?;
        rate("the native server", &mut floor, &native, flight, report)?;
        for turn in turns(rounds) {
            let rate = match turn {
                BenchSide::Gateway => rate("the gateway", &mut ours, &gateway.echo, flight, report)?,
                BenchSide::Floor => rate("the native server", &mut floor, &native, flight, report)?,
            };
            rates.side(turn).push(rate);
        }
        report.add(ReportRow {
            id: "P2",
            what: format!("echo, {flight} in flight"),
            unit: "/s",
            ours: median(&rates.ours),
            floor: median(&rates.floor),
            ratio: rates.ratio(),
            n: rounds * CALLS as usize,
            judged: BoundSubject::Ratio,
            reach: Bound::AtLeast(0.7),
            aim: Bound::AtLeast(0.9),
        });
    }
    Ok(())
}

fn rate(
    who: &str,
    server: &mut BenchServer,
    tools: &[String],
    flight: usize,
    report: &mut BenchReport,
) -> Result<f64> {
    let tally = server.echoes(tools, CALLS, flight)?;
    if tally.lost + tally.wrong > 0 {
        let (lost, wrong) = (tally.lost, tally.wrong);
        report.problem(format!(
            "{who} lost {lost} of {CALLS} calls with {flight} in flight, {wrong} were wrong"
        ));
    }
    Ok(tally.answered as f64 / tally.time.as_secs_f64())
}
