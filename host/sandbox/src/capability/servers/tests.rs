//! Access to servers under a preset that includes some and hides or denies some of their tools.
//!
//! Longer than 300 lines because all tests share one host and its servers.

use std::{collections::BTreeMap, sync::Mutex, time::Duration};

use async_trait::async_trait;
use gatehouse_core::{
    Call, CompiledPreset, Preset, Source, ToolSpec,
    effect::Effect,
    overrides::ToolOverride,
    ports::{
        ToolIndex,
        ledger::CallSample,
        servers::{CircuitState, RefreshReport, ServerState, UnlistedServer},
        tool_index::{IndexedListing, MatchQuality, PendingChange, ToolFilter, ToolSearchResult},
    },
    source::{Listing, OmittedItems},
};
use serde_json::{Map, Value};

mod fallbacks;
mod restricted;

use super::*;
use crate::testing;

const TOOLS: [&str; 4] = ["held", "hidden", "push", "status"];

struct Git(SourceId);

#[async_trait]
impl Source for Git {
    fn id(&self) -> &SourceId {
        &self.0
    }
    fn time_limit(&self) -> Duration {
        Duration::from_secs(1)
    }
    async fn list(&self, _: &Map<String, Value>) -> Result<Arc<Listing>, Fault> {
        Ok(Arc::default())
    }
    async fn call(&self, _: &Call, _: &ToolEntry) -> Outcome {
        Err(Fault::internal("not called here"))
    }
}

fn spec(name: &str) -> Arc<ToolSpec> {
    Arc::new(ToolSpec::new(name, format!("Is {name}.")))
}

/// Servers `git` and `web` with the same tools, and `new`, which has not listed any.
#[derive(Default)]
struct Host {
    refreshed: Mutex<Vec<String>>,
}

#[async_trait]
impl ServerRegistry for Host {
    fn status(&self) -> Vec<ServerStatus> {
        let status = |name: &str, tags: &[&str]| ServerStatus {
            name: name.into(),
            place: 0,
            transport: "stdio",
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            state: ServerState::Configured,
            circuit: CircuitState::Closed,
            recovery_in_ms: None,
            connected_at: None,
            last_error: None,
            last_schema_change: None,
            log: Vec::new(),
        };
        vec![status("git", &[]), status("new", &["work"]), status("web", &[])]
    }
    fn source(&self, server: &str) -> Option<Arc<dyn Source>> {
        Some(Arc::new(Git(SourceId::Server(server.into()))))
    }
    async fn listing(&self, server: &str, _: &Principal) -> Result<ServerListing, Fault> {
        if server == "new" {
            return std::future::pending().await;
        }
        let source = Arc::new(Git(SourceId::Server(server.into())));
        let omitted = omitted();
        let listing = Arc::new(Listing { tools: TOOLS.map(spec).into(), omitted, ..Listing::default() });
        Ok(ServerListing {
            source,
            listing,
            quarantined: Arc::new(vec![("held".into(), "it changed".into())]),
        })
    }
    async fn known(&self, server: &str) -> Result<Option<ServerListing>, Fault> {
        if server == "new" { Ok(None) } else { self.listing(server, &Principal::Local).await.map(Some) }
    }
    async fn first_listings(&self, servers: &[Arc<str>], _: Duration, _: &Principal) -> Vec<UnlistedServer> {
        servers.iter().map(|name| UnlistedServer { name: Arc::clone(name), failure: None }).collect()
    }

    async fn probe(&self, _: &str, _: &Principal) -> Result<(), Fault> {
        Ok(())
    }
    async fn refresh(&self, server: Option<&str>, _: bool, _: &Principal) -> Result<RefreshReport, Fault> {
        let server = server.unwrap_or("all").to_owned();
        gatehouse_core::lock(&self.refreshed).push(server.clone());
        if server == "new" {
            return Err(Fault::unavailable("it does not start"));
        }
        Ok(RefreshReport { added: 4, omitted: vec![(server, omitted())], ..RefreshReport::default() })
    }
    async fn change(&self, _: &str, _: &Map<String, Value>) -> Result<Result<ServerListing, Fault>, Fault> {
        Err(Fault::internal("not asked here"))
    }
    async fn remove(&self, _: &str) -> Result<bool, Fault> {
        Ok(false)
    }
}

