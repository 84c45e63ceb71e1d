//! P7: calls over HTTP, one at a time and with 64 clients, in sessions and without.

use anyhow::Result;

use super::http_server::{HttpBenchServer, HttpClient, HttpEra, rate};
use super::report::{BenchReport, Bound, ReportRow};
use super::setup::Bench;
use super::stats::{PairedSamples, call_times, median};
use super::{BenchSide, turns};

const ROUNDS: usize = 40;
/// Calls of one client in a round.
pub(super) const CALLS: usize = 200;
const CLIENTS: usize = 64;
const CALLS_OF_EACH: usize = 20;

pub(super) const ERAS: [(HttpEra, &str); 2] =
    [(HttpEra::Session, "session"), (HttpEra::Stateless, "stateless")];

/// A server with its tool, and clients of one era.
pub(super) struct HttpTarget<'a> {
    server: &'a HttpBenchServer,
    tool: &'a str,
    alone: HttpClient,
    many: Vec<HttpClient>,
}

#[derive(Default)]
pub(super) struct HttpSamples {
    pub(super) p50: PairedSamples,
    pub(super) cpu: PairedSamples,
    rate: PairedSamples,
}

pub(crate) fn run(bench: &Bench, report: &mut BenchReport) -> Result<()> {
    let gateway = bench.gateway(1)?;
    let (ours, floor) = (bench.serve(&gateway, &[])?, bench.serve_floor()?);
    for (era, name) in ERAS {
        let mut targets = [
            HttpTarget::connect(&ours, &gateway.echo[0], era, None)?,
            HttpTarget::connect(&floor, "echo", era, None)?,
        ];
        let rounds = bench.rounds(ROUNDS);
        let samples = measure(&mut targets, rounds)?;
        let bounds = (Bound::AtMost(3.0), Bound::AtMost(1.6));
        for (quantity, pair) in [("p50", &samples.p50), ("CPU a call", &samples.cpu)] {
            let measurement = format!("echo over HTTP, {name}, {quantity}");
            report.add(ReportRow::ratio("P7", measurement, "µs", pair, rounds * CALLS, bounds));
        }
        let measurement = format!("echo over HTTP, {name}, {CLIENTS} clients");
        let (n, bounds) = (rounds * CLIENTS * CALLS_OF_EACH, (Bound::AtLeast(0.5), Bound::AtLeast(0.8)));
        report.add(ReportRow::ratio("P7", measurement, "/s", &samples.rate, n, bounds));
    }
    Ok(())
}

/// Measures two servers in turns.
pub(super) fn measure(targets: &mut [HttpTarget<'_>; 2], rounds: usize) -> Result<HttpSamples> {
    // The first turn of each is warm-up.
    for target in &mut *targets {
        target.round(BenchSide::Gateway, &mut HttpSamples::default())?;
    }
    let mut samples = HttpSamples::default();
    turns(rounds).try_for_each(|turn| targets[turn as usize].round(turn, &mut samples))?;
    Ok(samples)
}

impl<'a> HttpTarget<'a> {
    pub(super) fn connect(
        server: &'a HttpBenchServer,
        tool: &'a str,
        era: HttpEra,
        credential: Option<&str>,
    ) -> Result<Self> {
        let connect = || server.connect(era, credential);
        let many = (0..CLIENTS).map(|_| connect()).collect::<Result<_>>()?;
        Ok(Self { server, tool, alone: connect()?, many })
    }

    fn round(&mut self, turn: BenchSide, samples: &mut HttpSamples) -> Result<()> {
        let (times, cpu) = call_times(self.server.process(), CALLS, || self.alone.echo(self.tool))?;
        samples.p50.side(turn).push(median(&times));
        samples.cpu.side(turn).push(cpu);
        samples.rate.side(turn).push(rate(&mut self.many, self.tool, CALLS_OF_EACH)?);
        Ok(())
    }
}
