//! Presets: who sees what, at which cost, and how to connect a client.

use std::collections::BTreeSet;

use gatehouse_core::{SourceId, ToolId, capability::Capability};

use super::{
    Query, encoded_pair, paged, segment,
    snapshot::{KnownPreset, ListedTool, Snapshot},
    view::{Cell, Content, Form, Page, Section},
};
use crate::{
    cli::{client_config, reached_by},
    config::Env,
    global_args::GlobalArgs,
};

/// Tools in the table of a preset.
const MAX_TOOLS: usize = 30;

pub(super) fn page(snapshot: &Snapshot, query: &Query) -> Page {
    let config = &snapshot.composition.config;
    let (presets, links, place) = paged(snapshot.presets.iter().collect(), "/presets", query);
    let rows = presets.into_iter().map(|preset| {
        let default = if preset.name == config.default_preset { " (default)" } else { "" };
        let name = Cell::link(&preset.name, format!("/presets/{}", segment(&preset.name)));
        let name = Cell { text: format!("{}{default}", name.text), ..name };
        match &preset.tools {
            Ok(tools) => {
                let sources: Vec<&str> = sources(tools).into_iter().map(|source| &**source.name()).collect();
                vec![
                    name,
                    Cell::number(tools.len()),
                    Cell::number(cost(tools)),
                    Cell::from(sources.join(", ")),
                ]
            }
            Err(reason) => vec![name, Cell::default(), Cell::default(), Cell::long(reason).tone("bad")],
        }
    });
    let header = ["Preset", "Tools in lists", "Tokens", "Gates and servers"];
    let table = Content::table("Presets", &header, rows.collect(), "There are no presets.");
    let mut sections = vec![Section { links, ..Section::new("", table).about(place) }];
    let rules = config.access.declared.iter().map(|rule| {
        let presets = rule.presets.as_ref().map_or_else(|| "all".to_owned(), |names| names.join(", "));
        vec![Cell::from(rule.who.join(", ")), Cell::from(presets), Cell::from(&rule.place)]
    });
    let rules: Vec<Vec<Cell>> = rules.collect();
    if !rules.is_empty() {
        let table = Content::table("Access rules", &["Who", "Presets", "Rule"], rules, "");
        sections.push(Section::new("Access rules", table));
    }
    Page::new("Presets", "/presets", sections)
}

fn sources(tools: &[ListedTool]) -> BTreeSet<&SourceId> {
    tools.iter().map(|tool| &tool.source).collect()
}

/// Returns a gate or server, and what it has access to. Secrets are named only.
fn access(snapshot: &Snapshot, source: &SourceId) -> Vec<Cell> {
    let mut uses = Vec::new();
    match source {
        SourceId::Gate(gate) => {
            let Some(settings) = snapshot.composition.gates.settings(gate) else { return Vec::new() };
            let granted = |capability: &Capability| settings.grants.access(*capability).is_some();
            uses.extend(Capability::ALL.into_iter().filter(granted).map(|capability| capability.to_string()));
            for rule in settings.http.iter().flat_map(|rules| rules.rules()) {
                let variables = rule.headers.iter().flat_map(|header| &header.variables);
                uses.extend(variables.map(|variable| format!("variable {variable}")));
                uses.push(format!("host {}", rule.key));
            }
            uses.extend(settings.folders.iter().map(|folder| {
                let kind = if folder.private { "its directory" } else { "reads" };
                format!("{kind} {}", folder.host.display())
            }));
        }
        SourceId::Server(server) => {
            if let Some(known) = snapshot.servers.get(&**server) {
                uses.push(reached_by(&known.config.definition));
                uses.extend(known.config.variables.iter().map(|variable| format!("variable {variable}")));
            }
        }
    }
    vec![Cell::from(source.to_string()), Cell::long(&uses.join(", "))]
}

/// Returns the form that switches tools of a preset. `None` for a preset that is not in the file.
pub(super) fn preset_switch(
    snapshot: &Snapshot,
    preset: &str,
    set: &'static str,
    label: &str,
) -> Option<Form> {
    let config = &snapshot.composition.config;
    let is_own = config.file.is_some() && config.presets.contains_key(preset) && config.is_own(preset);
    is_own.then(|| Form::post("/presets/tools", &[("preset", preset)], &[("set", set, label)]))
}

