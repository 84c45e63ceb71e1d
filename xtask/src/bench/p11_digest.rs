//! P11: time and token savings of digests of 1 MB without a language model. Uses the port of gates, without a gateway.

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
    command.current_dir(&bench.root).args(["--digests", "docs"]);
    let kinds: Vec<Value> =
        serde_json::from_str(&process::output(&mut command)?).context("bench-quality output is not JSON")?;
    for kind in &kinds {
        let name = kind["name"].as_str().unwrap_or_default();
        let row = |what: String, unit, ours: f64, reach, aim| ReportRow {
            id: "P11",
            what,
            unit,
            ours,
            floor: 0.0,
            ratio: 0.0,
            n: kind["n"].as_u64().unwrap_or_default() as usize,
            judged: BoundSubject::Value,
            reach,
            aim,
        };
        let ms = kind["p50_ms"].as_f64().context("bench-quality measured no time")?;
        let (reach, aim) = (Bound::AtMost(60.0), Bound::AtMost(20.0));
        report.add(row(format!("digest of 1 MB, {name}"), "ms", ms, reach, aim));
        let saved = kind["reduction"].as_f64().context("bench-quality measured no reduction")? * 100.0;
        let (reach, aim) = (Bound::AtLeast(70.0), Bound::AtLeast(90.0));
        report.add(row(format!("tokens saved by it, {name}"), "%", saved, reach, aim));
    }
    report.fact("digests", Value::Array(kinds));
    Ok(())
}
