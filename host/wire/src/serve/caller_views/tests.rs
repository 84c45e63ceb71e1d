//! Tests of what callers see of a host with access rules.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use gatehouse_core::{
    Call, CompiledPreset, Fault, Outcome, Pipeline, Principal, Source, SourceId, ToolSpec,
    access::AccessRule,
    catalog::{SourceListing, ToolEntry},
    source::Listing,
};
use rmcp::ServerHandler as _;
use serde_json::{Map, Value, json};

use super::*;
use crate::serve::{
    PresetView, PresetViews,
    handler::{Handler, REQUEST_CALLER},
};

/// A server with tools that only read.
struct ToolShop(SourceId, Arc<Listing>);

#[async_trait]
impl Source for ToolShop {
    fn id(&self) -> &SourceId {
        &self.0
    }

    fn time_limit(&self) -> Duration {
        Duration::from_secs(1)
    }

    async fn list(&self, _: &Map<String, Value>) -> Result<Arc<Listing>, Fault> {
        Ok(Arc::clone(&self.1))
    }

    async fn call(&self, _: &Call, _: &ToolEntry) -> Outcome {
        Err(Fault::internal("never called"))
    }
}

fn tool(name: &str) -> Arc<ToolSpec> {
    let schema = json!({"type": "object"});
    Arc::new(ToolSpec {
        input_schema: Arc::new(schema.as_object().cloned().expect("an object")),
        ..ToolSpec::new(name, format!("Is {name}."))
    })
}

/// Returns a preset with these tools of the server `git`, and instructions that name them.
fn view(preset: &str, tools: &[&str]) -> PresetView {
    let listing = Listing { tools: tools.iter().map(|name| tool(name)).collect(), ..Listing::default() };
    let listing = Arc::new(listing);
    let source = Arc::new(ToolShop(SourceId::Server("git".into()), Arc::clone(&listing)));
    let listed = SourceListing { source, listing, params: Map::new(), problem: None, pending: None };
    let compiled = CompiledPreset::from_sources(preset, Vec::new());
    let catalog = Catalog::build(&compiled, vec![listed]).expect("a catalog");
    let names = |catalog: &Catalog, _| Some(catalog.names().collect::<Vec<_>>().join(" "));
    PresetView { catalog, instructions: Some(Arc::new(names)) }
}

fn rule(who: &str, presets: &str, tools: &str) -> AccessRule {
    AccessRule {
        who: vec![who.into()],
        presets: Some(vec![presets.into()]),
        tools: vec![tools.into()],
        ..AccessRule::default()
    }
}

fn caller(name: &str, group: &str) -> Arc<Caller> {
    let caller = Caller::new(Principal::Named(name.into()), name);
    Arc::new(Caller { groups: vec![group.into()], ..caller })
}

fn rules() -> Arc<AccessRules> {
    let rules = vec![rule("group:dev", "dev*", "git__get"), rule("group:ops", "*", "*")];
    Arc::new(AccessRules::compile(rules).expect("valid rules"))
}

/// Returns a host with the presets `dev` and `secret`, a broken preset, and `full` by default.
fn host(rules: &Arc<AccessRules>) -> Arc<ServedPresets> {
    let starting =
        ServedPresets::starting(Pipeline::new(Vec::new()), "full", None, Arc::default()).expect("a host");
    let presets = BTreeMap::from([
        ("dev".to_owned(), Ok(view("dev", &["get", "push"]))),
        ("secret".to_owned(), Ok(view("secret", &["get"]))),
        ("secret2".to_owned(), Err("its gate is missing".to_owned())),
    ]);
    starting.begin(PresetViews { presets, ..view("full", &["get", "push"]).into() }, rules);
    Arc::new(starting)
}

fn names(preset: &ServedPreset, caller: &Arc<Caller>) -> String {
    preset.catalog(caller).names().collect::<Vec<_>>().join(" ")
}

#[test]
fn callers_with_equal_rules_share_a_view_of_what_they_may_use() {
    let host = host(&rules());
    let dev = host.find(Some("dev"), &caller("key:a", "dev")).expect("open");
    assert_eq!(names(&dev, &caller("key:a", "dev")), "git__get");
    assert_eq!(names(&dev, &caller("key:b", "ops")), "git__get git__push");
    assert_eq!(names(&dev, &caller("key:c", "none")), "");
    assert_eq!(names(&dev, &Caller::local()), "git__get git__push");
    let views = ["key:a", "key:d"].map(|name| dev.view(&caller(name, "dev")));
    assert!(Arc::ptr_eq(&views[0], &views[1]));
    assert_eq!(dev.instructions(&caller("key:a", "dev"), None).as_deref(), Some("git__get"));
    assert_eq!(dev.instructions(&caller("key:b", "ops"), None).as_deref(), Some("git__get git__push"));
}

