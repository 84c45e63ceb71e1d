//! Tests of the tool surface.

use std::collections::BTreeMap;

use serde_json::Map;

use super::{SurfaceMode, ToolSurface, missing_part};
use crate::{
    Catalog, CompiledPreset, Preset, SourceId, ToolSpec,
    testing::{Fixture, forwarding_tool, request_tool, tool},
};

/// Builds the catalog of a preset with two gates and these servers, each with the tools `get` and `put`.
async fn build(change: Preset, servers: &[&str]) -> (CompiledPreset, Catalog) {
    let gates = ["kg", "relay"].map(|gate| SourceId::Gate(gate.into()));
    let servers = servers.iter().map(|server| SourceId::Server((*server).into()));
    let ids: Vec<SourceId> = gates.into_iter().chain(servers).collect();
    let sources = ids.iter().map(|id| (id.clone(), Map::new())).collect();
    let presets = BTreeMap::from([("p".to_owned(), Preset { sources, ..change })]);
    let compiled = CompiledPreset::compile(&presets, "p").expect("valid");
    let mut listings = Vec::new();
    for id in ids {
        let tools = match &**id.name() {
            "kg" => vec![tool("kg_search", None)],
            "relay" => vec![tool("find", None), forwarding_tool("relay"), request_tool("request")],
            "huge" => {
                let description = "x".repeat(150_000);
                ["get", "put"]
                    .map(|name| ToolSpec { description: description.clone(), ..tool(name, None) })
                    .into()
            }
            _ => vec![tool("get", None), tool("put", None)],
        };
        listings.push(Fixture::new(id, tools).listed().await);
    }
    let catalog = Catalog::build(&compiled, listings).expect("a catalog");
    (compiled, catalog)
}

/// Returns the tools for a client that searches tools itself, and for one that does not.
fn listed(catalog: &Catalog) -> [String; 2] {
    [true, false].map(|searches| {
        let tools = ToolSurface::for_client(catalog, searches).tools(catalog);
        tools.map(|entry| entry.name.as_str()).collect::<Vec<_>>().join(" ")
    })
}

fn auto() -> Preset {
    Preset { surface: Some(SurfaceMode::Auto), ..Preset::default() }
}

#[tokio::test]
async fn each_client_lists_one_way_to_the_servers() {
    let (_, all) = build(Preset::default(), &["git"]).await;
    let everything = "find git__get git__put kg_search relay request";
    assert_eq!(listed(&all), [everything, everything]);

    let (preset, catalog) = build(auto(), &["git"]).await;
    assert_eq!(listed(&catalog), ["git__get git__put kg_search request", "find kg_search relay request"]);
    assert!(catalog.find("relay").is_ok() && catalog.find("git__put").is_ok(), "all can be called");
    assert!(preset.allows_server("git", &[]), "the gate reaches the server");
    assert!(!preset.allows_server("mail", &[]), "and no other, which some clients could not see");
    assert_eq!(missing_part(&preset, &catalog), None);
}

#[tokio::test]
async fn pinned_tools_are_listed_to_every_client() {
    let pinned = Preset { pinned: vec!["git__get".into(), "relay.find".into()], ..auto() };
    let (_, catalog) = build(pinned, &["git"]).await;
    let [searching, eager] = listed(&catalog);
    assert_eq!(searching, "find git__get git__put kg_search request");
    assert_eq!(eager, "find git__get kg_search relay request");
    let hidden = Preset { pinned: vec!["*".into()], listed: Some(vec!["kg_*".into()]), ..auto() };
    assert_eq!(listed(&build(hidden, &["git"]).await.1), ["kg_search", "kg_search"], "`listed` is stronger");
}

#[tokio::test]
async fn no_server_is_lost() {
    let wider = Preset { proxied: Some(vec!["*".into()]), ..auto() };
    let (_, catalog) = build(wider, &["git"]).await;
    assert_eq!(listed(&catalog)[0], "find git__get git__put kg_search relay request", "others need the gate");

    let without_gate = Preset { deny: vec!["relay".into()], ..auto() };
    let (preset, catalog) = build(without_gate, &["git"]).await;
    assert_eq!(listed(&catalog)[1], "find git__get git__put kg_search request");
    let reason = missing_part(&preset, &catalog).expect("a warning");
    assert!(reason.contains("add a gate that finds and calls the tools of servers"), "{reason}");

    let cannot_find = Preset { deny: vec!["find".into()], ..auto() };
    let (_, catalog) = build(cannot_find, &["git"]).await;
    assert_eq!(listed(&catalog)[1], "git__get git__put kg_search relay request", "a gate that only calls");

    let (_, catalog) = build(auto(), &["huge"]).await;
    assert_eq!(
        listed(&catalog)[0],
        "find huge__get kg_search relay request",
        "the gate finds the other tool"
    );

    let (preset, catalog) = build(auto(), &[]).await;
    assert!(missing_part(&preset, &catalog).expect("a warning").ends_with("add `servers`"));
    assert!(preset.allows_server("git", &[]), "and the gate reaches all servers");
    assert_eq!(listed(&catalog)[0], "find kg_search relay request");
}

#[tokio::test]
async fn tools_that_the_hidden_gate_would_find_are_listed() {
    let relay = Preset { listed: Some(vec!["find".into(), "relay".into()]), ..auto() };
    let (_, catalog) = build(relay, &["git"]).await;
    assert_eq!(listed(&catalog), ["git__get git__put kg_search", "find relay"]);
    let [direct, proxied] = [ToolSurface::Direct, ToolSurface::Proxied];
    assert!(proxied.needs_gate(&catalog) && !direct.needs_gate(&catalog));
    let relay = SourceId::Gate("relay".into());
    assert!(proxied.shows(&catalog, &relay) && !direct.shows(&catalog, &relay));

    let pinned = Preset { pinned: vec!["git__get".into()], ..auto() };
    let (_, catalog) = build(pinned, &["git"]).await;
    assert!(proxied.needs_gate(&catalog), "pinned tools do not replace it");
    let (_, both) = build(Preset::default(), &["git"]).await;
    assert!(!ToolSurface::All.needs_gate(&both), "the tools are listed too");
}