fn omitted() -> OmittedItems {
    let mut omitted = OmittedItems::default();
    omitted.add(1, "tool 'twice' is listed twice");
    omitted
}

fn every_tool() -> impl Iterator<Item = ToolId> {
    let servers = ["git", "web"].into_iter().map(|server| SourceId::Server(server.into()));
    let sources = servers.chain([SourceId::Gate("git".into())]);
    sources.flat_map(|source| TOOLS.map(|name| ToolId { source: source.clone(), name: name.into() }))
}

/// Finds every tool, including tools of a gate with a server's name, and has metrics for each.
struct Everything;

#[async_trait]
impl ToolIndex for Everything {
    async fn put(&self, _: IndexedListing, _: bool) -> Result<RefreshReport, Fault> {
        Ok(RefreshReport::default())
    }
    async fn known(&self, _: &str) -> Result<Option<KnownListing>, Fault> {
        Ok(None)
    }
    async fn forget(&self, _: &str) -> Result<(), Fault> {
        Ok(())
    }
    async fn search(
        &self,
        _: &ToolSearchRequest,
        may_find: ToolFilter<'_>,
    ) -> Result<ToolSearchResult, Fault> {
        let found = every_tool().filter(|tool| may_find(tool));
        let hit = |id: ToolId| ToolHit { spec: spec(&id.name), id, score: 0.9, fit: MatchQuality::Good };
        Ok(ToolSearchResult { hits: found.map(hit).collect(), ..ToolSearchResult::default() })
    }
    async fn pending_changes(&self) -> Result<Vec<PendingChange>, Fault> {
        Ok(Vec::new())
    }
    async fn approve(&self, _: &str, _: &str, _: &str) -> Result<bool, Fault> {
        Ok(false)
    }

    async fn generation(&self) -> Result<i64, Fault> {
        Ok(0)
    }
}

#[async_trait]
impl CallLedger for Everything {
    fn record(&self, _: CallSample) {}
    async fn metrics(&self, _: &MetricsFilter) -> Result<Vec<ToolMetrics>, Fault> {
        let of = |id: ToolId| ToolMetrics {
            source: id.source,
            tool: id.name.to_string(),
            calls: 1,
            tool_errors: 0,
            transport_errors: 0,
            mean_ms: 1.0,
            p50_ms: None,
            p95_ms: None,
            connecting_ms: 0,
            tokens_in: 0,
            tokens_out: 0,
            last_called: None,
            last_error: None,
            last_error_kind: None,
            by_day: Vec::new(),
        };
        Ok(every_tool().map(of).collect())
    }
    async fn reset(&self, _: &MetricsFilter) -> Result<u64, Fault> {
        Ok(0)
    }
    async fn related(&self, _: &ToolId, _: usize) -> Result<Vec<RelatedTool>, Fault> {
        let of = |ToolId { source, name }| {
            let tool = name.to_string();
            RelatedTool { source, tool, follows: true, together: 1, of: 1, lift: 1.0 }
        };
        Ok(every_tool().map(of).collect())
    }
    async fn flush(&self) -> Result<(), Fault> {
        Ok(())
    }
}

/// Includes `git` and `new`. Denies `push` and hides `hidden`, by their exposed names.
fn catalog() -> Catalog {
    let hidden = ToolOverride { hidden: true, ..ToolOverride::default() };
    let preset = Preset {
        deny: vec!["*__push".into()],
        proxied: Some(vec!["git".into(), "tag:work".into()]),
        tools: BTreeMap::from([("git__hidden".to_owned(), hidden)]),
        ..Preset::default()
    };
    let presets = BTreeMap::from([("p".to_owned(), preset)]);
    let exposure = CompiledPreset::compile(&presets, "p").expect("a preset");
    Catalog::build(&exposure, Vec::new()).expect("a catalog")
}

fn with_host(host: &Arc<Host>) -> Ports {
    let mut ports = testing::ports();
    ports.servers = Arc::clone(host) as _;
    ports.tools = Arc::new(Everything);
    ports.ledger = Some(Arc::new(Everything));
    ports
}

fn reach<'a>(ports: &'a Ports, catalog: &'a Catalog) -> ServerAccess<'a> {
    ServerAccess {
        ports,
        catalog,
        caller: &Principal::Local,
        deadline: Instant::now() + Duration::from_secs(5),
    }
}