#[test]
fn a_hidden_preset_is_like_an_unknown_one() {
    let host = host(&rules());
    let refusal = |preset: Option<&str>, group: &str| host.find(preset, &caller("key:a", group)).err();
    let refused = |status, reason: &str| Some(PresetRefusal { status, reason: reason.to_owned() });
    for preset in ["secret", "secret2", "secrets"] {
        let reason = format!("unknown preset '{preset}'. There are: dev.");
        assert_eq!(refusal(Some(preset), "dev"), refused(StatusCode::NOT_FOUND, &reason));
    }
    let near = "unknown preset 'dew'. Did you mean 'dev'? There are: dev.";
    assert_eq!(refusal(Some("dew"), "dev"), refused(StatusCode::NOT_FOUND, near));
    let closed = "your credential does not open the default preset. Connect to: /mcp/p/dev.";
    assert_eq!(refusal(None, "dev"), refused(StatusCode::FORBIDDEN, closed));
    let closed = "your credential opens no preset of this host. Ask its operator for access.";
    assert_eq!(refusal(None, "none"), refused(StatusCode::FORBIDDEN, closed));
    assert!(refusal(None, "ops").is_none() && refusal(Some("secret"), "ops").is_none());
    let broken = refused(StatusCode::SERVICE_UNAVAILABLE, "cannot serve preset 'secret2' now");
    assert_eq!(refusal(Some("secret2"), "ops"), broken, "no names of hidden tools");
    let all = refused(StatusCode::NOT_FOUND, "unknown preset 'x'. There are: dev, secret, secret2.");
    let without = self::host(&Arc::default());
    assert_eq!(without.find(Some("x"), &caller("token", "dev")).err(), all);
    let broken = "cannot serve preset 'secret2': its gate is missing";
    let found = without.find(Some("secret2"), &caller("token", "dev")).err();
    let broken = refused(StatusCode::SERVICE_UNAVAILABLE, broken);
    assert_eq!(found, broken, "a caller without limits reads why");
}

#[test]
fn a_change_is_seen_by_those_who_may_use_the_tool() {
    let rules = rules();
    let host = host(&rules);
    let (dev, ops) = (caller("key:a", "dev"), caller("key:b", "ops"));
    let served = host.find(Some("dev"), &dev).expect("open");
    let swap = |tools: &[&str], rules: &Arc<AccessRules>| {
        let before = [&dev, &ops].map(|caller| served.view(caller));
        let presets = BTreeMap::from([("dev".to_owned(), Ok(view("dev", tools)))]);
        let views = PresetViews { presets, ..view("full", &["get", "push"]).into() };
        let notified = host.swap(views, rules);
        let changed = |before: &CallerView, caller| !before.changed_lists(&served.view(caller)).is_empty();
        let notified = notified.contains(&Some("dev".to_owned()));
        (notified, changed(&before[0], &dev), changed(&before[1], &ops))
    };
    assert_eq!(swap(&["get", "push", "pull"], &rules), (true, false, true), "another hidden tool");
    assert_eq!(swap(&["get", "push", "pull"], &rules), (false, false, false));
    assert_eq!(swap(&["push", "pull"], &rules), (true, true, true));
    let wider = AccessRules::compile(vec![rule("*", "*", "git__pull")]).expect("valid rules");
    assert_eq!(swap(&["push", "pull"], &Arc::new(wider)), (true, true, true), "other rules");
}

#[tokio::test]
async fn handlers_without_a_request_have_the_caller_of_their_http_request() {
    let host = host(&rules());
    let dev = host.find(Some("dev"), &caller("key:a", "dev")).expect("open");
    let prototype = Handler::new(Arc::clone(&host), dev, caller("nobody", "none"));
    let tools = |handler: &Handler| ["git__get", "git__push"].map(|name| handler.get_tool(name).is_some());
    for (group, visible) in [("dev", [true, false]), ("ops", [true, true]), ("none", [false, false])] {
        let make = async { prototype.for_another_client() };
        let handler = REQUEST_CALLER.scope(caller("key:a", group), make).await;
        assert_eq!(tools(&handler), visible, "{group}");
        let instructions = handler.get_info().instructions.unwrap_or_default();
        assert_eq!(["git__get", "git__push"].map(|name| instructions.contains(name)), visible, "{group}");
        // A session continues on other tasks.
        assert_eq!(tools(&handler.for_another_client()), visible, "{group}");
    }
    assert_eq!(tools(&prototype.for_another_client()), [false, false]);
}
