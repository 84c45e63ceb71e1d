//! `cargo xtask bench --quality`: recall of the search, with 95 % intervals. A separate program (`tests/quality`)
//! measures it, so that this one compiles quickly.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::report::{BenchReport, aligned};
use crate::process;
use crate::tools;
use crate::workspace::Workspace;

/// Default directory of the question sets outside the repository, relative to its root.
const DATA: &str = "../shared/data";

/// Builds `bench-quality` and returns a command that runs it.
pub(super) fn tool(workspace: &Workspace) -> Result<Command> {
    let build = ["build", "--release", "-p", "bench-quality"];
    process::run(process::cargo().current_dir(&workspace.root).args(build))?;
    let mut command = process::command(workspace.binary("release", "bench-quality"));
    command.current_dir(&workspace.root);
    Ok(command)
}

pub(super) fn json_output(command: &mut Command) -> Result<Value> {
    serde_json::from_str(&process::output(command)?).context("bench-quality output is not JSON")
}

pub(crate) fn run(workspace: &Workspace, data: Option<PathBuf>, report: &mut BenchReport) -> Result<()> {
    let data = data.unwrap_or_else(|| workspace.root.join(DATA));
    let mut command = tool(workspace)?;
    command
        .args(["--queries", "tests/fixtures/queries", "--sample-wiki", "docs/sample-wiki", "--data"])
        .arg(&data);
    for (name, file) in documents(workspace, &data) {
        command.arg("--document").arg(format!("{name}={}", file.display()));
    }
    let mut measured = json_output(&mut command)?;
    for set in measured["skipped"].as_array().into_iter().flatten() {
        eprintln!(
            "SKIPPED: {} (searched {}; use --data for another directory)",
            set.as_str().unwrap_or_default(),
            data.display()
        );
    }
    match results(workspace) {
        Ok(results) => {
            for untrue in results["untrue"].as_array().into_iter().flatten() {
                eprintln!("NOT IN THE RESULT: {}", untrue.as_str().unwrap_or_default());
            }
            measured["large_results"] = results;
        }
        Err(error) => eprintln!("SKIPPED: large results: {error:#}"),
    }
    report.quality(measured);
    Ok(())
}

/// Measures how much the summaries of large results retain. A Python script makes the results from files on this
/// machine.
fn results(workspace: &Workspace) -> Result<Value> {
    let folder = workspace.binary("release", "bench-quality").with_file_name("large-results");
    let mut make = process::command("python3");
    make.current_dir(&workspace.root).env("PYTHONDONTWRITEBYTECODE", "1");
    process::run(make.arg("tests/quality/corpus").arg(&folder))?;
    let mut command = process::command(workspace.binary("release", "bench-quality"));
    json_output(command.current_dir(&workspace.root).arg("--results").arg(&folder))
}

/// Crate and version whose source the questions are about.
const SOURCE: &str = "regex-automata-0.4.18";

fn documents(workspace: &Workspace, data: &Path) -> Vec<(&'static str, PathBuf)> {
    let bundle = |bundle: &tools::Bundle, file: &str| Ok(bundle.ensure()?.join(file));
    let candidates = [
        ("manual", Ok(data.join("documents/pestpp_manual.md"))),
        ("reference", bundle(&tools::REFERENCE, "docs/index.rst")),
        ("meeting", bundle(&tools::PROCEEDINGS, "tests/testdata/lcet10.txt")),
        ("source", source(workspace)),
    ];
    let available = |(name, file): (&'static str, Result<PathBuf>)| match file {
        Ok(file) => Some((name, file)),
        Err(error) => {
            eprintln!("the document '{name}' is unavailable: {error:#}");
            None
        }
    };
    candidates.into_iter().filter_map(available).collect()
}

fn source(workspace: &Workspace) -> Result<PathBuf> {
    let mut command = process::cargo();
    command.current_dir(&workspace.root).args(["metadata", "--format-version", "1", "--locked"]);
    let metadata: Value = serde_json::from_str(&process::output(&mut command)?)?;
    let manifests = metadata["packages"].as_array().into_iter().flatten();
    let folder = manifests
        .filter_map(|package| Path::new(package["manifest_path"].as_str()?).parent())
        .find(|folder| folder.ends_with(SOURCE));
    Ok(folder.with_context(|| format!("{SOURCE} is not a dependency"))?.join("src/meta/regex.rs"))
}

pub(crate) fn table(measured: &Value) -> String {
    let head = [
        "set",
        "found by",
        "documents",
        "queries",
        "recall@1",
        "recall@5",
        "95 %",
        "recall@10",
        "nDCG@10",
        "CPU",
    ];
    let results_table = lines(&measured["results"], head, |row| {
        let share = |name: &str| share(row, name, 3);
        let bound = |at: usize| row["interval@5"][at].as_f64().unwrap_or(0.0);
        [
            text(row, "set"),
            text(row, "way"),
            row["documents"].to_string(),
            row["queries"].to_string(),
            share("recall@1"),
            share("recall@5"),
            format!("{:.3}–{:.3}", bound(0), bound(1)),
            share("recall@10"),
            share("ndcg@10"),
            row["cpu_us"].as_u64().map_or_else(String::new, |cpu| format!("{cpu} µs")),
        ]
    });
    results_table
        + &kept(measured)
        + &fits(measured)
        + &shortened(measured)
        + &shapes(measured)
        + &policies(measured)
}

