//! P12: time to shorten a document of 35,000 tokens to 8,000 without a language model, and other sizes and adversarial
//! texts. Uses the port of gates, without a gateway.

use anyhow::{Context, Result};
use serde_json::Value;

use super::report::{BenchReport, Bound, BoundSubject, ReportRow};
use super::setup::Bench;
use crate::process;
use crate::workspace::Workspace;

pub(crate) fn run(bench: &Bench, report: &mut BenchReport) -> Result<()> {
    let workspace = Workspace::load()?;
    let build = ["build", "--release", "-p", "bench-quality"];
    process::run(process::cargo().current_dir(&bench.root).args(build))?;
    let mut command = process::command(workspace.binary("release", "bench-quality"));
    command.current_dir(&bench.root).args(["--times", "docs"]);
    let times: Value =
        serde_json::from_str(&process::output(&mut command)?).context("bench-quality output is not JSON")?;
    report.add(ReportRow {
        id: "P12",
        what: "35,000 tokens to 8,000".to_owned(),
        unit: "ms",
        ours: times["p50_ms"].as_f64().context("bench-quality measured no time")?,
        floor: 0.0,
        ratio: 0.0,
        n: times["n"].as_u64().unwrap_or_default() as usize,
        judged: BoundSubject::Value,
        reach: Bound::AtMost(500.0),
        aim: Bound::AtMost(100.0),
    });
    report.fact("extract_growth", times["growth"].clone());
    report.fact("extract_hostile", times["hostile"].clone());
    Ok(())
}
