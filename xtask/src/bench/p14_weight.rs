//! P14: size of the binary and its sections, and with `--from-nothing` the time from a fresh clone to the first answer.

use std::fs;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use super::report::{BenchReport, Bound, ReportRow};
use super::setup::Bench;
use crate::process;

const MIN_SECTION_BYTES: u64 = 100_000;

pub(crate) fn run(bench: &Bench, report: &mut BenchReport) -> Result<()> {
    let bytes = fs::metadata(&bench.gatehouse).context("the gateway is not built")?.len();
    report.add(row("the binary", "MB", bytes as f64 / 1e6, (60.0, 40.0)));
    report.fact("binary_sections", sections(bench));
    if bench.from_nothing {
        report.add(row("from nothing to an answer", "min", from_nothing(bench)? / 60.0, (12.0, 8.0)));
    }
    Ok(())
}

fn row(what: &str, unit: &'static str, ours: f64, (reach, aim): (f64, f64)) -> ReportRow {
    ReportRow::value("P14", what, (ours, unit), 1, (Bound::AtMost(reach), Bound::AtMost(aim)))
}

/// Returns the bytes of each large section; empty if `size` is missing.
fn sections(bench: &Bench) -> Value {
    let listed = process::output(process::command("size").args(["-A", "-d"]).arg(&bench.gatehouse));
    let listed = listed.unwrap_or_default();
    let section = |line: &str| {
        let mut words = line.split_whitespace();
        let (name, bytes) = (words.next()?, words.next()?.parse::<u64>().ok()?);
        (name.starts_with('.') && bytes >= MIN_SECTION_BYTES).then(|| (name.to_owned(), json!(bytes)))
    };
    Value::Object(listed.lines().filter_map(section).collect::<Map<_, _>>())
}

/// Returns the seconds that `cargo xtask run` takes in an empty target directory until the gateway answers a command.
fn from_nothing(bench: &Bench) -> Result<f64> {
    let folder = bench.folder.join("from-nothing");
    let begin = Instant::now();
    let mut command = process::cargo();
    command.current_dir(&bench.root).args(["xtask", "run", "--", "gates", "list"]);
    command.env("CARGO_TARGET_DIR", &folder).env("GATEHOUSE_STATE", folder.join("state"));
    process::run(command.env("XDG_CACHE_HOME", folder.join("cache")))?;
    let seconds = begin.elapsed().as_secs_f64();
    fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    Ok(seconds)
}
