//! Decisions that a page sends. Each says what it did, or why it did nothing.
//!
//! Changes of presets.toml go through the editor of the commands, and hosts apply and audit them as they do other edits.

use std::sync::Arc;

use gatehouse_core::{
    ContentPart, Principal,
    ports::{ToolIndex as _, audit::AuditKind},
};
use serde_json::{Map, Value};

use super::{
    Query, add,
    presets::preset_switch,
    segment,
    snapshot::{Snapshot, SnapshotReader},
    tool_forms::{ARGUMENT_PREFIX, argument_of},
};
use crate::{
    cli::{body_lines, describe_answer, read_bodies, run_tool},
    config::{ConfigText, Env, edit},
    control,
    plain_error::PlainError,
};

/// Runs an action, and returns what it did.
pub(super) async fn run(reader: &SnapshotReader, path: &str, form: &Query) -> Result<String, PlainError> {
    let snapshot = reader.read().await?;
    let done = match path {
        "/approve" => return approve(&snapshot, form).await,
        "/tools/try" => return try_tool(&snapshot, form).await,
        "/calls/bodies" => {
            return Ok(body_lines(&read_bodies(&snapshot.composition, form.get("id")).await?));
        }
        "/reconnect" => return reconnect(&snapshot, form.get("server")).await,
        "/servers/test" => return add::test(reader, form).await,
        "/servers/add" => add::save(reader, &snapshot, form).await?,
        "/review" => review(&snapshot, form).await?,
        "/presets/tools" | "/servers/enabled" | "/tools/describe" => {
            let (global, env) = reader.origin();
            let text = global.locate_config(env)?.text;
            let change = match path {
                "/presets/tools" => switch_tools(&snapshot, &text, form, env)?,
                "/servers/enabled" => switch_servers(&snapshot, &text, form, env)?,
                _ => describe_tool(&snapshot, &text, form, env)?,
            };
            if !change.has_changes() {
                return Ok("Nothing was changed.".into());
            }
            change.write_trusted(&snapshot.composition.config)?;
            let hosts = control::reload(&snapshot.composition.config.state, &snapshot.config_file()).await;
            let refused = hosts.iter().flat_map(control::RunningHost::troubles).collect::<Vec<_>>();
            let applied = format!(
                "presets.toml is changed, and {} hosts have read it. {}",
                hosts.len(),
                refused.join(" ")
            );
            applied.trim().to_owned()
        }
        _ => bail!("there is no such action"),
    };
    if let Some(audit) = snapshot.composition.stores.audit_log() {
        audit.record_event(
            AuditKind::Configuration,
            &Principal::Local,
            "ok",
            &format!("dashboard {path}: {done}"),
        );
    }
    Ok(done)
}

/// Returns the page that shows the result.
pub(super) fn page_after(path: &str, form: &Query) -> String {
    let tool = || format!("/tools/{}/{}", segment(form.get("source")), segment(form.get("tool")));
    match path {
        "/approve" => "/".into(),
        "/calls/bodies" => format!("/calls/{}", segment(form.get("id"))),
        "/tools/try" | "/tools/describe" => tool(),
        "/presets/tools" => format!("/presets/{}", segment(form.get("preset"))),
        "/reconnect" => format!("/servers/{}", segment(form.get("server"))),
        _ => "/servers".into(),
    }
}

async fn approve(snapshot: &Snapshot, form: &Query) -> Result<String, PlainError> {
    let state = &snapshot.composition.config.state;
    let (id, allow) = (form.get("id"), form.get("allow") == "1");
    let hosts = control::running(state).await;
    let host = hosts.iter().find(|host| {
        host.facts.pid.to_string() == form.get("host")
            && host.approvals.iter().any(|request| request.id == id)
    });
    let request = host.and_then(|host| host.approvals.iter().find(|request| request.id == id));
    let (Some(host), Some(request)) = (host, request) else {
        return Ok("The call does not wait any more, so this answer had no effect.".into());
    };
    let effect =
        control::answer(state, host.facts.pid, id, allow).await.map_err(|error| error.to_string())?;
    Ok(describe_answer(request, allow, &effect))
}

async fn reconnect(snapshot: &Snapshot, server: &str) -> Result<String, PlainError> {
    let (hosts, reasons) = control::reconnect(&snapshot.composition.config.state, server).await;
    Ok(match (hosts, reasons.first()) {
        (0, _) => "No host runs.".into(),
        (hosts, None) => format!("'{server}' works again in {hosts} hosts."),
        (_, Some(reason)) => format!("'{server}' does not work: {reason}"),
    })
}

async fn review(snapshot: &Snapshot, form: &Query) -> Result<String, PlainError> {
    let (server, label, digest) = (form.get("server"), form.get("label"), form.get("digest"));
    if !snapshot.composition.stores.tools.approve(server, label, digest).await? {
        bail!("'{label}' of server '{server}' changed again, or was approved before; look at it again");
    }
    control::tell_hosts(&snapshot.composition.config.state).await;
    Ok(format!("'{label}' of server '{server}' is approved. Running hosts list it now."))
}

