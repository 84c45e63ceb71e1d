//! P8: time that the gateway adds to a call of a server's tool, shown directly or called through the gate `proxy`. The
//! server is the floor of the other measurements.

use std::time::Duration;

use anyhow::{Result, bail};

use super::report::{BenchReport, Bound, BoundSubject, ReportRow};
use super::server::BenchServer;
use super::setup::Bench;
use super::stats::{PairedSamples, median, micros};
use super::{BenchSide, turns};

const ROUNDS: usize = 60;
const CALLS: usize = 250;

pub(crate) fn run(bench: &Bench, report: &mut BenchReport) -> Result<()> {
    if bench.noise() {
        return Ok(());
    }
    let gateway = bench.before_floor()?;
    let direct = |server: &mut BenchServer| server.echo("floor__echo");
    let through = |server: &mut BenchServer| {
        let arguments = r#"{"server":"floor","tool":"echo","arguments":{"text":"there and back"}}"#;
        let (time, reply) = server.timed("call_tool", arguments)?;
        if !reply.contains("there and back") || reply.contains("\"isError\":true") {
            bail!("call_tool answered {reply}");
        }
        Ok(time)
    };
    measure(bench, report, "a server's tool shown directly", &mut bench.start(&gateway)?, direct)?;
    measure(bench, report, "a server's tool through call_tool", &mut bench.start(&gateway)?, through)
}

fn measure(
    bench: &Bench,
    report: &mut BenchReport,
    what: &str,
    ours: &mut BenchServer,
    call: impl Fn(&mut BenchServer) -> Result<Duration>,
) -> Result<()> {
    let mut floor = bench.start_floor()?;
    let mut pair = PairedSamples::default();
    // The first call starts the server.
    call(ours)?;
    let rounds = bench.rounds(ROUNDS);
    for turn in turns(rounds) {
        let mut one = || match turn {
            BenchSide::Gateway => call(ours).map(micros),
            BenchSide::Floor => floor.echo("echo").map(micros),
        };
        let times = (0..CALLS).map(|_| one()).collect::<Result<Vec<_>>>()?;
        pair.side(turn).push(median(&times));
    }
    let added: Vec<f64> = pair.ours.iter().zip(&pair.floor).map(|(ours, floor)| ours - floor).collect();
    report.add(ReportRow {
        id: "P8",
        what: format!("{what}, added p50"),
        unit: "µs",
        ours: median(&added),
        floor: median(&pair.floor),
        ratio: pair.ratio(),
        n: rounds * CALLS,
        judged: BoundSubject::Value,
        reach: Bound::AtMost(200.0),
        aim: Bound::AtMost(60.0),
    });
    Ok(())
}
