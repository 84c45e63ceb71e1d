//! `gatehouse tools metrics`: shows the ledger of all hosts on this data directory.

use std::{
    collections::BTreeSet,
    io::{self, IsTerminal as _},
};

use gatehouse_core::{
    names,
    ports::{
        Clock as _,
        ledger::{MetricsFilter, ToolMetrics},
    },
};
use serde_json::{Value, json};

use super::{CommandResult, OutputFormat, shape, with_header, without_nulls};
use crate::{
    compose::{Composition, SystemClock},
    out,
};

const WIDTH: usize = 80;

const MAX_DAYS: u32 = 36_500;

const HEAD: [&str; 11] =
    ["TOOL", "CALLS", "OK %", "ERRS", "LOST", "P50", "P95", "IN", "OUT", "LAST", "BY DAY"];

#[derive(clap::Args)]
pub(in crate::cli) struct Arguments {
    /// Server or gate [default: all]
    source: Option<String>,
    /// The source's name for the tool [default: all]
    tool: Option<String>,
    /// Only the last N days, including today [default: all recorded days]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_DAYS as i64))]
    days: Option<u32>,
    #[command(flatten)]
    output: OutputFormat,
}

pub(super) async fn run(arguments: &Arguments, composition: &Composition) -> CommandResult {
    if composition.stores.ledger.is_none() {
        arguments.output.print(&json!({"enabled": false, "metrics": [], "total_calls": 0}), || {
            out::line(
                "Calls are not recorded: enabled = false under [ledger] in presets.toml. Set it to true to record \
                calls.",
            );
        });
        return Ok(());
    }
    let filter = MetricsFilter { source: None, tool: arguments.tool.clone(), days: arguments.days };
    let all_metrics = composition.stores.metrics(&filter).await?;
    let chosen: Vec<&ToolMetrics> = all_metrics
        .iter()
        .filter(|entry| arguments.source.as_deref().is_none_or(|name| **entry.source.name() == *name))
        .collect();
    let total: u64 = chosen.iter().map(|entry| entry.calls).sum();
    let metrics: Vec<Value> = chosen.iter().map(|entry| data(entry)).collect();
    let report = json!({"enabled": true, "metrics": metrics, "total_calls": total});
    arguments.output.print(&report, || {
        if chosen.is_empty() {
            return out::line(no_calls_message(arguments, &all_metrics));
        }
        let within = io::stdout().is_terminal().then_some(WIDTH);
        table(&chosen, SystemClock.now_ms(), within).iter().for_each(out::line);
    });
    Ok(())
}

/// Returns a table of these tools, in this order, for a display that is refreshed.
pub(in crate::cli) fn busiest(metrics: &[&ToolMetrics]) -> Vec<String> {
    let rows = metrics.iter().map(|entry| {
        let [_, calls, _, errors, lost, p50, p95, _, _, last, _] = row(entry, SystemClock.now_ms());
        let name = cut(&entry.tool, 40);
        vec![name, cut(entry.source.name(), 24), calls, errors, lost, p50, p95, last]
    });
    let header = ["TOOL", "OF", "CALLS", "ERRS", "LOST", "P50", "P95", "LAST"];
    out::columns(&with_header(header, rows))
}

fn no_calls_message(arguments: &Arguments, all_metrics: &[ToolMetrics]) -> String {
    let when = arguments.days.map(|days| format!(" in the last {days} days")).unwrap_or_default();
    let sources: BTreeSet<&str> = all_metrics.iter().map(|entry| &**entry.source.name()).collect();
    let of = match (&arguments.source, &arguments.tool) {
        (None, _) => {
            return format!("No calls were recorded{when}. Calls of all servers and gates are recorded.");
        }
        (Some(source), None) => format!("'{source}'"),
        (Some(source), Some(tool)) => format!("'{tool}' of '{source}'"),
    };
    let suggestion =
        arguments.source.as_deref().map(|source| names::did_you_mean(source, sources)).unwrap_or_default();
    format!("No calls of {of} were recorded{when}.{suggestion}")
}

/// Returns the metrics with the member names of the gate's tool.
fn data(entry: &ToolMetrics) -> Value {
    let ToolMetrics { source, tool, calls, tool_errors, transport_errors, by_day, .. } = entry;
    without_nulls(json!({
        "kind": source.kind(),
        "source": source.name(),
        "tool": tool,
        "call_count": calls,
        "tool_errors": tool_errors,
        "transport_errors": transport_errors,
        "success_rate": entry.success_rate(),
        "avg_latency_ms": entry.mean_ms,
        "p50_latency_ms": entry.p50_ms,
        "p95_latency_ms": entry.p95_ms,
        "connecting_ms": entry.connecting_ms,
        "tokens_in": entry.tokens_in,
        "tokens_out": entry.tokens_out,
        "last_called": entry.last_called,
        "last_error": entry.last_error,
        "by_day": by_day,
    }))
}

