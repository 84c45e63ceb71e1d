//! P9, P11, P12: tool search, digests and extracts, measured by `bench-quality` at the ports that gates use, without a
//! gateway.

use anyhow::{Context, Result};

use super::quality;
use super::report::{BenchReport, Bound, ReportRow};
use super::setup::Bench;
use crate::workspace::Workspace;

/// Required and target time per size, in milliseconds.
const TOOLS_BOUNDS: [(f64, f64); 3] = [(1.0, 0.3), (4.0, 1.5), (8.0, 3.0)];

/// P9: time to search servers' tools, with and without filters, compared with an SQLite full-text index over the same
/// tools.
pub(crate) fn tools(_: &Bench, report: &mut BenchReport) -> Result<()> {
    let measured = quality::json_output(quality::tool(&Workspace::load()?)?.arg("--tool-times"))?;
    let sizes = measured["sizes"].as_array().context("bench-quality measured no sizes")?;
    for (size, (reach, aim)) in sizes.iter().zip(TOOLS_BOUNDS) {
        let ways = size["p50_ms"].as_object().context("bench-quality measured no time")?;
        for (way, time) in ways {
            let measurement = format!("search of {} tools, {way}, p50", size["tools"]);
            let (ms, n) = (time.as_f64().unwrap_or_default(), size["n"].as_u64().unwrap_or_default());
            let bounds = (Bound::AtMost(reach), Bound::AtMost(aim));
            report.add(ReportRow {
                floor: size["fts5_p50_ms"].as_f64().unwrap_or_default(),
                ratio: if way == "all" { size["ratio"].as_f64().unwrap_or_default() } else { 0.0 },
                ..ReportRow::value("P9", measurement, (ms, "ms"), n as usize, bounds)
            });
        }
    }
    report.fact("hostile_tools", measured);
    Ok(())
}

/// P11: time and token savings of digests of 1 MB without a language model.
pub(crate) fn digests(_: &Bench, report: &mut BenchReport) -> Result<()> {
    let kinds = quality::json_output(quality::tool(&Workspace::load()?)?.args(["--digests", "docs"]))?;
    for kind in kinds.as_array().context("bench-quality measured no kinds")? {
        let name = kind["name"].as_str().unwrap_or_default();
        let n = kind["n"].as_u64().unwrap_or_default() as usize;
        let ms = kind["p50_ms"].as_f64().context("bench-quality measured no time")?;
        let bounds = (Bound::AtMost(60.0), Bound::AtMost(20.0));
        report.add(ReportRow::value("P11", format!("digest of 1 MB, {name}"), (ms, "ms"), n, bounds));
        let saved = kind["reduction"].as_f64().context("bench-quality measured no reduction")? * 100.0;
        let bounds = (Bound::AtLeast(70.0), Bound::AtLeast(90.0));
        report.add(ReportRow::value("P11", format!("tokens saved by it, {name}"), (saved, "%"), n, bounds));
    }
    report.fact("digests", kinds);
    Ok(())
}

/// P12: time to shorten a document of 35,000 tokens to 8,000 without a language model, and other sizes and adversarial
/// texts.
pub(crate) fn extracts(_: &Bench, report: &mut BenchReport) -> Result<()> {
    let times = quality::json_output(quality::tool(&Workspace::load()?)?.args(["--times", "docs"]))?;
    let ms = times["p50_ms"].as_f64().context("bench-quality measured no time")?;
    let n = times["n"].as_u64().unwrap_or_default() as usize;
    let bounds = (Bound::AtMost(500.0), Bound::AtMost(100.0));
    report.add(ReportRow::value("P12", "35,000 tokens to 8,000", (ms, "ms"), n, bounds));
    report.fact("extract_growth", times["growth"].clone());
    report.fact("extract_hostile", times["hostile"].clone());
    Ok(())
}
