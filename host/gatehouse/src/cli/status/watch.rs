//! `gatehouse status --watch`: refreshes the hosts, their servers and today's calls until Ctrl-C.

use std::{
    io::{self, IsTerminal as _},
    time::Duration,
};

use gatehouse_core::ports::ledger::{MetricsFilter, ToolMetrics};

use super::{CommandError, CommandResult, PlainError};
use crate::{
    cli::{servers, tools},
    compose::Composition,
    out, presence, signals,
};

/// Maximum number of tools, by calls. More rows would not fit on most terminals.
const MAX_TOOLS: usize = 15;

pub(super) async fn watch(composition: &Composition, seconds: u16) -> CommandResult {
    if !io::stdout().is_terminal() {
        let why = "--watch requires a terminal; `gatehouse status --json` prints the state once";
        return Err(CommandError::usage(why));
    }
    let stop = signals::shutdown_token(None);
    let mut ticks = tokio::time::interval(Duration::from_secs(seconds.into()));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            _ = ticks.tick() => out::screen(&screen(composition, seconds).await),
        }
    }
}

async fn screen(composition: &Composition, seconds: u16) -> Vec<String> {
    let state = &composition.config.state;
    let hosts = presence::running(state);
    let mut lines = vec![format!("{}, every {seconds} s; Ctrl-C ends", state.display())];
    if hosts.is_empty() {
        lines.push("No host uses this data directory.".into());
    }
    // One line per element, because each is cut at the end of the line.
    for host in &hosts {
        lines.extend(host.to_string().lines().map(str::to_owned));
    }
    if hosts.iter().any(|host| !host.servers.is_empty()) {
        lines.push(String::new());
        lines.extend(servers::states(&hosts, &[]));
    }
    lines.push(String::new());
    match today(composition).await {
        Ok(metrics) if metrics.is_empty() => lines.push("No calls today.".into()),
        Ok(metrics) => {
            let calls: u64 = metrics.iter().map(|one| one.calls).sum();
            let most: Vec<&ToolMetrics> = metrics.iter().take(MAX_TOOLS).collect();
            lines.push(format!("{calls} calls of {} tools today", metrics.len()));
            lines.extend(tools::busiest(&most));
        }
        Err(why) => lines.push(why.into()),
    }
    lines
}

/// Returns today's metrics, busiest tool first, or the reason why they are unavailable.
async fn today(composition: &Composition) -> Result<Vec<ToolMetrics>, PlainError> {
    if composition.stores.ledger.is_none() {
        return Err("Calls are not recorded: enabled = false under [ledger] in presets.toml.".into());
    }
    let filter = MetricsFilter { days: Some(1), ..MetricsFilter::default() };
    let mut metrics = composition.stores.metrics(&filter).await?;
    metrics.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.tool.cmp(&b.tool)));
    Ok(metrics)
}