/// Returns a table grouped by source. With `within`, cuts names to fit into that many columns.
fn table(metrics: &[&ToolMetrics], now: u64, within: Option<usize>) -> Vec<String> {
    let rows: Vec<[String; 11]> = metrics.iter().map(|entry| row(entry, now)).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0).max(HEAD[column].chars().count())
    };
    let mut widths: [usize; 11] = std::array::from_fn(width);
    if let Some(columns) = within {
        let other_columns: usize = widths[1..].iter().map(|width| width + 1).sum();
        widths[0] = widths[0].min(columns.saturating_sub(other_columns).max(HEAD[0].len()));
    }
    let mut lines = vec![line(&HEAD.map(str::to_owned), &widths)];
    let mut source = None;
    for (entry, row) in metrics.iter().zip(&rows) {
        if source != Some(&entry.source) {
            source = Some(&entry.source);
            lines.push(format!("{} {}", entry.source.kind(), entry.source.name()));
        }
        lines.push(line(row, &widths));
    }
    let days = metrics.iter().map(|entry| entry.by_day.len()).max().unwrap_or(0);
    let cell = match shape::days_in_a_cell(days) {
        1 => "a day".to_owned(),
        days_in_cell => format!("{days_in_cell} days"),
    };
    lines.push(String::new());
    lines.push("ERRS: the tool answered with an error. LOST: the call did not reach the tool.".into());
    lines
        .push(format!("IN, OUT: tokens. BY DAY: calls of the last {days} days, oldest first, {cell} a bar."));
    lines
}

fn row(entry: &ToolMetrics, now: u64) -> [String; 11] {
    let last = entry.last_called.map_or("-".into(), |last| shape::ago(now.saturating_sub(last)));
    [
        format!("  {}", entry.tool),
        shape::count(entry.calls),
        shape::percent(entry.success_rate()),
        shape::count(entry.tool_errors),
        shape::count(entry.transport_errors),
        shape::time(entry.p50_ms),
        shape::time(entry.p95_ms),
        shape::count(entry.tokens_in),
        shape::count(entry.tokens_out),
        last,
        shape::sparkline(&entry.by_day),
    ]
}

fn line(row: &[String; 11], widths: &[usize; 11]) -> String {
    let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| match column {
        0 => format!("{:<width$}", cut(cell, *width)),
        10 => cell.clone(),
        _ => format!("{cell:>width$}"),
    });
    cells.collect::<Vec<_>>().join(" ").trim_end().to_owned()
}

fn cut(name: &str, width: usize) -> String {
    if name.chars().count() <= width {
        return name.to_owned();
    }
    let prefix: String = name.chars().take(width.saturating_sub(1)).collect();
    format!("{prefix}…")
}

#[cfg(test)]
mod tests {
    use gatehouse_core::SourceId;

    use super::*;

    fn much(tool: &str) -> ToolMetrics {
        ToolMetrics {
            source: SourceId::Server("a-server-with-a-name-of-32-letter".into()),
            tool: tool.into(),
            calls: 987_654,
            tool_errors: 123_456,
            transport_errors: 12_345,
            mean_ms: 1.0,
            p50_ms: Some(999.0),
            p95_ms: Some(99_900.0),
            connecting_ms: 0,
            tokens_in: 987_654_321,
            tokens_out: 98_765_432_100,
            last_called: Some(0),
            last_error: None,
            last_error_kind: None,
            by_day: vec![7; 90],
        }
    }

    #[test]
    fn the_table_fits_a_terminal() {
        let (long, short) = (much(&"name_of_a_tool_".repeat(4)), much("short"));
        let metrics = [&long, &short];
        let lines = table(&metrics, 86_400_000 * 99, Some(WIDTH));
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:#?}");
        assert!(lines[2].starts_with("  name_of_a_") && lines[2].contains('…'), "{lines:#?}");
        assert!(lines[3].starts_with("  short ") && lines[3].ends_with("█"), "{lines:#?}");
        assert!(table(&metrics, 0, None)[2].contains(&*long.tool), "elsewhere names are whole");
    }
}
