//! P1: latency of one call at a time, and the CPU time that it costs the server.
//!
//! Most of the latency is waking a thread, which depends on other load: an idle core has to wake too, a busy one never
//! sleeps. So both states are measured.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::Result;

use super::report::{BenchReport, Bound, ReportRow};
use super::setup::Bench;
use super::stats::{PairedSamples, call_times, median, quantile};
use super::{BenchSide, counted_gates, turns};

const ROUNDS: usize = 60;
const CALLS: usize = 250;

#[derive(Default)]
struct LatencySamples {
    p50: PairedSamples,
    p99: PairedSamples,
    cpu: PairedSamples,
}

/// Load from other processes, and the required ratio to the floor under it.
#[derive(Clone, Copy)]
struct MachineLoad {
    name: &'static str,
    spins: bool,
    reach: f64,
}

const MACHINES: [MachineLoad; 2] = [
    MachineLoad { name: "quiet", spins: false, reach: 3.0 },
    MachineLoad { name: "busy", spins: true, reach: 2.2 },
];

pub(crate) fn run(bench: &Bench, report: &mut BenchReport) -> Result<()> {
    for machine in MACHINES {
        let _spinning = machine.spins.then(BusyCores::on_all_cores_but_one).transpose()?;
        for gates in [1, 50] {
            with_gates(bench, report, gates, machine)?;
        }
    }
    Ok(())
}

fn with_gates(bench: &Bench, report: &mut BenchReport, gates: usize, machine: MachineLoad) -> Result<()> {
    let gateway = bench.gateway(gates)?;
    let (mut ours, mut floor) = (bench.start(&gateway)?, bench.start_floor()?);
    let tool = &gateway.echo[gateway.echo.len() / 2];
    let mut round = |turn, results: &mut LatencySamples| -> Result<()> {
        let (server, tool) = match turn {
            BenchSide::Gateway => (&mut ours, tool.as_str()),
            BenchSide::Floor => (&mut floor, "echo"),
        };
        let (times, cpu) = call_times(server.process(), CALLS, || server.echo(tool))?;
        results.cpu.side(turn).push(cpu);
        results.p50.side(turn).push(median(&times));
        results.p99.side(turn).push(quantile(&times, 0.99));
        Ok(())
    };
    let mut warm_up = LatencySamples::default();
    turns(1).try_for_each(|turn| round(turn, &mut warm_up))?;
    let mut results = LatencySamples::default();
    let rounds = bench.rounds(ROUNDS);
    turns(rounds).try_for_each(|turn| round(turn, &mut results))?;
    let bounds = (Bound::AtMost(machine.reach), Bound::AtMost(1.6));
    for (quantity, pair) in [("p50", results.p50), ("p99", results.p99), ("CPU a call", results.cpu)] {
        let measurement = format!("echo, {}, {}, {quantity}", counted_gates(gates), machine.name);
        report.add(ReportRow::ratio("P1", measurement, "µs", &pair, rounds * CALLS, bounds));
    }
    Ok(())
}

/// Load from other work: threads that compute and never wait.
pub(super) struct BusyCores(Arc<AtomicBool>);

impl BusyCores {
    /// Leaves one core to the client and the server.
    pub(super) fn on_all_cores_but_one() -> Result<Self> {
        let spinning = Self(Arc::new(AtomicBool::new(true)));
        for _ in 1..thread::available_parallelism()?.get().max(2) {
            let running = Arc::clone(&spinning.0);
            thread::spawn(move || {
                while running.load(Ordering::Relaxed) {
                    black_box(());
                }
            });
        }
        Ok(spinning)
    }
}

impl Drop for BusyCores {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}
