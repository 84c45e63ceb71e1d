//! P18: added time of a one-line script over an echo through a gate, both through the same gateway.

use anyhow::{Result, bail};

use super::report::{BenchReport, Bound, BoundSubject, ReportRow};
use super::setup::Bench;
use super::stats::{PairedSamples, median, micros};
use super::{BenchSide, turns};

const ROUNDS: usize = 40;
const CALLS: usize = 100;

pub(crate) fn run(bench: &Bench, report: &mut BenchReport) -> Result<()> {
    if bench.noise() {
        return Ok(());
    }
    let gateway = bench.with_script()?;
    let (mut scripts, mut echoes) = (bench.start(&gateway)?, bench.start(&gateway)?);
    let mut pair = PairedSamples::default();
    let rounds = bench.rounds(ROUNDS);
    for turn in turns(rounds) {
        let mut one = || match turn {
            BenchSide::Gateway => {
                let (time, reply) = scripts.timed("run_code", r#"{"code":"return 1 + 1"}"#)?;
                if !reply.contains(r#""text":"2""#) {
                    bail!("run_code answered {reply}");
                }
                Ok(micros(time))
            }
            BenchSide::Floor => echoes.echo("a01_echo").map(micros),
        };
        let times = (0..CALLS).map(|_| one()).collect::<Result<Vec<_>>>()?;
        pair.side(turn).push(median(&times));
    }
    let added: Vec<f64> = pair.ours.iter().zip(&pair.floor).map(|(ours, floor)| ours - floor).collect();
    report.add(ReportRow {
        id: "P18",
        what: "run_code of one line, more than an echo, p50".into(),
        unit: "µs",
        ours: median(&added),
        floor: median(&pair.floor),
        ratio: pair.ratio(),
        n: rounds * CALLS,
        judged: BoundSubject::Value,
        reach: Bound::AtMost(500.0),
        aim: Bound::AtMost(250.0),
    });
    Ok(())
}
