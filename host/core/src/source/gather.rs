//! Concurrent listing of a preset's sources.
//!
//! A gate that fails makes the preset fail. A server does not: its last listing is used, with the reason. Servers that
//! were never listed are asked in the background.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use futures_util::future::join_all;
use serde_json::{Map, Value};

use crate::{
    FaultKind, Listing, Schema, Source, SourceId, catalog::SourceListing, lock, source::PendingListing,
};

/// Last listings of servers, by their parameters.
#[derive(Default)]
pub struct LastListings(Mutex<HashMap<(SourceId, String), Arc<Listing>>>);

/// Reason a gate did not list its tools.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{source_id}: {reason}")]
pub struct ListingError {
    pub source_id: SourceId,
    /// Parameter that caused it, if known.
    pub parameter: Option<String>,
    pub reason: String,
}

/// Lists these sources under their parameters, in the same order.
///
/// # Errors
/// If a gate does not list its tools; a failing server is not an error.
pub async fn gather(
    sources: Vec<(Arc<dyn Source>, Map<String, Value>)>,
    last: &LastListings,
) -> Result<Vec<SourceListing>, ListingError> {
    let requests = sources.into_iter().map(|(source, params)| async move {
        let (listing, problem, pending) = match source.id() {
            SourceId::Gate(_) => (list_gate(&*source, &params).await?, None, None),
            SourceId::Server(_) => list_server(&*source, &params, last).await,
        };
        Ok(SourceListing { source, listing, params, problem, pending })
    });
    join_all(requests).await.into_iter().collect()
}

/// Lists a gate. If it rejects the parameters, validates them against the gate's own schema for a consistent message.
async fn list_gate(source: &dyn Source, params: &Map<String, Value>) -> Result<Arc<Listing>, ListingError> {
    let fault = match source.list(params).await {
        Ok(listing) => return Ok(listing),
        Err(fault) => fault,
    };
    let mut reason = fault.in_one_line();
    if fault.kind == FaultKind::InvalidArguments
        && let Ok(plain) = source.list(&Map::new()).await
    {
        let schema = &plain.params_schema;
        let properties = schema.get("properties").and_then(Value::as_object);
        let parameter_names: Vec<&str> =
            properties.into_iter().flat_map(Map::keys).map(String::as_str).collect();
        let value = Value::Object(params.clone());
        if let Err(invalid) = Schema::new(Arc::clone(schema)).check(&value, "parameter") {
            reason = match params.keys().any(|name| !parameter_names.contains(&name.as_str())) {
                true if parameter_names.is_empty() => format!("{invalid} It takes no parameters."),
                true => format!("{invalid} There are: {}.", parameter_names.join(", ")),
                false => invalid.to_string(),
            };
        }
    }
    let mentions = |name: &&String| ["'", "."].iter().any(|end| reason.contains(&format!("'{name}{end}")));
    let parameter = params.keys().find(mentions).cloned();
    Err(ListingError { source_id: source.id().clone(), parameter, reason })
}

