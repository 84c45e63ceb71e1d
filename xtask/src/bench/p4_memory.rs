//! P4: resident memory with six gates after one call of each, and its growth over 50,000 more calls.

use std::thread;
use std::time::Duration;

use anyhow::Result;

use super::BenchSide;
use super::report::{BenchReport, Bound, ReportRow};
use super::server::BenchServer;
use super::setup::Bench;
use super::stats::memory;

const GATES: usize = 6;
const CALLS: u64 = 50_000;
const FLIGHT: usize = 16;

const SETTLE_TIME: Duration = Duration::from_secs(1);

pub(crate) fn run(bench: &Bench, report: &mut BenchReport) -> Result<()> {
    let gateway = bench.gateway(GATES)?;
    let (mut ours, mut floor) = (bench.start(&gateway)?, bench.start_floor()?);
    let native = ["echo".to_owned()];
    let calls = bench.rounds(CALLS as usize) as u64;
    let (our_idle, our_growth) =
        idle_and_growth(BenchSide::Gateway, &mut ours, &gateway.echo, calls, report)?;
    let (floor_idle, floor_growth) = idle_and_growth(BenchSide::Floor, &mut floor, &native, calls, report)?;
    let mut add = |measurement: String, ours: f64, floor: f64, n: usize, reach: f64, aim: f64| {
        let bounds = (Bound::AtMost(reach), Bound::AtMost(aim));
        let ratio = if floor > 0.0 { ours / floor } else { 0.0 };
        report.add(ReportRow {
            floor,
            ratio,
            ..ReportRow::value("P4", measurement, (ours, "MB"), n, bounds)
        });
    };
    add(format!("resident, {GATES} gates called once"), our_idle.0, floor_idle.0, 1, 30.0, 15.0);
    add("of that, not backed by files".into(), our_idle.1, floor_idle.1, 1, 30.0, 15.0);
    add(format!("growth over {calls} calls"), our_growth, floor_growth, calls as usize, 2.0, 0.0);
    Ok(())
}

/// Returns the memory after one call of each tool (resident, and not backed by files) and the growth of the resident
/// part.
fn idle_and_growth(
    side: BenchSide,
    server: &mut BenchServer,
    tools: &[String],
    calls: u64,
    report: &mut BenchReport,
) -> Result<((f64, f64), f64)> {
    for tool in tools {
        server.echo(tool)?;
    }
    thread::sleep(SETTLE_TIME);
    let idle = memory(server.process())?;
    let tally = server.echoes(tools, calls, FLIGHT)?;
    if let Some(failures) = tally.failures(side, &format!("{calls} calls")) {
        report.problem(failures);
    }
    thread::sleep(SETTLE_TIME);
    Ok((idle, memory(server.process())?.0 - idle.0))
}
