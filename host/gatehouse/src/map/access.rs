//! Diagram of each preset's access to gates, servers, hosts, programs, directories, stores, models and secrets, from
//! the catalogs and grants that calls use.

use gatehouse_core::{
    Catalog, CompiledPreset, SourceId,
    capability::{AccessLevel, Capability},
    effect::Effect,
    http::HostPattern,
    names,
    ports::servers::ServerTransport,
};
use gatehouse_sandbox::GateSettings;

use super::{Diagram, DiagramTable, Tone};
use crate::{
    compose::Composition,
    config::{Env, ServerConfig},
};

const GATES: &str = "Gates";
const SERVERS: &str = "MCP servers";
const HOSTS: &str = "Hosts";
const PROGRAMS: &str = "Programs";
const FOLDERS: &str = "Folders";
const STORES: &str = "Stores of this host";
const MODELS: &str = "Models";
const PEOPLE: &str = "At the client";
const SECRETS: &str = "Secrets";

/// Creates the diagram for these presets, or for all if the list is empty.
pub(crate) async fn access(
    composition: &Composition,
    presets: &[String],
    servers: &[(&str, &ServerConfig)],
    env: &Env,
) -> Diagram {
    let mut map = Diagram {
        title: "Access of presets".into(),
        about: "From left to right: presets, the gates and MCP servers that they expose or can call, and what those \
        have access to."
            .into(),
        legend: vec![
            (Tone::ReadOnly, "only reads"),
            (Tone::Mutating, "changes data of this host"),
            (Tone::External, "runs programs or contacts others"),
            (Tone::Broken, "does not work"),
        ],
        highlights_paths: true,
        ..Diagram::default()
    };
    let config = &composition.config;
    // Fix the order of headings, regardless of the order in which nodes are added.
    for (column, titles) in
        [(1, &[GATES, SERVERS][..]), (2, &[HOSTS, PROGRAMS, FOLDERS, STORES, MODELS, PEOPLE, SECRETS])]
    {
        titles.iter().for_each(|title| _ = map.group(column, title));
    }
    for (name, catalog) in composition.catalogs().await {
        if !presets.is_empty() && !presets.iter().any(|preset| preset == name) {
            continue;
        }
        let default = if name == config.default_preset { " (default)" } else { "" };
        let tools = catalog.as_ref().map(|catalog| format!("{} tools", catalog.entries().len()));
        let tools = tools.unwrap_or_else(|_| "does not work".into());
        let node = map.node(0, "Presets", &format!("{name}{default}: {tools}"));
        let catalog = match &catalog {
            Ok(catalog) => catalog,
            Err(reason) => {
                map.mark_broken(node, reason);
                continue;
            }
        };
        if let Ok(compiled) = CompiledPreset::compile(&config.presets, name) {
            map.nodes[node].detail = compiled.description.clone().unwrap_or_default();
            add_proxied_servers(&mut map, node, composition, &compiled, servers);
        }
        add_listed_tools(&mut map, node, catalog);
        map.tables.push(table(name, catalog));
    }
    add_unserved_gates(&mut map, composition, presets.is_empty());
    let reached = |map: &Diagram, group: &str| -> Vec<(usize, String)> {
        let groups = map.columns[1].iter().filter(|node_group| node_group.title == group);
        groups
            .flat_map(|node_group| &node_group.nodes)
            .map(|node| (*node, map.nodes[*node].name.clone()))
            .collect()
    };
    for (node, gate) in reached(&map, GATES) {
        if let Some(settings) = composition.gates.settings(&gate) {
            add_grants(&mut map, node, &settings, composition, env);
        }
    }
    for (node, name) in reached(&map, SERVERS) {
        if let Some((_, server)) = servers.iter().find(|(other, _)| *other == name) {
            served(&mut map, node, server, env);
        }
    }
    map.columns.iter_mut().for_each(|column| column.retain(|group| !group.nodes.is_empty()));
    map
}

fn tone(effect: Effect) -> Tone {
    match effect {
        Effect::ReadOnly => Tone::ReadOnly,
        Effect::Mutating => Tone::Mutating,
        Effect::ExternalExec => Tone::External,
    }
}

fn source(map: &mut Diagram, id: &SourceId) -> usize {
    let group = match id {
        SourceId::Gate(_) => GATES,
        SourceId::Server(_) => SERVERS,
    };
    map.node(1, group, id.name())
}

/// Adds the tools that clients see, and the gates that filter their replies.
fn add_listed_tools(map: &mut Diagram, preset: usize, catalog: &Catalog) {
    for entry in catalog.entries() {
        let node = source(map, &entry.id.source);
        let effect = entry.spec.effect;
        map.line(preset, node, tone(effect), false, format!("{} ({})", entry.name, effect.as_str()));
        for filter in &entry.filters {
            let node = source(map, filter.source.id());
            map.line(preset, node, Tone::Plain, false, "filters replies");
        }
    }
    for (id, reason) in &catalog.problems {
        let node = source(map, id);
        map.mark_broken(node, reason);
        map.line(preset, node, Tone::Broken, false, reason.clone());
    }
}

