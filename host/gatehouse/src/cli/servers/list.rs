//! `gatehouse servers list`: shows the configured servers without contacting them.

use std::sync::Arc;

use gatehouse_core::{
    ports::servers::{ServerDefinition, ServerTransport},
    source::OmittedItems,
};
use serde_json::{Value, json};

use super::{CommandError, status::print_omitted};
use crate::{
    compose::Composition,
    config::{Env, ServerConfig, added::FileServerStore},
    out,
};

pub(super) async fn list(composition: &Composition, env: &Env, json: bool) -> Result<(), CommandError> {
    let config = &composition.config;
    let left_out = composition.omitted_items().await?;
    let added = FileServerStore::new(Arc::clone(config), env.clone()).snapshot();
    let declared = config.servers.declared.iter().map(|server| (server, "presets.toml"));
    let all = declared.chain(added.servers.iter().map(|server| (server, "added")));
    let servers: Vec<Value> =
        all.map(|((name, server), from)| one(name, server, from, left_out.get(name))).collect();
    added.problems.iter().for_each(out::error);
    if json {
        out::json(&servers);
        return Ok(());
    }
    if servers.is_empty() {
        out::line(
            "No servers yet. Add one with `gatehouse servers add`, or import those of other clients with `gatehouse \
            servers import`.",
        );
        return Ok(());
    }
    let mut rows: Vec<Vec<String>> =
        vec![["SERVER", "TRANSPORT", "STATE", "FROM", "TAGS", "REACHED BY"].map(str::to_owned).into()];
    for server in &servers {
        let text = |key: &str| server[key].as_str().unwrap_or_default().to_owned();
        let list = |key: &str| {
            let words = server[key].as_array().into_iter().flatten().filter_map(Value::as_str);
            words.collect::<Vec<_>>().join(", ")
        };
        let state = match (server["enabled"].as_bool(), list("missing")) {
            (Some(false), _) => "disabled".into(),
            (_, missing) if missing.is_empty() => "enabled".into(),
            (_, missing) => format!("needs {missing}"),
        };
        rows.push(vec![
            text("name"),
            text("transport"),
            state,
            text("from"),
            list("tags"),
            text("reached_by"),
        ]);
    }
    out::table(&rows);
    print_omitted(&left_out);
    Ok(())
}

fn one(name: &str, server: &ServerConfig, from: &str, left_out: Option<&OmittedItems>) -> Value {
    let definition = &server.definition;
    json!({
        "name": name,
        "transport": definition.transport.as_str(),
        "reached_by": reached_by(definition),
        "enabled": server.enabled,
        "from": from,
        "tags": definition.tags,
        "preconnect": definition.preconnect,
        "on_change": definition.on_change,
        "timeout_ms": definition.timeout.as_millis() as u64,
        "missing": definition.missing,
        "left_out": left_out,
    })
}

/// Returns the command line or the URL, with secrets redacted.
pub(crate) fn reached_by(definition: &ServerDefinition) -> String {
    let mut shown = match &definition.transport {
        ServerTransport::Stdio { command, args, .. } => {
            let words = std::iter::once(command).chain(args);
            words.map(String::as_str).collect::<Vec<_>>().join(" ")
        }
        ServerTransport::Http { url, .. } | ServerTransport::Sse { url, .. } => url.clone(),
    };
    for secret in definition.secrets.iter().filter(|secret| !secret.reveal().is_empty()) {
        shown = shown.replace(secret.reveal(), "[secret]");
    }
    shown
}