#[tokio::test]
async fn what_the_preset_hides_leaves_no_trace() {
    let (ports, catalog) = (with_host(&Arc::default()), catalog());
    let reach = reach(&ports, &catalog);
    let servers = reach.servers().await.expect("servers");
    let tool_counts: Vec<_> =
        servers.iter().map(|server| (&*server.status.name, server.tool_count)).collect();
    assert_eq!(tool_counts, [("git", Some(1)), ("new", None)]);
    let errors = servers.iter().map(|server| server.status.last_error.as_deref());
    let expected = [Some("left out 1 item; `gatehouse servers status` says why"), None];
    assert_eq!(errors.collect::<Vec<_>>(), expected);
    let names = |tools: Vec<ServerTool>| {
        tools.into_iter().map(|tool| tool.entry.id.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(reach.tools("git").await.expect("tools")), ["status"]);
    let question = ToolSearchRequest { limit: 9, ..ToolSearchRequest::default() };
    let found = reach.search(question, None).await.expect("found");
    let hits: Vec<_> = found.hits.iter().map(|(hit, _)| &*hit.id.name).collect();
    assert_eq!(hits, ["status"]);
    assert_eq!(found.note.as_deref(), Some("Still starting: new; search again in a moment."));
    let metrics = reach.metrics(MetricsFilter::default()).await.expect("metrics");
    let counted: Vec<_> = metrics.iter().map(|row| (row.source.kind(), row.tool.as_str())).collect();
    assert_eq!(counted, [("server", "held"), ("server", "status")]);
    let related = reach.related("git", "status", 9).await.expect("related");
    assert!(related.iter().all(|tool| ["held", "status"].contains(&tool.tool.as_str())), "{related:?}");
    let alternatives = reach.alternatives("git", "status", None, 9).await.expect("alternatives");
    assert!(alternatives.is_empty(), "a quarantined tool is not an alternative");
}

#[tokio::test]
async fn what_cannot_be_reached_is_as_unknown_as_what_does_not_exist() {
    let (ports, catalog) = (with_host(&Arc::default()), catalog());
    let reach = reach(&ports, &catalog);
    for server in ["web", "zorp"] {
        let fault = reach.tools(server).await.err().expect("a fault");
        assert_eq!(fault.message, format!("unknown server '{server}'."));
        assert_eq!(fault.kind, FaultKind::NotFound);
    }
    for tool in ["push", "hidden", "nothing"] {
        let fault = reach.tool("git", tool).await.err().expect("a fault");
        assert_eq!(fault.message, format!("server 'git' has no tool '{tool}'."));
    }
    let fault = reach.tool("git", "held").await.err().expect("a fault");
    assert_eq!(fault.kind, FaultKind::Denied);
}

#[tokio::test]
async fn a_server_that_does_not_answer_takes_no_longer_than_the_call_may() {
    let (ports, catalog) = (with_host(&Arc::default()), catalog());
    let reach = ServerAccess { deadline: Instant::now(), ..reach(&ports, &catalog) };
    let fault = reach.tools("new").await.err().expect("a fault");
    assert_eq!(fault.message, "server 'new' did not answer before the deadline of the call");
}

#[tokio::test]
async fn a_refresh_of_all_asks_those_that_may_be_reached() {
    let (host, catalog) = (Arc::default(), catalog());
    let ports = with_host(&host);
    let report = reach(&ports, &catalog).refresh(None, false).await.expect("a report");
    assert_eq!((report.added, report.failed.len()), (4, 1));
    assert_eq!(report.omitted, [("git".to_owned(), omitted())]);
    let mut refreshed = gatehouse_core::lock(&host.refreshed).clone();
    refreshed.sort();
    assert_eq!(refreshed, ["git", "new"]);
}

#[tokio::test]
async fn a_host_without_servers_says_so() {
    let (ports, catalog) = (testing::ports(), catalog());
    let reach = reach(&ports, &catalog);
    assert!(reach.servers().await.expect("none").is_empty());
    let found = reach.search(ToolSearchRequest::default(), None).await.expect("nothing");
    assert_eq!((found.hits.len(), found.note.as_deref()), (0, None));
    let fault = reach.metrics(MetricsFilter::default()).await.expect_err("no ledger");
    assert_eq!(fault.message, "this host does not record calls");
}
