//! Calls as text and as CSV.

use gatehouse_core::{
    ports::ledger::{CallDetails, StoredCall},
    utc_time::rfc3339,
};

use crate::out;

/// Prints calls in batches, with one header.
pub(super) struct CallPrinter {
    pub(super) json: bool,
    pub(super) csv: bool,
    pub(super) headed: bool,
}

impl CallPrinter {
    pub(super) fn print(&mut self, calls: &[StoredCall]) {
        if self.json {
            calls.iter().for_each(out::json_line);
        } else if self.csv {
            if !self.headed {
                out::line(COLUMNS.join(","));
            }
            calls.iter().for_each(|call| out::line(csv_row(call).map(|cell| quote(&cell)).join(",")));
        } else {
            for call in calls {
                out::line(row(call).join("  "));
            }
        }
        self.headed = true;
    }
}

pub(super) const HEADER: [&str; 8] = ["TIME", "PRINCIPAL", "OF", "TOOL", "OUTCOME", "MS", "TOKENS", "ID"];

pub(super) fn row(call: &StoredCall) -> Vec<String> {
    let CallDetails { id, principal, tokens_before, .. } = &call.details;
    let tokens = match *tokens_before > call.tokens_out {
        true => format!("{} of {tokens_before}", call.tokens_out),
        false => call.tokens_out.to_string(),
    };
    vec![
        rfc3339(call.at),
        if principal.is_empty() { "-".to_owned() } else { principal.clone() },
        call.source.name().to_string(),
        call.tool.clone(),
        call.outcome.clone(),
        ms(call.details.total_us),
        tokens,
        id.clone(),
    ]
}

const COLUMNS: [&str; 21] = [
    "time",
    "id",
    "principal",
    "client",
    "preset",
    "kind",
    "source",
    "tool",
    "outcome",
    "refused",
    "error",
    "rule",
    "approval",
    "total_ms",
    "tool_ms",
    "connecting_ms",
    "waited_ms",
    "tokens_in",
    "tokens_before",
    "tokens_out",
    "trace",
];

/// Quotes a cell of CSV (RFC 4180).
fn quote(cell: &str) -> String {
    if cell.contains(['"', ',']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

fn csv_row(call: &StoredCall) -> [String; 21] {
    let CallDetails { id, principal, client, refused, rule, approval, trace, .. } = &call.details;
    let text = |text: &str| {
        // A spreadsheet would run it as a formula.
        if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() }
    };
    let optional = |value: &Option<String>| text(value.as_deref().unwrap_or_default());
    [
        rfc3339(call.at),
        id.clone(),
        text(principal),
        text(client),
        text(&call.preset),
        call.source.kind().to_owned(),
        text(call.source.name()),
        text(&call.tool),
        call.outcome.clone(),
        refused.to_string(),
        optional(&call.error),
        optional(rule),
        optional(approval),
        ms(call.details.total_us),
        ms(call.took_us),
        ms(call.connecting_us),
        ms(call.details.waited_us),
        call.tokens_in.to_string(),
        call.details.tokens_before.to_string(),
        call.tokens_out.to_string(),
        optional(trace),
    ]
}

/// Returns what is known about a call, and where its time went.
pub(crate) fn call_facts(call: &StoredCall) -> Vec<(&'static str, String)> {
    let CallDetails {
        id,
        principal,
        client,
        refused,
        rule,
        approval,
        total_us,
        waited_us,
        tokens_before,
        trace,
    } = &call.details;
    let mut lines = vec![
        ("call", id.clone()),
        ("ended", rfc3339(call.at)),
        ("tool", format!("{} of {}, preset {}", call.tool, call.source, call.preset)),
        ("by", format!("{principal} {client}").trim().to_owned()),
        ("outcome", call.outcome.clone()),
    ];
    let optional = [
        ("error", call.error.clone()),
        ("rule", rule.clone()),
        ("approval", approval.clone()),
        ("trace", trace.clone()),
    ];
    lines.extend(optional.into_iter().filter_map(|(name, value)| Some((name, value?))));
    let own = total_us.saturating_sub(call.took_us + call.connecting_us);
    let tool = if *refused { "did not run".to_owned() } else { format!("{} ms", ms(call.took_us)) };
    lines.extend([
        ("gatehouse", format!("{} ms", ms(own))),
        ("connecting", format!("{} ms", ms(call.connecting_us))),
        ("in the tool", tool),
        ("for the user", format!("{} ms", ms(*waited_us))),
        (
            "tokens",
            format!("{} in, {} out, {tokens_before} before shortening", call.tokens_in, call.tokens_out),
        ),
    ]);
    lines.retain(|(_, value)| !value.is_empty());
    lines
}

fn ms(us: u64) -> String {
    format!("{:.1}", us as f64 / 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spreadsheet_runs_no_text_of_a_call() {
        let details = CallDetails { client: "=HYPERLINK(1)".into(), ..CallDetails::default() };
        let call = StoredCall {
            number: 1,
            at: 0,
            source: gatehouse_core::SourceId::Server("s".into()),
            tool: "@x".into(),
            preset: "p".into(),
            outcome: "error".into(),
            error: Some("-1, \"quoted\"".into()),
            took_us: 1_500,
            connecting_us: 0,
            tokens_in: 1,
            tokens_out: 2,
            details,
        };
        let row = csv_row(&call);
        assert_eq!(quote(&row[10]), "\"'-1, \"\"quoted\"\"\"");
        assert_eq!(
            (&*row[3], &*row[7], &*row[10], &*row[14]),
            ("'=HYPERLINK(1)", "'@x", "'-1, \"quoted\"", "1.5")
        );
    }
}
