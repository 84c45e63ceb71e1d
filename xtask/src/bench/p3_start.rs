//! P3: time from process start until a client holds the complete tool list.

use anyhow::{Result, bail};

use super::counted_gates;
use super::report::{BenchReport, Bound, BoundSubject, ReportRow};
use super::setup::{Bench, Gateway};
use super::stats::PairedSamples;

const WARM_ROUNDS: usize = 30;
const COLD_ROUNDS: usize = 7;

struct StartCase {
    gates: usize,
    judged: BoundSubject,
    reach: f64,
    aim: f64,
}

const WARM: [StartCase; 3] = [
    StartCase { gates: 1, judged: BoundSubject::Ratio, reach: 2.0, aim: 1.5 },
    StartCase { gates: 6, judged: BoundSubject::Ratio, reach: 2.0, aim: 1.5 },
    StartCase { gates: 50, judged: BoundSubject::Value, reach: 30.0, aim: 15.0 },
];

const COLD: StartCase = StartCase { gates: 6, judged: BoundSubject::Value, reach: 1500.0, aim: 400.0 };

pub(crate) fn run(bench: &Bench, report: &mut BenchReport) -> Result<()> {
    let gateways = WARM.iter().map(|case| bench.gateway(case.gates)).collect::<Result<Vec<_>>>()?;
    for gateway in &gateways {
        start(bench, gateway)?;
    }
    let mut times = vec![PairedSamples::default(); WARM.len()];
    for number in 0..bench.rounds(WARM_ROUNDS) {
        let floor = start_floor(bench)?;
        // Rotate, so that no case always follows the same one.
        for index in (0..WARM.len()).map(|index| (index + number) % WARM.len()) {
            times[index].floor.push(floor);
            times[index].ours.push(start(bench, &gateways[index])?);
        }
    }
    for (case, times) in WARM.iter().zip(&times) {
        report.add(row(case, "warm", times));
    }

    let gateway = bench.gateway(COLD.gates)?;
    let mut times = PairedSamples::default();
    for _ in 0..bench.rounds(COLD_ROUNDS) {
        gateway.forget()?;
        times.ours.push(start(bench, &gateway)?);
        times.floor.push(start_floor(bench)?);
    }
    report.add(row(&COLD, "cold", &times));
    Ok(())
}

fn row(case: &StartCase, cache: &str, times: &PairedSamples) -> ReportRow {
    let measurement = format!("start to complete tools/list, {}, {cache}", counted_gates(case.gates));
    let bounds = (Bound::AtMost(case.reach), Bound::AtMost(case.aim));
    let row = ReportRow::ratio("P3", measurement, "ms", times, times.ours.len(), bounds);
    ReportRow { judged: case.judged, ..row }
}

fn start(bench: &Bench, gateway: &Gateway) -> Result<f64> {
    let server = bench.start(gateway)?;
    if server.tools.len() != gateway.tools {
        bail!("the first tools/list has {} tools, expected {}", server.tools.len(), gateway.tools);
    }
    Ok(server.started_in.as_secs_f64() * 1e3)
}

fn start_floor(bench: &Bench) -> Result<f64> {
    Ok(bench.start_floor()?.started_in.as_secs_f64() * 1e3)
}
