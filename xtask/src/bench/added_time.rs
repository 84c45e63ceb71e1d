//! P8 and P18: time that a call adds to a simpler one.

use std::time::Duration;

use anyhow::{Result, bail};

use super::BenchSide;
use super::report::{BenchReport, Bound, BoundSubject, ReportRow};
use super::server::BenchServer;
use super::setup::Bench;
use super::stats::{PairedSamples, median, median_of_calls};

/// P8: time that the gateway adds to a call of a server's tool, shown directly or called through the gate `proxy`. The
/// server is the floor of the other measurements.
pub(crate) fn server_tool(bench: &Bench, report: &mut BenchReport) -> Result<()> {
    let gateway = bench.before_floor()?;
    let direct = |server: &mut BenchServer| server.echo("floor__echo");
    let through = |server: &mut BenchServer| server.call_tool("floor");
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
    let pair = PairedSamples::measure(rounds, |turn| match turn {
        BenchSide::Gateway => median_of_calls(calls, &mut ours),
        BenchSide::Floor => median_of_calls(calls, &mut floor),
    })?;
    Ok(AddedTime { pair, calls: rounds * calls })
}

impl AddedTime {
    fn row(&self, id: &'static str, what: &str, bounds: (Bound, Bound)) -> ReportRow {
        let added: Vec<f64> =
            self.pair.ours.iter().zip(&self.pair.floor).map(|(ours, floor)| ours - floor).collect();
        let row = ReportRow::ratio(id, what, "µs", &self.pair, self.calls, bounds);
        ReportRow { ours: median(&added), judged: BoundSubject::Value, ..row }
    }
}
