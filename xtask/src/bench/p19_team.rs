//! P19: a host for a team, with keys, 200 access rules, a quota and the audit, beside the same host with one token.

use anyhow::Result;

use super::p7_http::{CALLS, ERAS, HttpTarget, measure};
use super::report::{BenchReport, Bound, ReportRow};
use super::setup::Bench;

const ROUNDS: usize = 40;
const TOKEN: &str = "0123456789abcdef0123456789abcdef";

pub(crate) fn run(bench: &Bench, report: &mut BenchReport) -> Result<()> {
    let (alone, team) = (bench.gateway(1)?, bench.team_gateway()?);
    let key = bench.create_key(&team, &["bench", "--group", "team"])?;
    let with_token = bench.serve(&alone, &[("GATEHOUSE_TOKEN", TOKEN)])?;
    let with_keys = bench.serve(&team, &[])?;
    let rounds = bench.rounds(ROUNDS);
    let (key, token) = (format!("Bearer {key}"), format!("Bearer {TOKEN}"));
    for (era, name) in ERAS {
        let mut targets = [
            HttpTarget::connect(&with_keys, &team.echo[0], era, Some(&key))?,
            HttpTarget::connect(&with_token, &alone.echo[0], era, Some(&token))?,
        ];
        let samples = measure(&mut targets, rounds)?;
        let bounds = (Bound::AtMost(1.15), Bound::AtMost(1.05));
        for (quantity, pair) in [("p50", &samples.p50), ("CPU a call", &samples.cpu)] {
            let measurement = format!("a team against one token, {name}, {quantity}");
            report.add(ReportRow::ratio("P19", measurement, "µs", pair, rounds * CALLS, bounds));
        }
    }
    Ok(())
}
