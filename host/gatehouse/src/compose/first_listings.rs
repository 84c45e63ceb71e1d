//! First listings of MCP servers for commands. A command waits until the servers that it needs have listed their tools or
//! failed, and remembers failures, so that the next command does not wait for them again.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use gatehouse_core::{
    Catalog, Principal, SourceId, lock,
    ports::{
        Clock as _, ServerRegistry as _,
        servers::{ServerDefinition, ServerStatus},
    },
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::{Composition, SystemClock};
use crate::{config::locked_files, out, plain_error::PlainError};

/// Time for which a failed first listing is not repeated.
const FAILURE_TIME: Duration = Duration::from_secs(600);

const REPORT_INTERVAL: Duration = Duration::from_secs(4);

const MAX_CONCURRENT_LISTINGS: usize = 8;

const FAILURES: &str = "server-failures.json";

/// Forgets all failures, because a variable or a login of the servers changed. Blocking.
pub(crate) fn forget_failed_listings(state: &Path) {
    if let Err(error) = fs::remove_file(state.join(FAILURES)) {
        tracing::debug!("no failed servers to forget: {error}");
    }
}

/// How commands treat servers that were never listed.
#[derive(Default)]
pub(crate) struct FirstListings {
    /// Maximum wait for them. `None`: start none.
    pub(crate) wait: Option<Duration>,
    held: Mutex<Vec<Arc<()>>>,
}

/// Recent failures of first listings, by server.
#[derive(Default, Serialize, Deserialize)]
struct RecentFailures(BTreeMap<String, ListingFailure>);

#[derive(Serialize, Deserialize)]
struct ListingFailure {
    /// Milliseconds since 1970.
    at: u64,
    /// Digest of the definition. Another definition may work.
    definition: String,
    reason: String,
}

impl RecentFailures {
    /// Reads the failures that still count. A damaged file has none.
    fn read(file: &Path) -> Self {
        let mut failures: Self = locked_files::read_json(file).unwrap_or_else(|reason| {
            tracing::debug!("{}: {reason}", file.display());
            Self::default()
        });
        let now = SystemClock.now_ms();
        failures.0.retain(|_, failure| now.saturating_sub(failure.at) < FAILURE_TIME.as_millis() as u64);
        failures
    }
}

fn digest(definition: &ServerDefinition) -> String {
    gatehouse_core::hash::sha256_hex(format!("{:?}{:?}", definition.transport, definition.missing))
}

/// Returns true for servers to wait for.
pub(crate) type ServerFilter<'a> = &'a (dyn Fn(&ServerStatus) -> bool + Sync);

impl Composition {
    fn failures_file(&self) -> PathBuf {
        self.config.state.join(FAILURES)
    }

    /// Forgets the failures of these servers, so that they are tried again.
    pub(crate) fn forget_failures(&self, is_meant: impl Fn(&str) -> bool) {
        self.edit_failures(|failures| failures.0.retain(|name, _| !is_meant(name)));
    }

    /// Edits the file, which only saves time, so a failure has no consequence.
    fn edit_failures(&self, edit: impl FnOnce(&mut RecentFailures)) {
        let file = self.failures_file();
        let failed = |error: std::io::Error| PlainError::from(error.to_string());
        let edited = tokio::task::block_in_place(|| {
            locked_files::edit_json(
                &file,
                failed,
                |file| Ok(RecentFailures::read(file)),
                |failures| {
                    edit(failures);
                    Ok(true)
                },
            )
        });
        if let Err(error) = edited {
            tracing::debug!("cannot remember failed servers: {error}");
        }
    }

    /// Waits until the servers that a preset shows have listed their tools or failed.
    pub(super) async fn list_shown_servers(&self, sources: impl Iterator<Item = &SourceId>) {
        let names: Vec<&str> =
            sources.filter(|id| matches!(id, SourceId::Server(_))).map(|id| &**id.name()).collect();
        self.list_servers(&|server| names.contains(&&*server.name)).await;
    }