/// Returns the pattern by which a preset denies a tool, and nothing else.
pub(super) fn deny_pattern(snapshot: &Snapshot, preset: &str, source: &SourceId, tool: &str) -> String {
    let id = ToolId { source: source.clone(), name: tool.into() };
    // A server's own name holds even if a preset gives the tool another one.
    let name = id.whole_name().or_else(|| {
        let preset = snapshot.presets.iter().find(|known| known.name == preset)?;
        let mut listed = preset.tools.as_ref().ok()?.iter();
        listed
            .find(|listed| listed.source == *source && *listed.tool == *tool)
            .map(|listed| listed.name.clone())
    });
    globset::escape(name.as_deref().unwrap_or(tool))
}

fn cost(tools: &[ListedTool]) -> usize {
    tools.iter().map(|tool| tool.tokens).sum()
}

/// Returns the page of a preset. `None` if it is not served.
pub(super) fn preset(snapshot: &Snapshot, name: &str, (global, env): (&GlobalArgs, &Env)) -> Option<Page> {
    let config = &snapshot.composition.config;
    let KnownPreset { tools, problems, .. } = snapshot.presets.iter().find(|preset| preset.name == name)?;
    let title = format!("Preset {}", Cell::from(name).text);
    let tools = match tools {
        Ok(tools) => tools,
        Err(reason) => {
            let section = Section::new("It cannot be served", Content::Text(Cell::lines(reason).text));
            return Some(Page::new(title, "/presets", vec![section]));
        }
    };
    let compiled = config.compiled(name).ok();
    let about = compiled.and_then(|compiled| compiled.description).unwrap_or_default();
    let facts = vec![("Tools in lists", Cell::number(tools.len())), ("Tokens", Cell::number(cost(tools)))];
    let mut dearest: Vec<&ListedTool> = tools.iter().collect();
    dearest.sort_by_key(|tool| std::cmp::Reverse(tool.tokens));
    let rows = dearest.into_iter().take(MAX_TOOLS).map(|tool| {
        vec![
            Cell::link(&tool.name, format!("/tools/{}/{}", segment(tool.source.name()), segment(&tool.tool))),
            Cell::from(tool.source.to_string()),
            Cell::from(tool.effect.as_str()),
            Cell::from(tool.approval.as_deref().unwrap_or("-")),
            Cell::number(tool.tokens),
        ]
    });
    let header = ["Tool", "Of", "Effect", "Approval", "Tokens"];
    let table = Content::table("Tools", &header, rows.collect(), "It lists no tools.");
    let mut sections = vec![Section::new("", Content::Facts(facts)).about(Cell::long(&about).text)];
    if !problems.is_empty() {
        let rows =
            problems.iter().map(|(source, reason)| vec![Cell::from(source), Cell::long(reason).tone("bad")]);
        let table = Content::table("Missing tools", &["Of", "Reason"], rows.collect(), "");
        sections.push(Section::new("Gates and servers without tools", table));
    }
    let all = Cell::link(
        "All tools of the preset, to search and to switch off",
        format!("/tools?{}", encoded_pair("preset", name)),
    );
    sections.push(Section { links: vec![all], ..Section::new("Tools with the largest definitions", table) });
    let denied = config.presets.get(name).map_or(&[][..], |preset| &preset.deny);
    let off = denied.iter().map(|pattern| {
        let mut cells = vec![Cell::from(pattern)];
        if let Some(mut form) = preset_switch(snapshot, name, "on", "Switch on") {
            form.fields.extend(Form::post("", &[("tool", pattern)], &[]).fields);
            cells.push(Cell::form(form));
        }
        cells
    });
    let off: Vec<Vec<Cell>> = off.collect();
    if !off.is_empty() {
        let table = Content::table("Switched off", &["Pattern", "Action"], off, "");
        sections.push(Section::new("Switched off (deny)", table));
    }
    let access: Vec<Vec<Cell>> = sources(tools).into_iter().map(|source| access(snapshot, source)).collect();
    let table = Content::table("Access", &["Gate or server", "May use"], access, "None.");
    sections.push(Section::new("Access of its tools", table));
    let connect = match client_config(config, global, env, name) {
        Ok(text) => Content::Text(text),
        Err(reason) => Content::Facts(vec![("Reason", Cell::long(&reason.message).tone("bad"))]),
    };
    let about =
        format!("For Claude Code and Claude Desktop. Others: gatehouse mcp-config {name} --client cursor");
    sections.push(Section::new("Connect a client", connect).about(Cell::from(about).text));
    Some(Page::new(title, "/presets", sections))
}
