//! Servers of a caller that access rules limit.

use gatehouse_core::{
    Caller, Principal,
    access::{AccessRule, AccessRules},
};

use super::*;

/// Returns a catalog of all servers, for a caller that may use `status` of every server but `web`.
fn restricted() -> Catalog {
    let catalog =
        Catalog::build(&CompiledPreset::from_sources("p", Vec::new()), Vec::new()).expect("a catalog");
    let rule = AccessRule {
        who: vec!["key:*".into()],
        tools: vec!["*__status".into()],
        deny: vec!["server:web.*".into()],
        ..AccessRule::default()
    };
    let rules = AccessRules::compile(vec![rule]).expect("valid rules");
    let caller = Arc::new(Caller::new(Principal::Named("key:a".into()), "key a"));
    catalog.restricted(&rules.access_of(&caller))
}

#[tokio::test]
async fn what_the_rules_hide_leaves_no_trace() {
    let (ports, catalog) = (with_host(&Arc::default()), restricted());
    let reach = reach(&ports, &catalog);
    let servers = reach.servers().await.expect("servers");
    let counts: Vec<_> = servers.iter().map(|one| (&*one.status.name, one.tool_count)).collect();
    assert_eq!(counts, [("git", Some(1)), ("new", None)], "web has no tool for this caller");
    for server in ["web", "zorp"] {
        let fault = reach.tools(server).await.err().expect("a fault");
        assert_eq!(fault.message, format!("unknown server '{server}'."));
        let metrics =
            MetricsFilter { source: Some(SourceId::Server(server.into())), ..MetricsFilter::default() };
        assert_eq!(reach.metrics(metrics).await.expect_err("a fault").kind, FaultKind::NotFound);
        assert!(reach.advise(server).await.is_err() && reach.refresh(Some(server), false).await.is_err());
    }
    for tool in ["push", "held", "nothing"] {
        let fault = reach.tool("git", tool).await.err().expect("a fault");
        assert_eq!(fault.message, format!("server 'git' has no tool '{tool}'."));
    }
    let question = ToolSearchRequest { limit: 9, ..ToolSearchRequest::default() };
    let found = reach.search(question, None).await.expect("found");
    let hits: Vec<_> = found.hits.iter().map(|(hit, _)| (&**hit.id.source.name(), &*hit.id.name)).collect();
    assert_eq!(hits, [("git", "status")]);
    assert_eq!(found.note.as_deref(), Some("Still starting: new; search again in a moment."));
    let only = |source: &SourceId, tool: &str| (&**source.name(), tool) == ("git", "status");
    let metrics = reach.metrics(MetricsFilter::default()).await.expect("metrics");
    assert!(metrics.len() == 1 && metrics.iter().all(|one| only(&one.source, &one.tool)), "{metrics:?}");
    let related = reach.related("git", "status", 9).await.expect("related");
    assert!(related.iter().all(|one| only(&one.source, &one.tool)), "{related:?}");
    assert!(reach.alternatives("git", "status", None, 9).await.expect("alternatives").is_empty());
}

#[tokio::test]
async fn a_refresh_counts_the_tools_of_the_caller() {
    let (host, catalog) = (Arc::default(), restricted());
    let ports = with_host(&host);
    let report = reach(&ports, &catalog).refresh(None, false).await.expect("a report");
    let counts = (report.added, report.updated, report.removed, report.unchanged, report.embeddings);
    assert_eq!((counts, report.omitted.len()), ((0, 0, 0, 1, 0), 0));
    assert_eq!(report.failed.len(), 1, "{report:?}");
    let mut refreshed = gatehouse_core::lock(&host.refreshed).clone();
    refreshed.sort();
    assert_eq!(refreshed, ["git", "new"]);
}