    /// Waits until the servers that a call of this tool may reach have listed their tools or failed.
    pub(crate) async fn list_servers_for(&self, catalog: &Catalog, tool: &str, arguments: &Value) {
        let Some(SourceId::Gate(gate)) = catalog.get(tool).map(|entry| &entry.id.source) else { return };
        if !self.gate_reaches_servers(gate) {
            return;
        }
        let named = arguments["server"].as_str();
        let named = named.or_else(|| Some(arguments["action"].as_str()?.split_once('/')?.0));
        let is_meant = |server: &ServerStatus| named.is_none_or(|name| *server.name == *name);
        self.list_servers(&|server| is_meant(server) && catalog.server_tools.allows_server(server)).await;
    }

    /// Lists the `wanted` servers that were never listed and did not fail recently. Reports the progress on standard
    /// error. Returns early at Ctrl-C. Returns the servers that failed now, with the reason.
    pub(crate) async fn list_servers(&self, wanted: ServerFilter<'_>) -> Vec<(Arc<str>, String)> {
        let (live, definitions) = (&self.stores.servers.live, self.stores.servers.definitions());
        let mut unlisted = Vec::new();
        for server in live.status().into_iter().filter(wanted) {
            // Without its variables, a server cannot start.
            let lacks = |definition: &ServerDefinition| {
                definition.name == server.name && !definition.missing.is_empty()
            };
            if !definitions.iter().any(lacks) && matches!(live.known(&server.name).await, Ok(None)) {
                unlisted.push(server.name);
            }
        }
        let Some(wait) = self.first_listings.wait.filter(|_| !unlisted.is_empty()) else {
            let reason = "it was never listed; `gatehouse servers refresh` lists it";
            let unlisted: Vec<_> = unlisted.into_iter().map(|name| (name, reason.to_owned())).collect();
            self.hold_back(&unlisted);
            return Vec::new();
        };
        let RecentFailures(failures) =
            tokio::task::block_in_place(|| RecentFailures::read(&self.failures_file()));
        let failure_of = |name: &str| {
            let definition = definitions.iter().find(|definition| *definition.name == *name)?;
            failures.get(name).filter(|failure| failure.definition == digest(definition))
        };
        let (mut failed_before, mut to_list) = (Vec::new(), Vec::new());
        for name in unlisted {
            match failure_of(&name) {
                Some(failure) => failed_before.push((name, failure.reason.clone())),
                None => to_list.push(name),
            }
        }
        self.hold_back(&failed_before);
        let failed = self.list_all(to_list, wait).await;
        self.hold_back(&failed);
        let at = SystemClock.now_ms();
        let recorded = failed.iter().filter_map(|(name, reason)| {
            let definition = definitions.iter().find(|definition| definition.name == *name)?;
            let failure = ListingFailure { at, definition: digest(definition), reason: reason.clone() };
            Some((name.to_string(), failure))
        });
        let recorded: Vec<(String, ListingFailure)> = recorded.collect();
        if !recorded.is_empty() {
            self.edit_failures(|failures| failures.0.extend(recorded));
        }
        failed
    }

    /// Lists these servers, and returns those that failed, with the reason.
    async fn list_all(&self, unlisted: Vec<Arc<str>>, wait: Duration) -> Vec<(Arc<str>, String)> {
        let (live, began) = (&self.stores.servers.live, Instant::now());
        let mut waiting = unlisted.clone();
        let mut listings = stream::iter(unlisted)
            .map(|name: Arc<str>| async move { (live.probe(&name, &Principal::Local).await, name) })
            .buffer_unordered(MAX_CONCURRENT_LISTINGS);
        let mut ticks = interval(REPORT_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.tick().await;
        let mut failed = Vec::new();
        while !waiting.is_empty() {
            let seconds = began.elapsed().as_secs();
            tokio::select! {
                Some((listed, name)) = listings.next() => {
                    waiting.retain(|other| *other != name);
                    failed.extend(listed.err().map(|fault| (name, fault.message)));
                }
                _ = ticks.tick() => {
                    out::note(format!("waiting for {}: {} s so far; Ctrl-C stops waiting", waiting.join(", "), seconds));
                }
                () = tokio::time::sleep_until(began + wait) => {
                    let waiting = waiting.join(", ");
                    out::warn(format!("not listed within {} s: {waiting}; wait longer with --wait", wait.as_secs()));
                    break;
                }
                _ = tokio::signal::ctrl_c() => break,
            }
        }
        failed
    }

    fn hold_back(&self, failed: &[(Arc<str>, String)]) {
        lock(&self.first_listings.held).extend(self.stores.servers.live.hold_back(failed));
    }
}