/// Returns the lines of a table; nothing if it has no rows.
fn lines<const N: usize>(rows: &Value, head: [&str; N], cells: impl Fn(&Value) -> [String; N]) -> String {
    let rows: Vec<_> = rows.as_array().into_iter().flatten().map(cells).collect();
    if rows.is_empty() {
        return String::new();
    }
    aligned(&[vec![head.map(str::to_owned)], rows].concat(), 0..0)
}

fn text(row: &Value, name: &str) -> String {
    row[name].as_str().unwrap_or_default().to_owned()
}

fn share(row: &Value, name: &str, digits: usize) -> String {
    format!("{:.digits$}", row[name].as_f64().unwrap_or(0.0))
}

fn held_out(row: &Value) -> String {
    if row["held_out"] == true { "yes" } else { "no" }.to_owned()
}

fn kept(measured: &Value) -> String {
    let head = ["document", "shortened by", "tokens", "questions", "gold kept", "tuned on", "held out"];
    lines(&measured["documents"], head, |row| {
        [
            text(row, "document"),
            text(row, "way"),
            row["budget"].to_string(),
            row["questions"].to_string(),
            share(row, "kept", 3),
            share(row, "kept_tuned_on", 3),
            share(row, "kept_held_out", 3),
        ]
    })
}

/// Rows for the facts that summaries of large results retain: held-out sets, then tuned ones.
fn shortened(measured: &Value) -> String {
    let head = [
        "large results",
        "held out",
        "results",
        "questions",
        "saved",
        "net",
        "facts",
        "cut",
        "answered",
        "in two calls",
        "tokens per answer",
    ];
    lines(&measured["large_results"]["kinds"], head, |row| {
        let share = |name: &str| share(row, name, 2);
        [
            text(row, "kind"),
            held_out(row),
            row["results"].to_string(),
            row["questions"].to_string(),
            share("saved_median"),
            share("net_median"),
            share("facts"),
            share("facts_of_cut"),
            share("answered"),
            share("reached"),
            format!("{} of {}", row["per_answer"], row["per_answer_raw"]),
        ]
    })
}

/// Rows for the same results in the shapes that servers give them.
fn shapes(measured: &Value) -> String {
    let head =
        ["shape", "results", "questions", "saved", "net", "answered", "in two calls", "tokens per answer"];
    lines(&measured["large_results"]["shapes"], head, |row| {
        let share = |name: &str| share(row, name, 2);
        [
            text(row, "kind"),
            row["results"].to_string(),
            row["questions"].to_string(),
            share("saved_median"),
            share("net_median"),
            share("answered"),
            share("reached"),
            row["per_answer"].to_string(),
        ]
    })
}

/// Rows for other policies on results of 5 KB or more.
fn policies(measured: &Value) -> String {
    let head =
        ["policy", "held out", "saved 70 %", "saved", "net", "net in all", "facts", "tokens per answer"];
    lines(&measured["large_results"]["policies"], head, |row| {
        let share = |name: &str| share(row, name, 2);
        [
            text(row, "kind"),
            held_out(row),
            format!("{} of {}", row["large_saved_70"], row["large"]),
            share("saved_median"),
            share("net_median"),
            share("net_total"),
            share("facts"),
            row["per_answer"].to_string(),
        ]
    })
}

/// Rows for the verdicts on a document's or catalog's own questions and on unrelated ones.
fn fits(measured: &Value) -> String {
    let head = ["document", "unrelated: nothing fits", "own: nothing fits", "unrelated: fits", "own: fits"];
    lines(&measured["fits"], head, |row| {
        let of = |count: &str, all: &str| match &row[count] {
            Value::Null => String::new(),
            count => format!("{count} of {}", row[all]),
        };
        [
            text(row, "document"),
            of("elsewhere_nothing", "elsewhere"),
            of("own_nothing", "own"),
            of("elsewhere_fits", "elsewhere"),
            of("own_fits", "own"),
        ]
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn every_row_is_a_line() {
        let row = json!({"set": "s", "way": "both", "documents": 9, "queries": 3, "recall@1": 0.5, "recall@5": 0.75,
            "interval@5": [0.7, 0.8], "recall@10": 1.0, "ndcg@10": 0.6, "cpu_us": 70});
        let document = json!({"document": "d", "way": "head", "budget": 500, "questions": 2, "kept": 0.25});
        let fit =
            json!({"document": "d", "elsewhere": 20, "elsewhere_nothing": 19, "own": 4, "own_nothing": 0});
        let table = super::table(&json!({"results": [row], "documents": [document], "fits": [fit]}));
        assert!(table.contains("0.250") && table.contains("19 of 20"), "{table}");
        assert!(
            table.lines().count() == 9
                && table.contains("0.700–0.800")
                && table.contains("0.750")
                && table.contains("70 µs"),
            "{table}"
        );
    }
}
