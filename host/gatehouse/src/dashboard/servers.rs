//! Servers by state, one server, and changed definitions that wait for a review.

use std::{collections::HashMap, time::Duration};

use gatehouse_core::{
    ports::{
        Clock as _, ToolIndex as _,
        servers::{CircuitState, ServerState},
        tool_index::PendingChange,
    },
    utc_time::rfc3339,
};
use serde::Deserialize;
use similar::TextDiff;

use super::{
    Query, add,
    charts::ago,
    paged, segment,
    snapshot::{Snapshot, SnapshotReader},
    view::{Cell, Content, Form, Page, Section},
};
use crate::{
    cli::{pretty_json, reached_by},
    compose::SystemClock,
    control::RunningHost,
    plain_error::PlainError,
};

/// Changed definitions on a page. One can have thousands of lines.
const MAX_CHANGES: usize = 8;

/// Maximum bytes of a comparison.
const MAX_DIFF: usize = 5_000;

/// Time after which a comparison shows the rest as replaced.
const DIFF_TIMEOUT: Duration = Duration::from_millis(20);

pub(super) const HEADER: [&str; 6] = ["Server", "State", "Tools", "In hosts", "Last error", "Action"];

/// State of a server, the worst of all hosts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RowState {
    Disabled,
    /// Starts with the next call.
    Idle,
    Working,
    Starting,
    Broken,
    /// Lacks these variables.
    Needs(String),
}

impl RowState {
    pub(super) const fn word(&self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Idle => "idle",
            Self::Working => "working",
            Self::Starting => "starting",
            Self::Broken => "broken",
            Self::Needs(_) => "needs a variable",
        }
    }

    /// Returns the class of the state. Empty if the server has no problem.
    pub(super) const fn tone(&self) -> &'static str {
        match self {
            Self::Broken => "bad",
            Self::Needs(_) => "warn",
            _ => "",
        }
    }
}

/// State of a server in a host.
#[derive(Deserialize)]
struct HostServer {
    name: String,
    state: ServerState,
    circuit: CircuitState,
    connected_at: Option<u64>,
    last_error: Option<String>,
    last_schema_change: Option<u64>,
    log: Vec<String>,
}

pub(super) struct ServerRow {
    name: String,
    pub(super) state: RowState,
    /// Tools of the last listing. `None` if it was never listed.
    tools: Option<usize>,
    /// State and process id of each host.
    hosts: Vec<(u32, HostServer)>,
}

impl ServerRow {
    fn last_error(&self) -> &str {
        self.hosts.iter().find_map(|(_, status)| status.last_error.as_deref()).unwrap_or_default()
    }

    pub(super) fn cells(&self) -> Vec<Cell> {
        let state = match &self.state {
            RowState::Needs(variables) => format!("needs {variables}"),
            state => state.word().to_owned(),
        };
        let connected =
            self.hosts.iter().filter(|(_, status)| status.state == ServerState::Connected).count();
        let action = match self.state {
            RowState::Broken => Cell::form(reconnect(&self.name)),
            _ => Cell::default(),
        };
        vec![
            Cell::link(&self.name, format!("/servers/{}", segment(&self.name))),
            Cell::from(state).tone(self.state.tone()),
            Cell::from(self.tools.map_or("not listed".into(), |tools| tools.to_string())),
            Cell::number(format!("{connected} of {}", self.hosts.len())),
            Cell::from(self.last_error()),
            action,
        ]
    }
}

fn reconnect(server: &str) -> Form {
    Form::post("/reconnect", &[("server", server)], &[("", "", "Reconnect")])
}

/// Returns the configured servers with their states, those with problems first.
pub(super) fn server_rows(snapshot: &Snapshot, hosts: &[RunningHost]) -> Vec<ServerRow> {
    let mut by_server = HashMap::<String, Vec<(u32, HostServer)>>::new();
    for host in hosts {
        for status in host.servers.iter().filter_map(|status| HostServer::deserialize(status).ok()) {
            by_server.entry(status.name.clone()).or_default().push((host.facts.pid, status));
        }
    }
    let rows = snapshot.servers.iter().map(|(name, server)| {
        let statuses = by_server.remove(name).unwrap_or_default();
        let worst = statuses.iter().map(|(_, status)| match (status.state, status.circuit) {
            (ServerState::Failed, _) | (_, CircuitState::Open) => RowState::Broken,
            (ServerState::Connecting, _) => RowState::Starting,
            (ServerState::Connected, _) => RowState::Working,
            (ServerState::Configured | ServerState::Dormant, _) => RowState::Idle,
        });
        let missing = &server.config.definition.missing;
        let state = match (server.config.enabled, missing.is_empty()) {
            (false, _) => RowState::Disabled,
            (true, false) => RowState::Needs(missing.join(", ")),
            (true, true) => worst.max().unwrap_or(RowState::Idle),
        };
        let tools = server.listing.as_ref().map(|listed| listed.listing.tools.len());
        ServerRow { name: name.clone(), state, tools, hosts: statuses }
    });
    let mut rows: Vec<ServerRow> = rows.collect();
    rows.sort_by(|a, b| b.state.cmp(&a.state).then_with(|| a.name.cmp(&b.name)));
    rows
}