/// Lists a server, or returns its last listing with the reason.
async fn list_server(
    source: &dyn Source,
    params: &Map<String, Value>,
    last: &LastListings,
) -> (Arc<Listing>, Option<String>, Option<PendingListing>) {
    let key = (source.id().clone(), Value::Object(params.clone()).to_string());
    let (problem, pending) = match source.list_now(params).await {
        Ok(Ok(listing)) => {
            lock(&last.0).insert(key, Arc::clone(&listing));
            return (listing, None, None);
        }
        Ok(Err(pending)) => (pending.reason.clone(), Some(pending)),
        Err(fault) => (fault.in_one_line(), None),
    };
    let listing = lock(&last.0).get(&key).cloned().unwrap_or_default();
    (listing, Some(problem), pending)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::{
        Call, CallContext, Catalog, CompiledPreset, ContentPart, Outcome, Pipeline,
        overrides::ToolOverride,
        testing::{Fixture, Lists, tool},
    };

    fn server(name: &str, tools: &[&str]) -> Arc<Fixture> {
        Fixture::new(SourceId::Server(name.into()), tools.iter().map(|name| tool(name, None)).collect())
    }

    async fn gathered(sources: &[&Arc<Fixture>], last: &LastListings) -> Result<Vec<SourceListing>, String> {
        let sources = sources.iter().map(|source| (Arc::clone(source) as Arc<dyn Source>, Map::new()));
        gather(sources.collect(), last).await.map_err(|error| error.to_string())
    }

    fn names(catalog: &Catalog) -> Vec<&str> {
        catalog.names().collect()
    }

    #[tokio::test]
    async fn a_missing_server_keeps_its_last_listing() {
        let last = LastListings::default();
        let preset = CompiledPreset::from_sources("p", Vec::new());
        let [slow, gone, well] = ["slow", "gone", "well"].map(|name| server(name, &["search"]));
        let build = async || {
            let listings = gathered(&[&slow, &gone, &well], &last).await.expect("listings");
            Catalog::build(&preset, listings).expect("a catalog")
        };
        gone.now_lists(Lists::WithAFault);
        let catalog = build().await;
        assert_eq!(names(&catalog), ["slow__search", "well__search"], "nothing is known of the other one");
        let problem = (gone.id().clone(), "It is gone. Start it.".to_owned());
        assert_eq!(catalog.problems, std::slice::from_ref(&problem));
        assert_eq!(catalog.list_ttl, Duration::ZERO);
        let missing = catalog.find("gone__search").map(drop).expect_err("not listed");
        assert_eq!((missing.message.as_str(), missing.retryable), ("It is gone. Start it.", true));
        let unknown = |name: &str| catalog.find(name).map(drop).expect_err("unknown").message;
        assert_eq!(unknown("well__serch"), "Unknown tool: 'well__serch'. Did you mean 'well__search'?");
        assert!(!unknown("slow__wellsearch").contains("well__"), "no tool of another server");
        slow.now_lists(Lists::WithAFault);
        let catalog = build().await;
        assert_eq!(names(&catalog), ["slow__search", "well__search"], "the last listing is used");
        assert_eq!(catalog.problems, [(slow.id().clone(), problem.1.clone()), problem]);
        slow.now_lists(Lists::AtOnce);
        gone.now_lists(Lists::AtOnce);
        let catalog = build().await;
        assert!(catalog.problems.is_empty() && catalog.list_ttl == Duration::from_secs(60));
    }

    #[tokio::test]
    async fn a_gate_that_fails_is_refused() {
        let gate = Fixture::gate("kg", vec![tool("search", None)]);
        let last = LastListings::default();
        assert!(gathered(&[&gate], &last).await.is_ok());
        gate.now_lists(Lists::WithAFault);
        let reason = gathered(&[&gate], &last).await.map(drop).expect_err("refused");
        assert_eq!(reason, "gate 'kg': It is gone. Start it.");
    }

    #[tokio::test]
    async fn an_alias_waits_for_the_server_that_it_means() {
        let (server, last) = (server("git", &["log"]), LastListings::default());
        let mut preset = CompiledPreset::from_sources("p", Vec::new());
        preset.aliases.insert("history".into(), "git.log".into());
        let build = async || Catalog::build(&preset, gathered(&[&server], &last).await.expect("listings"));
        server.now_lists(Lists::WithAFault);
        assert!(build().await.expect("a catalog").entries().is_empty());
        server.now_lists(Lists::AtOnce);
        assert_eq!(names(&build().await.expect("a catalog")), ["git__log", "history"]);
        preset.aliases.insert("lost".into(), "git.lgo".into());
        let reason = Catalog::build(&preset, vec![server.listed().await]).map(drop).expect_err("refused");
        assert!(reason.to_string().contains("Did you mean 'git.log'?"), "{reason}");
    }

    #[tokio::test]
    async fn a_preset_renames_describes_fixes_and_hides_tools_of_any_source() {
        let mut create = tool("create_issue", None);
        let schema = json!({"type": "object", "required": ["owner", "title"], "additionalProperties": false,
            "properties": {"owner": {"type": "string"}, "title": {"type": "string"}}});
        create.input_schema = Arc::new(schema.as_object().cloned().expect("an object"));
        let server = Fixture::server("github", vec![create, tool("delete_all", None)]);
        let mut preset = CompiledPreset::from_sources("p", Vec::new());
        let change = ToolOverride {
            name: Some("report_bug".into()),
            description: Some("Reports a bug to us.".into()),
            fixed: Map::from_iter([("owner".into(), json!("acme"))]),
            ..ToolOverride::default()
        };
        preset.tools.insert("github__create_issue".into(), change);
        let hidden = ToolOverride { hidden: true, ..ToolOverride::default() };
        preset.tools.insert("github__delete_all".into(), hidden);
        let catalog = Arc::new(Catalog::build(&preset, vec![server.listed().await]).expect("a catalog"));
        assert_eq!(names(&catalog), ["report_bug"]);
        let spec = &catalog.find("report_bug").expect("a tool").spec;
        assert_eq!(spec.description, "Reports a bug to us.");
        let shown = json!({"type": "object", "required": ["title"], "additionalProperties": false,
            "properties": {"title": {"type": "string"}}});
        assert_eq!(Value::Object((*spec.input_schema).clone()), shown);
        let pipeline = Arc::new(Pipeline::new(vec![Arc::new(crate::pipeline::ValidateStage)]));
        let called = async |arguments: Value| -> Outcome {
            Call::new(CallContext::new(&pipeline, Arc::clone(&catalog), "report_bug"), arguments).run().await
        };
        let reply = called(json!({"title": "x"})).await.expect("a reply");
        let own = "create_issue {\"title\":\"x\",\"owner\":\"acme\"}";
        assert_eq!(reply.content, [ContentPart::Text(own.into())], "under its own name, with what is fixed");
        assert!(called(json!({"title": "x", "owner": "me"})).await.is_err(), "it cannot be set");
    }
}
