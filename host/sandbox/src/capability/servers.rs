//! `servers`: the MCP servers behind this host, limited to those in the caller's preset. Calls pass the same pipeline
//! as a client's.

mod alternatives;

mod unlisted;
mod visible;

use std::{future::Future, sync::Arc, time::Duration};

use gatehouse_core::{
    Catalog, Fault, Principal,
    capability::{AccessLevel, Capability},
    catalog::ToolEntry,
    names,
    outcome::{FaultKind, Outcome},
    ports::{
        CallLedger, ServerRegistry,
        ledger::{MetricsFilter, RelatedTool, ToolMetrics},
        servers::{ServerListing, ServerStatus},
        tool_index::{KnownListing, KnownTool, MatchQuality, SearchResult, ToolHit, ToolSearchRequest},
    },
    tool::{SourceId, ToolId},
};
use tokio::time::Instant;

use super::{Capabilities, catalog::CallTarget};
use crate::Ports;
use unlisted::UnlistedTools;

const MAX_QUERY: usize = 64 << 10;

/// Maximum time that a search waits for servers without a listing.
const MAX_FIRST_LISTING_WAIT: Duration = Duration::from_secs(5);

pub(crate) struct ServerAccess<'a> {
    ports: &'a Ports,
    catalog: &'a Catalog,
    caller: &'a Principal,
    deadline: Instant,
}

pub(crate) struct ServerTool {
    pub(crate) entry: Arc<ToolEntry>,
    pub(crate) known: Option<KnownTool>,
}

/// A server and its number of callable tools. `None` if it has not listed them yet.
pub(crate) struct ServerWithTools {
    pub(crate) status: ServerStatus,
    pub(crate) tool_count: Option<u32>,
}

/// Tools that the ledger is asked for if access rules may hide most of them.
const MAX_RELATED: usize = 1_000;

pub(crate) type ServerToolMatches = SearchResult<(ToolHit, Arc<ToolEntry>)>;

impl Capabilities {
    pub(crate) fn server_access(&self) -> Result<ServerAccess<'_>, Fault> {
        let granted = self.granted(Capability::Servers, AccessLevel::Full)?;
        let running = granted.call;
        Ok(ServerAccess {
            ports: &granted.facts.ports,
            catalog: &running.context.catalog,
            caller: &running.context.caller.principal,
            deadline: running.deadline.for_nested().instant(),
        })
    }

    /// Calls a tool of a server; `arguments` is JSON. Counts toward the limit `calls`.
    pub(crate) async fn call_server_tool(
        &self,
        server: &str,
        tool: &str,
        arguments: &str,
        limit: Option<Duration>,
    ) -> Outcome {
        let entry = self.server_access()?.entry(server, tool).await?;
        Ok(self.call_with_reservation(CallTarget::Proxied(entry), arguments, limit).await?.0)
    }
}

