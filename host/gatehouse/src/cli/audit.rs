//! `gatehouse audit`: searches the audit and verifies its chain.

use clap::Subcommand;
use gatehouse_core::{ports::Clock as _, utc_time::rfc3339};
use gatehouse_stores::{AuditFilter, AuditRecord, BrokenEntry};
use serde_json::json;

use super::{CommandError, CommandResult, GlobalArgs, OutputFormat, PlainError, with_header};
use crate::{
    compose::{Composition, SystemClock},
    config::Env,
    out,
};

#[derive(Subcommand)]
pub(super) enum Command {
    /// Show entries, newest last
    Search {
        /// Only this principal, or the first eight digits or more of a pseudonym
        #[arg(long, value_name = "NAME")]
        principal: Option<String>,
        /// Only tools with these names; * matches anything
        #[arg(long, value_name = "GLOB")]
        tool: Option<String>,
        /// Only the last time, such as 30min, 12h or 7d
        #[arg(long, value_name = "TIME", value_parser = time_span)]
        since: Option<u64>,
        /// Only entries with this outcome: ok, error, cancelled, denied, exhausted and so on
        #[arg(long, value_name = "WORD")]
        outcome: Option<String>,
        /// Maximum number of entries
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: u32,
        #[command(flatten)]
        output: OutputFormat,
    },
    /// Check that no entry was changed, removed or reordered
    Verify {
        /// A digest that an earlier run printed; fails if that entry is not in the chain
        #[arg(long, value_name = "DIGEST")]
        contains: Option<String>,
        #[command(flatten)]
        output: OutputFormat,
    },
}

pub(super) async fn run(command: Command, global: &GlobalArgs, env: &Env) -> CommandResult {
    let composition = global.compose(env)?;
    if !composition.stores.audit.exists().await? {
        let hint = match composition.stores.audits {
            true => "The first entry creates it.",
            false => "Set enabled = true under [audit] in presets.toml to record calls.",
        };
        return Err(CommandError::failed(format!("there is no audit yet. {hint}")));
    }
    match command {
        Command::Search { principal, tool, since, outcome, limit, output } => {
            let since = since.map_or(0, |span| SystemClock.now_ms().saturating_sub(span));
            let since = i64::try_from(since).unwrap_or(i64::MAX);
            let filter = AuditFilter { principal, tool, since, outcome, limit: limit as usize };
            let records = composition.stores.audit.search(&filter).await?;
            output.print(&records, || match records.as_slice() {
                [] => out::line("No entry matches."),
                records => {
                    let header = ["#", "TIME", "PRINCIPAL", "WHAT", "OUTCOME", "DETAILS"];
                    out::table(&with_header(header, records.iter().map(row)));
                }
            });
            Ok(())
        }
        Command::Verify { contains, output } => verify(&composition, contains.as_deref(), output.json).await,
    }
}

fn row(record: &AuditRecord) -> Vec<String> {
    let principal = record.principal.clone().unwrap_or_else(|| format!("({}…)", &record.pseudonym[..8]));
    let subject = match (&record.tool, &record.preset) {
        (Some(tool), Some(preset)) => format!("{tool} ({preset})"),
        _ => record.kind.clone(),
    };
    let named = [
        ("rule: ", record.rule.as_deref().unwrap_or_default()),
        ("approval ", record.approval.as_deref().unwrap_or_default()),
        ("with ", &record.credential),
        ("from ", &record.address),
    ];
    let named = named.into_iter().filter(|(_, value)| !value.is_empty());
    let named = named.map(|(name, value)| format!("{name}{value}"));
    let details = named.chain(record.details.clone()).collect::<Vec<_>>().join(", ");
    vec![
        record.seq.to_string(),
        rfc3339(record.at.unsigned_abs()),
        principal,
        subject,
        record.outcome.clone(),
        details,
    ]
}

async fn verify(composition: &Composition, contains: Option<&str>, json: bool) -> CommandResult {
    let audit = &composition.stores.audit;
    let report = audit.verify().await?;
    let lacks = match contains {
        Some(digest) if report.broken.is_none() => !audit.contains(digest).await?,
        _ => false,
    };
    if json {
        out::json(&json!({"report": report, "contains": contains.map(|_| !lacks)}));
    }
    if let Some(BrokenEntry { seq, reason }) = &report.broken {
        bail!(
            "the audit is broken at entry {seq}: {reason}. Restore a backup, and find out who wrote to it."
        );
    }
    if lacks {
        bail!("the chain is intact, but has no entry with that digest");
    }
    if !json {
        let entries = match report.entries {
            1 => "1 entry is".to_owned(),
            entries => format!("{entries} entries are"),
        };
        out::line(format!("{entries} intact. Last: entry {}, digest {}", report.last, report.digest));
    }
    Ok(())
}

/// Parses `30min`, `12h` or `7d` to milliseconds.
pub(super) fn time_span(text: &str) -> Result<u64, PlainError> {
    let units = [("min", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
    let read = units
        .into_iter()
        .find_map(|(unit, ms)| text.trim().strip_suffix(unit)?.trim().parse::<u64>().ok()?.checked_mul(ms));
    read.ok_or_else(|| format!("invalid time '{text}': expected for example 30min, 12h or 7d").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_minutes_hours_or_days() {
        let read = |text| time_span(text).ok();
        assert_eq!(
            (read("30min"), read("12 h"), read("7d")),
            (Some(1_800_000), Some(43_200_000), Some(604_800_000))
        );
        for wrong in ["", "d", "7", "7w", "-1d", "99999999999999999d"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
