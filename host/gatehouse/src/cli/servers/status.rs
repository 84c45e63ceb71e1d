//! `gatehouse servers status|refresh`

use gatehouse_core::ports::{ServerRegistry as _, servers::RefreshReport};
use serde_json::{Map, Value, json};

use super::{CommandError, login};
use crate::{
    compose::Composition,
    config::Env,
    out,
    presence::{self, RunningHost},
};

/// How servers do, as the hosts that run see them, for each host has connections of its own; and the logins to them, which
/// all share.
pub(super) async fn status(composition: &Composition, env: &Env, json: bool) {
    let hosts = presence::running(&composition.config.state);
    let logins = login::all(&composition.config, env).await;
    if json {
        let told = |host: &RunningHost| json!({"pid": host.facts.pid, "preset": host.facts.preset, "servers": host.servers});
        return out::json(&json!({
            "configured": composition.stores.servers.status(),
            "hosts": hosts.iter().map(told).collect::<Vec<_>>(),
            "logins": logins.iter().map(|login| (login.server.clone(), login.fields())).collect::<Map<_, _>>(),
        }));
    }
    if hosts.is_empty() {
        out::note("No host runs on this data folder, so nothing is connected.");
    }
    states(&hosts, &composition.stores.servers.status()).iter().for_each(out::line);
    for login in &logins {
        out::line(format!("login to '{}': {}", login.server, login.words()));
    }
}

/// A table of how servers do, by host; of those that are configured where no host runs.
pub(in crate::cli) fn states(hosts: &[RunningHost], configured: &[Value]) -> Vec<String> {
    let head = ["HOST", "SERVER", "TRANSPORT", "STATE", "CIRCUIT", "LAST ERROR"].map(str::to_owned);
    let mut rows: Vec<Vec<String>> = vec![head.into()];
    let of_nobody = hosts.is_empty().then(|| row("-", configured)).into_iter().flatten();
    let of_hosts = hosts.iter().flat_map(|host| row(&host.facts.pid.to_string(), &host.servers));
    rows.extend(of_nobody.chain(of_hosts));
    out::columns(&rows)
}

fn row(host: &str, servers: &[Value]) -> Vec<Vec<String>> {
    let cells = |server: &Value| {
        let text = |key: &str| server[key].as_str().unwrap_or_default().to_owned();
        let state = ["name", "transport", "state", "circuit", "last_error"].map(text);
        std::iter::once(host.to_owned()).chain(state).collect()
    };
    servers.iter().map(cells).collect()
}

/// Connects to a server, or all, and asks what they list now.
pub(super) async fn refresh(
    composition: &Composition,
    server: Option<&str>,
    force: bool,
    json: bool,
) -> Result<(), CommandError> {
    let report = composition.stores.servers.live.refresh(server, force).await?;
    if json {
        out::json(&report);
    } else {
        let RefreshReport { added, updated, removed, unchanged, embeddings, failed } = &report;
        out::line(format!(
            "{added} tools added, {updated} updated, {removed} removed, {unchanged} as they were"
        ));
        if *embeddings > 0 {
            out::line(format!("{embeddings} wait for their vectors"));
        }
        failed.iter().for_each(|(server, why)| out::error(format!("server '{server}': {why}")));
    }
    match report.failed.len() {
        0 => Ok(()),
        1 => Err(CommandError::Failed("a server could not be asked".into())),
        failed => Err(CommandError::Failed(format!("{failed} servers could not be asked"))),
    }
}
