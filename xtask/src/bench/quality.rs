//! `cargo xtask bench --quality`: what the search finds, as recall with 95 % intervals. Measured by a program of its
//! own (`tests/quality`), so that this one stays quick to compile.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

use super::report::Report;
use crate::process;
use crate::workspace::Workspace;

/// Where sets of questions lie that are not part of the repository, from its root.
const DATA: &str = "../shared/data";

/// Measures, and adds the result to the report.
pub(crate) fn run(workspace: &Workspace, data: Option<PathBuf>, report: &mut Report) -> Result<()> {
    let build = ["build", "--release", "-p", "bench-quality"];
    process::run(process::cargo().current_dir(&workspace.root).args(build))?;
    let data = data.unwrap_or_else(|| workspace.root.join(DATA));
    let mut command = process::command(workspace.binary("release", "bench-quality"));
    command.current_dir(&workspace.root);
    command
        .args(["--queries", "tests/fixtures/queries", "--sample-wiki", "docs/sample-wiki", "--data"])
        .arg(&data);
    let measured: Value =
        serde_json::from_str(&process::output(&mut command)?).context("its answer is not JSON")?;
    for set in measured["skipped"].as_array().into_iter().flatten() {
        eprintln!(
            "SKIPPED: {} (looked in {}; --data names another folder)",
            set.as_str().unwrap_or_default(),
            data.display()
        );
    }
    report.quality(measured);
    Ok(())
}

/// The result as a table.
pub(crate) fn table(measured: &Value) -> String {
    let head =
        ["set", "found by", "documents", "queries", "recall@1", "recall@5", "95 %", "recall@10", "nDCG@10"];
    let mut lines = vec![head.map(str::to_owned)];
    for row in measured["results"].as_array().into_iter().flatten() {
        let share = |name: &str| format!("{:.3}", row[name].as_f64().unwrap_or(0.0));
        let bound = |at: usize| row["interval@5"][at].as_f64().unwrap_or(0.0);
        let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        lines.push([
            text("set"),
            text("way"),
            row["documents"].to_string(),
            row["queries"].to_string(),
            share("recall@1"),
            share("recall@5"),
            format!("{:.3}–{:.3}", bound(0), bound(1)),
            share("recall@10"),
            share("ndcg@10"),
        ]);
    }
    let widths: [usize; 9] = std::array::from_fn(|column| {
        lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0)
    });
    let mut table = String::from("\n");
    for line in &lines {
        for (cell, width) in line.iter().zip(widths) {
            table += &format!("{cell}{}  ", " ".repeat(width - cell.chars().count()));
        }
        table.truncate(table.trim_end().len());
        table.push('\n');
    }
    table
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn every_row_is_a_line() {
        let row = json!({"set": "s", "way": "both", "documents": 9, "queries": 3, "recall@1": 0.5, "recall@5": 0.75,
            "interval@5": [0.7, 0.8], "recall@10": 1.0, "ndcg@10": 0.6});
        let table = super::table(&json!({"results": [row]}));
        assert!(
            table.lines().count() == 3 && table.contains("0.700–0.800") && table.contains("0.750"),
            "{table}"
        );
    }
}
