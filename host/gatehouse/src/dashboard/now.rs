//! The first page: is everything well, what is not, and what waits for a decision.

use gatehouse_core::ports::{
    Clock as _, ToolIndex as _,
    ledger::{ActivityFilter, MetricsFilter, ToolMetrics},
};

use super::{
    charts::{Week, ago},
    servers::{ServerRow, server_rows},
    snapshot::Snapshot,
    tools::{METRICS_HEADER, failed, metrics_row},
    view::{Cell, Content, Form, Page, Section},
};
use crate::{compose::SystemClock, control::RunningHost, plain_error::PlainError};

/// Minutes of the figure "calls a minute".
const RECENT_MINUTES: u64 = 5;

/// Tools in a list of slow or failing ones.
const MAX_TOOLS: usize = 8;

pub(super) async fn page(
    snapshot: &Snapshot,
    hosts: &[RunningHost],
    week: &Week,
) -> Result<Page, PlainError> {
    let (stores, now) = (&snapshot.composition.stores, SystemClock.now_ms());
    let span = RECENT_MINUTES * 60_000;
    let recent = ActivityFilter { source: None, tool: None, since: now - span, slot_ms: span };
    let recent: u64 = stores.recorded.activity(&recent).await?.iter().map(|slot| slot.calls).sum();
    let today = stores.metrics(&MetricsFilter { days: Some(1), ..MetricsFilter::default() }).await?;
    let changes = stores.tools.pending_changes().await?.into_iter().filter(|held| held.held_back).count();
    let servers = server_rows(snapshot, hosts);
    let waiting: usize = hosts.iter().map(|host| host.approvals.len()).sum();
    let calls: u64 = today.iter().map(|tool| tool.calls).sum();
    let failures: u64 = today.iter().map(failed).sum();
    let count = |number: usize, href: &str, tone| {
        Cell { href: Some(href.to_owned()), ..Cell::number(number) }.tone(if number > 0 { tone } else { "" })
    };
    let facts = vec![
        ("Hosts", count(hosts.len(), "#hosts", "")),
        ("Calls a minute", Cell::number(format!("{:.1}", recent as f64 / RECENT_MINUTES as f64))),
        ("Calls today", Cell { href: Some("/calls".into()), ..Cell::number(calls) }),
        ("Failed today", count(failures as usize, "/calls?outcome=failed", "bad")),
        ("Tokens saved in seven days", Cell::number(week.total(|hour| hour.saved))),
        ("Waiting for approval", count(waiting, "#approvals", "warn")),
        ("Changed tools to review", count(changes, "/servers#changes", "warn")),
    ];
    let mut sections = vec![Section::new("", Content::Facts(facts))];
    sections.extend(approvals(hosts));
    sections.push(server_section(&servers));
    let mut failing: Vec<&ToolMetrics> = today.iter().filter(|tool| failed(tool) > 0).collect();
    failing.sort_by_key(|tool| std::cmp::Reverse(failed(tool)));
    let mut slow: Vec<&ToolMetrics> = today.iter().filter(|tool| tool.p95_ms.is_some()).collect();
    slow.sort_by(|a, b| b.p95_ms.unwrap_or_default().total_cmp(&a.p95_ms.unwrap_or_default()));
    for (heading, tools) in [("Failing tools today", failing), ("Slowest tools today", slow)] {
        let rows = tools.iter().take(MAX_TOOLS).map(|tool| metrics_row(tool, now)).collect();
        sections.push(Section::new(heading, Content::table(heading, &METRICS_HEADER, rows, "None.")));
    }
    sections.extend(week.sections());
    sections.push(host_section(hosts, now));
    Ok(Page::new("Now", "/", sections))
}

/// Returns the calls that wait for an approval, with the buttons that answer them.
fn approvals(hosts: &[RunningHost]) -> Option<Section> {
    let rows: Vec<Vec<Cell>> = hosts
        .iter()
        .flat_map(|host| host.approvals.iter().map(move |request| (host.facts.pid.to_string(), request)))
        .map(|(pid, request)| {
            let hidden = [("host", pid.as_str()), ("id", &request.id)];
            let buttons = [("allow", "1", "Allow"), ("allow", "0", "Refuse")];
            let client = if request.is_connected { "" } else { " (has given up; counts if it calls again)" };
            vec![
                Cell::long(&request.question),
                Cell::from(format!("{} {}{client}", request.principal, request.client)),
                Cell::number(format!("{} s", request.waiting_seconds)),
                Cell::form(Form::post("/approve", &hidden, &buttons)),
            ]
        })
        .collect();
    let header = ["Call", "By", "For", "Answer"];
    let content = Content::table("Calls that wait for an approval", &header, rows, "");
    matches!(content, Content::Table(_))
        .then(|| Section { id: "approvals", ..Section::new("Waiting for your approval", content) })
}

/// Returns the servers with a problem, and the number of others by state.
fn server_section(servers: &[ServerRow]) -> Section {
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    servers.iter().for_each(|server| *counts.entry(server.state.word()).or_default() += 1);
    let counts: Vec<String> = counts.into_iter().map(|(word, count)| format!("{count} {word}")).collect();
    let troubled = servers.iter().filter(|server| server.state.tone() != "");
    let rows = troubled.map(ServerRow::cells).collect();
    let table =
        Content::table("Servers with problems", &super::servers::HEADER, rows, "No server has a problem.");
    Section::new("Servers", table).about(if counts.is_empty() {
        "There are no servers.".into()
    } else {
        counts.join(", ")
    })
}

fn host_section(hosts: &[RunningHost], now: u64) -> Section {
    let rows = hosts.iter().map(|host| {
        let facts = &host.facts;
        let place = facts.address.map_or("stdio".to_owned(), |address| format!("http://{address}/mcp"));
        let clients = host.clients.iter().map(|client| format!("{} {}", client.name, client.version));
        let trouble = host.troubles().join("; ");
        vec![
            Cell::number(facts.pid),
            Cell::from(place),
            Cell::link(&facts.preset, format!("/presets/{}", super::segment(&facts.preset))),
            Cell::from(facts.config_name()),
            Cell::from(ago(now, facts.started_at)),
            Cell::from(clients.collect::<Vec<_>>().join(", ")),
            Cell::from(trouble).tone("bad"),
        ]
    });
    let header = ["Process", "Serves", "Preset", "File", "Started", "Clients", "Problems"];
    let table = Content::table("Hosts", &header, rows.collect(), "No host uses this data directory now.");
    Section { id: "hosts", ..Section::new("Hosts", table) }
}
