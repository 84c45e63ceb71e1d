//! P7: calls over HTTP, one at a time and with 64 clients, in sessions and without.

use anyhow::Result;

use super::http_server::{HttpBenchServer, HttpClient, HttpEra, rate};
use super::report::{BenchReport, Bound, BoundSubject, ReportRow};
use super::setup::Bench;
use super::stats::{PairedSamples, cpu_seconds, median, micros};
use super::{BenchSide, turns};

const ROUNDS: usize = 40;
/// Calls of one client in a round.
pub(super) const CALLS: usize = 200;
const CLIENTS: usize = 64;
const CALLS_OF_EACH: usize = 20;

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
    pub(super) rate: PairedSamples,
}

pub(crate) fn run(bench: &Bench, report: &mut BenchReport) -> Result<()> {
    let gateway = bench.gateway(1)?;
    let (ours, floor) = (bench.serve(&gateway, &[])?, bench.serve_floor()?);
    for (era, name) in [(HttpEra::Session, "session"), (HttpEra::Stateless, "stateless")] {
        let mut targets = [
            HttpTarget::connect(&ours, &gateway.echo[0], era, None)?,
            HttpTarget::connect(&floor, "echo", era, None)?,
        ];
        let rounds = bench.rounds(ROUNDS);
        let samples = measure(&mut targets, rounds)?;
        let limits = (Bound::AtMost(3.0), Bound::AtMost(1.6));
        report.add(row(
            "P7",
            format!("echo over HTTP, {name}, p50"),
            "µs",
            &samples.p50,
            rounds * CALLS,
            limits,
        ));
        report.add(row(
            "P7",
            format!("echo over HTTP, {name}, CPU a call"),
            "µs",
            &samples.cpu,
            rounds * CALLS,
            limits,
        ));
        let (what, n) =
            (format!("echo over HTTP, {name}, {CLIENTS} clients"), rounds * CLIENTS * CALLS_OF_EACH);
        report.add(row("P7", what, "/s", &samples.rate, n, (Bound::AtLeast(0.5), Bound::AtLeast(0.8))));
    }
    Ok(())
}

/// Measures two servers in turns.
pub(super) fn measure(targets: &mut [HttpTarget<'_>; 2], rounds: usize) -> Result<HttpSamples> {
    let mut samples = HttpSamples::default();
    // The first turn of each is warm-up.
    for target in &mut *targets {
        target.round(BenchSide::Gateway, &mut HttpSamples::default())?;
    }
    for turn in turns(rounds) {
        let target = match turn {
            BenchSide::Gateway => &mut targets[0],
            BenchSide::Floor => &mut targets[1],
        };
        target.round(turn, &mut samples)?;
    }
    Ok(samples)
}

pub(super) fn row(
    id: &'static str,
    what: String,
    unit: &'static str,
    pair: &PairedSamples,
    n: usize,
    (reach, aim): (Bound, Bound),
) -> ReportRow {
    let (ours, floor) = (median(&pair.ours), median(&pair.floor));
    ReportRow { id, what, unit, ours, floor, ratio: pair.ratio(), n, judged: BoundSubject::Ratio, reach, aim }
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
        let before = cpu_seconds(self.server.process())?;
        let times = (0..CALLS).map(|_| self.alone.echo(self.tool).map(micros)).collect::<Result<Vec<_>>>()?;
        let cpu = cpu_seconds(self.server.process())? - before;
        samples.p50.side(turn).push(median(&times));
        samples.cpu.side(turn).push(cpu * 1e6 / CALLS as f64);
        samples.rate.side(turn).push(rate(&mut self.many, self.tool, CALLS_OF_EACH)?);
        Ok(())
    }
}