impl<'a> ServerAccess<'a> {
    /// Returns the registry, or a fault if the preset has no server of this name.
    async fn registry_with(&self, server: &str) -> Result<&'a dyn ServerRegistry, Fault> {
        let statuses = self.statuses().await?;
        if statuses.iter().any(|status| *status.name == *server) {
            return Ok(&*self.ports.servers);
        }
        let suggestion = names::did_you_mean(server, statuses.iter().map(|status| &*status.name));
        Err(Fault::not_found(format!("unknown server '{}'.{suggestion}", names::quoted(server, 64))))
    }

    fn ledger(&self) -> Result<&'a dyn CallLedger, Fault> {
        self.ports.ledger.as_deref().ok_or_else(|| {
            Fault::unavailable("this host does not record calls")
                .hint("Set enabled = true under [ledger] in presets.toml.")
        })
    }

    async fn listing(&self, server: &str) -> Result<ServerListing, Fault> {
        let servers = self.registry_with(server).await?;
        before_deadline(self.deadline, server, servers.listing(server, self.caller)).await
    }

    async fn entry(&self, server: &str, tool: &str) -> Result<Arc<ToolEntry>, Fault> {
        if let Some(entry) = unlisted::find(self.catalog, server, tool) {
            return Ok(Arc::clone(entry));
        }
        self.catalog.server_tools.entry(&self.listing(server).await?, tool)
    }

    /// Returns a tool as the preset presents it. `None` if it is quarantined or no longer listed.
    async fn listed(&self, tool: &ToolId) -> Result<Option<Arc<ToolEntry>>, Fault> {
        let listed = self.ports.servers.known(tool.source.name()).await?;
        Ok(listed.and_then(|listed| self.catalog.server_tools.entry(&listed, &tool.name).ok()))
    }

    /// Lists servers and tool counts without starting any server.
    pub(crate) async fn servers(&self) -> Result<Vec<ServerWithTools>, Fault> {
        let mut servers = Vec::new();
        for mut status in self.statuses().await? {
            let listing = self.ports.servers.known(&status.name).await?;
            let omitted = listing.as_ref().map(|listed| &listed.listing.omitted);
            if let Some(summary) = omitted.and_then(|omitted| omitted.summary()) {
                status.last_error.get_or_insert(summary);
            }
            let tool_count = listing.map(|listed| self.catalog.server_tools.entries(&listed).len() as u32);
            servers.push(ServerWithTools { status, tool_count });
        }
        Ok(servers)
    }

    pub(crate) async fn tools(&self, server: &str) -> Result<Vec<ServerTool>, Fault> {
        let entries = self.catalog.server_tools.entries(&self.listing(server).await?);
        let listing = self.ports.tools.known(server).await?;
        Ok(entries.into_iter().map(|entry| with_known(entry, listing.as_ref())).collect())
    }

    pub(crate) async fn tool(&self, server: &str, tool: &str) -> Result<ServerTool, Fault> {
        let entry = self.entry(server, tool).await?;
        Ok(with_known(entry, self.ports.tools.known(server).await?.as_ref()))
    }

    /// Searches the callable tools. The note names skills that fit, and servers that have not listed their tools.
    pub(crate) async fn search(
        &self,
        request: ToolSearchRequest,
        server: Option<&str>,
    ) -> Result<ServerToolMatches, Fault> {
        if request.query.len() > MAX_QUERY {
            return Err(Fault::exhausted(format!("query is too long; the limit is {MAX_QUERY} bytes")));
        }
        let UnlistedTools { hits: of_gates, unmatched_terms: unmatched_by_gates } =
            unlisted::search(self.catalog, &request, server);
        let skills = unlisted::fitting_skills(self.catalog, &request, server);
        let of_gate =
            |name: &str| unlisted::unlisted(self.catalog).any(|entry| **entry.id.source.name() == *name);
        if let Some(server) = server.filter(|server| !of_gate(server)) {
            self.registry_with(server).await?;
        }
        let servers = &self.ports.servers;
        let mut callable = self.callable(server).await?;
        let mut without_listing = Vec::new();
        for name in callable.keys() {
            if servers.known(name).await?.is_none() {
                without_listing.push(Arc::clone(name));
            }
        }
        without_listing.sort();
        let mut unlisted = Vec::new();
        if !without_listing.is_empty() {
            // The index only has tools of servers that have listed them.
            let max_wait = self.deadline.saturating_duration_since(Instant::now()) / 2;
            let max_wait = max_wait.min(MAX_FIRST_LISTING_WAIT);
            unlisted = servers.first_listings(&without_listing, max_wait, self.caller).await;
            // They may have listed tools meanwhile.
            callable = self.callable(server).await?;
        }
        let is_starting = unlisted.iter().any(|server| server.failure.is_none());
        let limit = request.limit;
        // The preferred twin of a hit may be beyond the limit.
        let request = ToolSearchRequest { limit: limit + alternatives::EXTRA_HITS, ..request };
        let matches = self.ports.tools.search(&request, &|tool| self.may_call(&callable, tool)).await?;
        let mut hits = self.with_twins(matches.hits, limit).await?;
        if !of_gates.is_empty() {
            hits.truncate(limit.saturating_sub(of_gates.len()));
            // After the tools of servers that fit, and before those that are only near.
            let fits = |hit: &(ToolHit, _)| matches!(hit.0.fit, MatchQuality::Names | MatchQuality::Good);
            let place = hits.iter().rposition(fits).map_or(0, |last| last + 1);
            hits.splice(place..place, of_gates);
        }
        if is_starting {
            // A tool of such a server may fit better.
            for (hit, _) in &mut hits {
                hit.fit = hit.fit.max(MatchQuality::Weak);
            }
        }
        let unlisted = (!unlisted.is_empty()).then(|| visible::missing_listings(&unlisted));
        let joined = |parts: [Option<String>; 2], separator: &str| {
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            (!parts.is_empty()).then(|| parts.join(separator))
        };
        let note = joined([skills, joined([matches.note, unlisted], " ")], "\n");
        let mut unmatched_terms = matches.unmatched_terms;
        if let Some(unmatched_by_gates) = unmatched_by_gates {
            unmatched_terms.retain(|term| unmatched_by_gates.contains(term));
        }
        Ok(ServerToolMatches { hits, unmatched_terms, note })
    }

    pub(crate) async fn metrics(&self, filter: MetricsFilter) -> Result<Vec<ToolMetrics>, Fault> {
        if let Some(SourceId::Server(server)) = &filter.source {
            self.registry_with(server).await?;
        }
        let names = self.callable(None).await?;
        let mut metrics = self.ledger()?.metrics(&filter).await?;
        metrics.retain(|row| self.may_call(&names, &tool_id(&row.source, &row.tool)));
        if *self.caller != Principal::Local {
            // The text may be of another person's call.
            metrics.iter_mut().for_each(|row| row.last_error = row.last_error_kind.take());
        }
        Ok(metrics)
    }

    /// Returns tools that are often called after this one or in the same session.
    pub(crate) async fn related(
        &self,
        server: &str,
        tool: &str,
        limit: usize,
    ) -> Result<Vec<RelatedTool>, Fault> {
        let entry = self.entry(server, tool).await?;
        let names = self.callable(None).await?;
        // Filtering follows, so request more than `limit`.
        let fetch_limit = if self.catalog.server_tools.is_restricted() { MAX_RELATED } else { limit * 4 };
        let mut related = self.ledger()?.related(&entry.id, fetch_limit).await?;
        related.retain(|candidate| self.may_call(&names, &tool_id(&candidate.source, &candidate.tool)));
        related.truncate(limit);
        Ok(related)
    }
}

fn tool_id(source: &SourceId, name: &str) -> ToolId {
    ToolId { source: source.clone(), name: name.into() }
}

fn with_known(entry: Arc<ToolEntry>, listing: Option<&KnownListing>) -> ServerTool {
    let known_tool =
        listing.and_then(|listing| listing.tools.iter().find(|tool| tool.name == entry.id.name)).cloned();
    ServerTool { entry, known: known_tool }
}

/// Waits for a server until the deadline, which leaves the gate time to report a timeout.
async fn before_deadline<T>(
    deadline: Instant,
    server: &str,
    answer: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    let timed_out = |_| {
        Fault::new(
            FaultKind::TimedOut,
            format!("server '{server}' did not answer before the deadline of the call"),
        )
        .hint(format!("Run `gatehouse servers status`, and check [servers.{server}] in the configuration."))
    };
    tokio::time::timeout_at(deadline, answer).await.map_err(timed_out)?
}

#[cfg(test)]
mod tests;
