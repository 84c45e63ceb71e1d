//! P8, P8h and P18: time that a call adds to a simpler one.

use std::time::Duration;

use anyhow::{Result, bail};

use super::BenchSide;
use super::http_server::{HttpClient, HttpEra, rate};
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

/// Calls in flight of the throughput rows of P8h, and calls of each in a round.
const IN_FLIGHT: usize = 64;
const CALLS_OF_EACH: usize = 20;

/// P8h: the same for a server over HTTP, one call at a time and 64 in flight, with servers of both eras.
pub(crate) fn http_server_tool(bench: &Bench, report: &mut BenchReport) -> Result<()> {
    for (era, version) in [(HttpEra::Session, "2025-11-25"), (HttpEra::Stateless, "2026-07-28")] {
        let floor = bench.serve_floor_of(Some(version))?;
        let gateway = bench.before_http_floor(&floor, version)?;
        let mut ours = bench.start(&gateway)?;
        let connect = |_| floor.connect(era, None);
        let mut direct: Vec<HttpClient> = (0..IN_FLIGHT).map(connect).collect::<Result<_>>()?;
        // The first call connects the server.
        ours.echo("floor__echo")?;
        let added =
            added_time(bench.rounds(60), 250, || ours.echo("floor__echo"), || direct[0].echo("echo"))?;
        let measurement = format!("a tool of an HTTP server of {version}, added p50");
        report.add(added.row("P8h", &measurement, (Bound::AtMost(400.0), Bound::AtMost(100.0))));

        let calls = (IN_FLIGHT * CALLS_OF_EACH) as u64;
        let tools = ["floor__echo".to_owned()];
        let rounds = bench.rounds(20);
        let rates = PairedSamples::measure(rounds, |turn| match turn {
            BenchSide::Gateway => {
                let tally = ours.echoes(&tools, calls, IN_FLIGHT)?;
                if let Some(failures) = tally.failures(turn, &format!("{calls} calls")) {
                    report.problem(failures);
                }
                Ok(tally.rate())
            }
            BenchSide::Floor => rate(&mut direct, "echo", CALLS_OF_EACH),
        })?;
        let measurement = format!("a tool of an HTTP server of {version}, {IN_FLIGHT} in flight");
        let bounds = (Bound::AtLeast(0.3), Bound::AtLeast(0.8));
        report.add(ReportRow::ratio("P8h", measurement, "/s", &rates, rounds * calls as usize, bounds));
    }
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
    fn row(&self, id: &'static str, measurement: &str, bounds: (Bound, Bound)) -> ReportRow {
        let added: Vec<f64> =
            self.pair.ours.iter().zip(&self.pair.floor).map(|(ours, floor)| ours - floor).collect();
        let row = ReportRow::ratio(id, measurement, "µs", &self.pair, self.calls, bounds);
        ReportRow { ours: median(&added), judged: BoundSubject::Value, ..row }
    }
}