pub(super) async fn page(
    snapshot: &Snapshot,
    hosts: &[RunningHost],
    reader: &SnapshotReader,
    query: &Query,
) -> Result<Page, PlainError> {
    let (rows, links, place) = paged(server_rows(snapshot, hosts), "/servers", query);
    let rows = rows.into_iter().map(|row| {
        let mut cells = row.cells();
        let name = cells.remove(0);
        cells.insert(0, name.checkbox("server", row.name));
        cells
    });
    let empty =
        "There are no servers. Add one with `gatehouse servers add`, or import those of other clients.";
    let buttons = [("set", "off", "Switch the selected servers off"), ("set", "on", "Switch them on")];
    let bulk = Form::post("/servers/enabled", &[], &buttons);
    let table = Content::table("Servers", &HEADER, rows.collect(), empty).with_bulk(bulk);
    let mut sections = vec![Section { links, ..Section::new("", table).about(place) }];
    sections.extend(changes(&snapshot.composition.stores.tools.pending_changes().await?));
    sections.extend(add::sections(reader));
    Ok(Page::new("Servers", "/servers", sections))
}

/// Returns the page of a server. `None` if it is not configured.
pub(super) async fn server(
    snapshot: &Snapshot,
    hosts: &[RunningHost],
    name: &str,
) -> Result<Option<Page>, PlainError> {
    let Some(known) = snapshot.servers.get(name) else { return Ok(None) };
    let Some(row) = server_rows(snapshot, hosts).into_iter().find(|row| row.name == name) else {
        return Ok(None);
    };
    let (definition, now) = (&known.config.definition, SystemClock.now_ms());
    let source = segment(name);
    let state = row.cells().swap_remove(1);
    let facts = vec![
        ("State", state),
        ("Transport", Cell::from(definition.transport.as_str())),
        ("Reached by", Cell::long(&reached_by(definition))),
        ("Tags", Cell::from(definition.tags.join(", "))),
        (
            "Tools",
            Cell::link(
                row.tools.map_or("not listed".into(), |tools| tools.to_string()),
                format!("/tools?source={source}"),
            ),
        ),
        ("Calls", Cell::link("show", format!("/calls?source={source}"))),
        ("Connection", Cell::form(reconnect(name))),
    ];
    let hosts = row.hosts.iter().map(|(pid, status)| {
        vec![
            Cell::number(pid),
            Cell::from(serde_json::json!(status.state).as_str().unwrap_or_default()),
            Cell::from(serde_json::json!(status.circuit).as_str().unwrap_or_default()),
            Cell::from(status.connected_at.map_or_else(String::new, |at| ago(now, at))),
            Cell::from(status.last_schema_change.map_or_else(String::new, rfc3339)),
            Cell::long(status.last_error.as_deref().unwrap_or_default()),
        ]
    });
    let header = ["Host", "State", "Circuit", "Connected", "Tools changed", "Last error"];
    let table = Content::table("Hosts", &header, hosts.collect(), "No running host has this server.");
    let mut sections = vec![Section::new("", Content::Facts(facts)), Section::new("In the hosts", table)];
    let logs = row.hosts.iter().filter(|(_, status)| !status.log.is_empty());
    sections.extend(logs.map(|(pid, status)| {
        let log = Cell::lines(&status.log.join("\n"));
        Section::new(format!("Last lines of its standard error in host {pid}"), Content::Text(log.text))
    }));
    let mut held = snapshot.composition.stores.tools.pending_changes().await?;
    held.retain(|held| held.server == name);
    sections.extend(changes(&held));
    Ok(Some(Page::new(format!("Server {}", Cell::from(name).text), "/servers", sections)))
}

/// Returns the first changed definitions, each before and after, with the button that approves it.
fn changes(held: &[PendingChange]) -> Vec<Section> {
    let mut sections = Vec::new();
    let held: Vec<&PendingChange> = held.iter().filter(|held| held.held_back).collect();
    for (place, held) in held.iter().take(MAX_CHANGES).enumerate() {
        let (before, now) =
            (held.before.as_deref().map(pretty_json).unwrap_or_default(), pretty_json(&held.now));
        let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(&before, &now);
        let diff = diff.unified_diff().header("approved", "now").to_string();
        let (server, label) = (Cell::from(&held.server).text, held.label());
        let form = Form::post(
            "/review",
            &[("server", &held.server), ("label", &label), ("digest", &held.digest)],
            &[("", "", "Approve this change")],
        );
        let heading = format!("{server}: {} has changed", Cell::from(&label).text);
        // A person approves only what the page shows whole.
        let (links, diff) = if diff.len() > MAX_DIFF {
            (
                Vec::new(),
                format!("This change is too long for a page: run `gatehouse servers review {server}`."),
            )
        } else {
            (vec![Cell::form(form)], Cell::lines(&diff).text)
        };
        let id = if place == 0 { "changes" } else { "" };
        sections.push(Section { id, links, ..Section::new(heading, Content::Text(diff)) });
    }
    if held.len() > MAX_CHANGES {
        let about = format!("{} more changes follow, when these are approved.", held.len() - MAX_CHANGES);
        sections.push(Section::new("", Content::Nothing).about(about));
    }
    sections
}
