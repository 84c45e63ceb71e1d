//! P5: time from saving a new version of a gate until a polling client sees its tools.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::report::{BenchReport, Bound, ReportRow};
use super::setup::Bench;
use super::stats::median;

const ROUNDS: usize = 25;

/// Interval of the client's polls; each takes CPU time from the compiler.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

const RELOAD_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) fn run(bench: &Bench, report: &mut BenchReport) -> Result<()> {
    let gateway = bench.gateway(1)?;
    let mut server = bench.start(&gateway)?;
    let mut times = Vec::new();
    for round in 1..=bench.rounds(ROUNDS) {
        // A new description gives the component new bytes, so it must be compiled.
        let marked = format!("Returns {round:04}text.");
        gateway.replace(bench, "Returns the text.", &marked)?;
        let begin = Instant::now();
        loop {
            let listed = server.ask("tools/list", "{}")?.to_string();
            if listed.contains(&marked) {
                break;
            }
            if begin.elapsed() > RELOAD_TIMEOUT {
                bail!("round {round}: the new tools are not served");
            }
            thread::sleep(POLL_INTERVAL);
        }
        times.push(begin.elapsed().as_secs_f64() * 1e3);
        server.echo(&gateway.echo[0]).context("a call after the reload")?;
    }
    let bounds = (Bound::AtMost(250.0), Bound::AtMost(60.0));
    let (time, n) = (median(&times), times.len());
    report.add(ReportRow::value("P5", "gate file saved to new tools served", (time, "ms"), n, bounds));
    Ok(())
}
