//! P9: time to search servers' tools, with and without filters, compared with an SQLite full-text index over the same
//! tools. Uses the port that gates use, without a gateway.

use anyhow::{Context, Result};
use serde_json::Value;

use super::report::{BenchReport, Bound, BoundSubject, ReportRow};
use super::setup::Bench;
use crate::process;
use crate::workspace::Workspace;

/// Required and target time per size, in milliseconds.
const BOUNDS: [(f64, f64); 3] = [(1.0, 0.3), (4.0, 1.5), (8.0, 3.0)];

pub(crate) fn run(bench: &Bench, report: &mut BenchReport) -> Result<()> {
    let workspace = Workspace::load()?;
    let build = ["build", "--release", "-p", "bench-quality"];
    process::run(process::cargo().current_dir(&bench.root).args(build))?;
    let mut command = process::command(workspace.binary("release", "bench-quality"));
    command.current_dir(&bench.root).arg("--tool-times");
    let measured: Value =
        serde_json::from_str(&process::output(&mut command)?).context("bench-quality output is not JSON")?;
    let sizes = measured["sizes"].as_array().context("bench-quality measured no sizes")?;
    for (size, (reach, aim)) in sizes.iter().zip(BOUNDS) {
        let ways = size["p50_ms"].as_object().context("bench-quality measured no time")?;
        for (way, time) in ways {
            report.add(ReportRow {
                id: "P9",
                what: format!("search of {} tools, {way}, p50", size["tools"]),
                unit: "ms",
                ours: time.as_f64().unwrap_or_default(),
                floor: size["fts5_p50_ms"].as_f64().unwrap_or_default(),
                ratio: if way == "all" { size["ratio"].as_f64().unwrap_or_default() } else { 0.0 },
                n: size["n"].as_u64().unwrap_or_default() as usize,
                judged: BoundSubject::Value,
                reach: Bound::AtMost(reach),
                aim: Bound::AtMost(aim),
            });
        }
    }
    report.fact("hostile_tools", measured);
    Ok(())
}