/// Adds exact patterns to `deny` of a preset, or removes them.
fn switch_tools<'a>(
    snapshot: &Snapshot,
    text: &'a ConfigText,
    form: &Query,
    env: &Env,
) -> Result<edit::ConfigEdit<'a>, PlainError> {
    let preset = own_preset(snapshot, form)?;
    let tools: Vec<String> = form.all("tool").map(str::to_owned).collect();
    let (added, removed): (&[String], &[String]) =
        if form.get("set") == "on" { (&[], &tools) } else { (&tools, &[]) };
    Ok(edit::edit_list(text, &["presets", preset, "deny"], (added, removed), env)?)
}

fn switch_servers<'a>(
    snapshot: &Snapshot,
    text: &'a ConfigText,
    form: &Query,
    env: &Env,
) -> Result<edit::ConfigEdit<'a>, PlainError> {
    let names: Vec<&str> = form.all("server").collect();
    let declared = &snapshot.composition.config.servers.declared;
    if let Some(other) = names.iter().find(|name| !declared.contains_key(**name)) {
        bail!("server '{other}' is not in presets.toml, so it cannot be switched there");
    }
    let paths: Vec<[&str; 3]> = names.iter().map(|name| ["servers", name, "enabled"]).collect();
    // On is the default.
    let value = || (form.get("set") == "off").then(|| false.into());
    let values: Vec<_> = paths.iter().map(|path| (&path[..], value())).collect();
    Ok(edit::set_values(text, &values, env)?)
}

/// Gives a tool another name or description in a preset. An empty field changes nothing, and `-` is that of the source.
fn describe_tool<'a>(
    snapshot: &Snapshot,
    text: &'a ConfigText,
    form: &Query,
    env: &Env,
) -> Result<edit::ConfigEdit<'a>, PlainError> {
    let preset = own_preset(snapshot, form)?;
    let known = snapshot.tool(form.get("source"), form.get("tool")).ok_or("there is no such tool")?;
    let key = known.source.exposed_name(&known.spec.name).map_err(|reason| reason.to_string())?.to_string();
    let path = |name: &'static str| ["presets", preset, "tools", key.as_str(), name];
    let fields = ["name", "description"].map(|name| (path(name), form.get(name).trim()));
    let given = fields.iter().filter(|(_, text)| !text.is_empty());
    let values = given.map(|(path, text)| (&path[..], (*text != "-").then(|| (*text).into())));
    Ok(edit::set_values(text, &values.collect::<Vec<_>>(), env)?)
}

fn own_preset<'a>(snapshot: &Snapshot, form: &'a Query) -> Result<&'a str, PlainError> {
    let preset = form.get("preset");
    if preset_switch(snapshot, preset, "", "").is_none() {
        bail!(
            "preset '{preset}' is not in your presets.toml: define it there, and extend a shipped one if you like"
        );
    }
    Ok(preset)
}

/// Calls a tool as `gatehouse call` does, with the rules of the preset.
async fn try_tool(snapshot: &Snapshot, form: &Query) -> Result<String, PlainError> {
    let composition = &snapshot.composition;
    let known = snapshot.tool(form.get("source"), form.get("tool")).ok_or("there is no such tool")?;
    let compiled = composition.config.compiled(form.get("preset"))?;
    let catalog = Arc::new(composition.catalog(&compiled).await?);
    let is_it = |entry: &&Arc<gatehouse_core::ToolEntry>| {
        entry.id.source == known.source && entry.id.name == known.spec.name
    };
    let entry = catalog.entries().iter().find(is_it).ok_or("the preset does not have this tool")?;
    let mut arguments = Map::new();
    for (name, schema) in
        known.spec.input_schema.get("properties").and_then(Value::as_object).into_iter().flatten()
    {
        let text = form.get(&format!("{ARGUMENT_PREFIX}{name}"));
        let required = known.spec.input_schema.get("required").and_then(Value::as_array);
        let is_required = required.is_some_and(|names| names.iter().any(|other| other == name.as_str()));
        if let Some(value) = argument_of(name, schema, is_required, text)? {
            arguments.insert(name.clone(), value);
        }
    }
    let name = entry.name.to_string();
    let reply = run_tool(composition, catalog, &name, Value::Object(arguments)).await?;
    let mut texts: Vec<String> = reply
        .content
        .iter()
        .map(|part| match part {
            ContentPart::Text(text) => text.clone(),
            other => format!("[{} bytes that are no text]", other.bytes()),
        })
        .collect();
    if let Some(data) = reply.structured.filter(|_| texts.is_empty()) {
        texts.push(format!("{data:#}"));
    }
    let verdict = if reply.is_error { "reported an error" } else { "replied" };
    Ok(format!("{name} {verdict}:\n{}", texts.join("\n")))
}