/// Adds servers whose tools the preset's gates can call, although clients do not see them.
fn add_proxied_servers(
    map: &mut Diagram,
    preset: usize,
    composition: &Composition,
    compiled: &CompiledPreset,
    servers: &[(&str, &ServerConfig)],
) {
    for (id, _) in &compiled.sources {
        let SourceId::Gate(gate) = id else { continue };
        if !composition.gate_reaches_servers(gate) {
            continue;
        }
        for (name, server) in servers.iter().filter(|(_, server)| server.enabled) {
            if compiled.allows_server(name, &server.definition.tags) {
                let node = map.node(1, SERVERS, name);
                map.line(preset, node, Tone::External, true, format!("through gate {gate}"));
            }
        }
    }
}

fn add_unserved_gates(map: &mut Diagram, composition: &Composition, all: bool) {
    for gate in composition.gates.names().iter().filter(|_| all) {
        let before = map.nodes.len();
        let node = map.node(1, GATES, gate);
        if map.nodes.len() > before {
            map.nodes[node].detail = "Not in any preset.".into();
        }
    }
}

fn add_grants(map: &mut Diagram, gate: usize, settings: &GateSettings, composition: &Composition, env: &Env) {
    let models = &composition.models;
    for capability in Capability::ALL {
        let Some(access) = settings.grants.access(capability) else { continue };
        let store_tone = if access == AccessLevel::Full { Tone::Mutating } else { Tone::ReadOnly };
        let (group, names, tone) = match capability {
            Capability::Knowledge => (STORES, vec!["knowledge graph".to_owned()], store_tone),
            Capability::Documents => (STORES, vec!["documents".into()], Tone::ReadOnly),
            Capability::Artifacts => (STORES, vec!["artifacts".into()], store_tone),
            Capability::Kv => (STORES, vec!["its own keys".into()], store_tone),
            Capability::ServersAdmin => (STORES, vec!["the list of MCP servers".into()], Tone::External),
            Capability::Catalog => (STORES, vec!["other tools of the preset".into()], Tone::External),
            Capability::Elicitation => (PEOPLE, vec!["the user".into()], Tone::External),
            Capability::Sampling => (PEOPLE, vec!["the client's model".into()], Tone::External),
            Capability::Models => {
                let llm_models = [models.llm.model(), models.llm.web_model()].into_iter().flatten();
                let mut names: Vec<String> = llm_models.map(str::to_owned).collect();
                names.dedup();
                names.push(format!("{} (vectors)", models.embedder.model()));
                (MODELS, names, Tone::External)
            }
            // Always granted, or shown elsewhere.
            Capability::Context
            | Capability::Text
            | Capability::Replies
            | Capability::Http
            | Capability::Servers => continue,
        };
        for name in names {
            let node = map.node(2, group, &name);
            map.line(gate, node, tone, false, format!("grant {capability}"));
        }
    }
    for rule in settings.http.iter().flat_map(|rules| rules.rules()) {
        let node = map.node(2, HOSTS, &rule.key.to_string());
        let private = if rule.private { ", including non-public addresses" } else { "" };
        map.line(gate, node, Tone::External, false, format!("requests{private}"));
        for header in &rule.headers {
            for variable in &header.variables {
                secret(map, gate, variable, &format!("header {} to {}", header.name, rule.key), env);
            }
        }
    }
    for folder in &settings.folders {
        let node = map.node(2, FOLDERS, &folder.host.display().to_string());
        let (tone, how) =
            if folder.private { (Tone::Mutating, "its own") } else { (Tone::ReadOnly, "to read") };
        map.line(gate, node, tone, false, format!("{}, as {}", how, folder.guest));
    }
}

fn served(map: &mut Diagram, node: usize, server: &ServerConfig, env: &Env) {
    let definition = &server.definition;
    let (group, name) = match &definition.transport {
        ServerTransport::Stdio { command, .. } => (PROGRAMS, command.clone()),
        ServerTransport::Http { url, .. } | ServerTransport::Sse { url, .. } => {
            // The path may contain secrets.
            (HOSTS, HostPattern::parse_url(url).map_or_else(|| "an address".into(), |key| key.to_string()))
        }
    };
    if !server.enabled {
        map.nodes[node].detail = "Not enabled.".into();
    }
    let reached = map.node(2, group, &name);
    map.line(node, reached, Tone::External, !server.enabled, definition.transport.as_str());
    for variable in &server.variables {
        secret(map, node, variable, "passed to the server", env);
    }
    if server.wants_login {
        let login = map.node(2, SECRETS, &format!("login to {}", definition.name));
        map.line(node, login, Tone::Plain, false, "made with `gatehouse servers login`");
    }
}

/// Adds an environment variable, by name only.
fn secret(map: &mut Diagram, whose: usize, variable: &str, how: &str, env: &Env) {
    let node = map.node(2, SECRETS, variable);
    if env.secret(variable).is_none() {
        map.mark_broken(node, "This variable is not set.");
    }
    map.line(whose, node, Tone::Plain, false, how);
}

fn table(preset: &str, catalog: &Catalog) -> DiagramTable {
    let rows = catalog.entries().iter().map(|entry| {
        let summary = names::quoted(entry.spec.description.lines().next().unwrap_or_default(), 160);
        let approval = entry.approval().map_or("-".to_owned(), |often| often.to_string());
        let (name, source) = (entry.name.to_string(), entry.id.source.name().to_string());
        vec![name, source, entry.spec.effect.as_str().into(), approval, summary]
    });
    DiagramTable {
        title: format!("Tools of preset {preset}"),
        header: vec!["Tool", "Of", "Effect", "Approval", "Description"],
        rows: rows.collect(),
    }
}
