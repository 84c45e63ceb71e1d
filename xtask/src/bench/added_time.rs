//! P8 and P18: time that a call adds to a simpler one.

use std::time::Duration;

use anyhow::{Result, bail};

use super::report::{BenchReport, Bound, BoundSubject, ReportRow};
use super::server::BenchServer;
use super::setup::Bench;
use super::stats::{PairedSamples, median, micros};
use super::{BenchSide, turns};

/// P8: time that the gateway adds to a call of a server's tool, shown directly or called through the gate `proxy`. The
/// server is the floor of the other measurements.
pub(crate) fn server_tool(bench: &Bench, report: &mut BenchReport) -> Result<()> {
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
    let measure = |call: &dyn Fn(&mut BenchServer) -> Result<Duration>| -> Result<AddedTime> {
        let (mut ours, mut floor) = (bench.start(&gateway)?, bench.start_floor()?);
        // The first call starts the server.
        call(&mut ours)?;
        added_time(bench.rounds(60), 250, || call(&mut ours), || floor.echo("echo"))
    };
    let bounds = (Bound::AtMost(200.0), Bound::AtMost(60.0));
    report.add(measure(&direct)?.row("P8", "a server's tool shown directly, added p50", bounds));
    report.add(measure(&through)?.row("P8", "a server's tool through call_tool, added p50", bounds));
    Ok(())
}

/// P18: added time of a one-line script over an echo through a gate, both through the same gateway.
pub(crate) fn script(bench: &Bench, report: &mut BenchReport) -> Result<()> {
    if bench.noise() {
        return Ok(());
    }
    let gateway = bench.with_script()?;
    let (mut scripts, mut echoes) = (bench.start(&gateway)?, bench.start(&gateway)?);
    let script = || {
        let (time, reply) = scripts.timed("run_code", r#"{"code":"return 1 + 1"}"#)?;
        if !reply.contains(r#""text":"2""#) {
            bail!("run_code answered {reply}");
        }
        Ok(time)
    };
    let added = added_time(bench.rounds(40), 100, script, || echoes.echo("a01_echo"))?;
    let bounds = (Bound::AtMost(500.0), Bound::AtMost(250.0));
    report.add(added.row("P18", "run_code of one line, more than an echo, p50", bounds));
    Ok(())
}

struct AddedTime {
    pair: PairedSamples,
    calls: usize,
}

/// Alternates between both kinds of calls, `calls` of each in a turn.
fn added_time(
    rounds: usize,
    calls: usize,
    mut ours: impl FnMut() -> Result<Duration>,
    mut floor: impl FnMut() -> Result<Duration>,
) -> Result<AddedTime> {
    let mut pair = PairedSamples::default();
    for turn in turns(rounds) {
        let mut call = || match turn {
            BenchSide::Gateway => ours().map(micros),
            BenchSide::Floor => floor().map(micros),
        };
        let times = (0..calls).map(|_| call()).collect::<Result<Vec<_>>>()?;
        pair.side(turn).push(median(&times));
    }
    Ok(AddedTime { pair, calls: rounds * calls })
}

impl AddedTime {
    fn row(&self, id: &'static str, what: &str, (reach, aim): (Bound, Bound)) -> ReportRow {
        let added: Vec<f64> =
            self.pair.ours.iter().zip(&self.pair.floor).map(|(ours, floor)| ours - floor).collect();
        ReportRow {
            id,
            what: what.into(),
            unit: "µs",
            ours: median(&added),
            floor: median(&self.pair.floor),
            ratio: self.pair.ratio(),
            n: self.calls,
            judged: BoundSubject::Value,
            reach,
            aim,
        }
    }
}
