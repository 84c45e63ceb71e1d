//! `gatehouse mcp-config`: prints a client configuration.

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use super::{CommandError, CommandResult, GlobalArgs};
use crate::{
    config::{Config, Env},
    out,
    pinned_command::PinnedCommand,
};

#[derive(Args)]
pub(super) struct Arguments {
    /// Name of the preset
    preset: String,
    /// Name that the client gives this server
    #[arg(long, default_value = "gatehouse")]
    server: String,
    /// URL of a running host, for example http://127.0.0.1:8642; without it, the client starts its own host
    #[arg(long, value_name = "URL")]
    http: Option<String>,
    /// Client to configure
    #[arg(long, value_enum, default_value_t = ClientFormat::Claude)]
    client: ClientFormat,
}

#[derive(Clone, Copy, ValueEnum)]
enum ClientFormat {
    Claude,
    Cursor,
    Vscode,
    Codex,
    Gemini,
}

pub(super) fn run(arguments: &Arguments, global: &GlobalArgs, env: &Env) -> CommandResult {
    let config = global.config(env)?;
    config.select(Some(&arguments.preset), env)?;
    for server in config.servers.enabled().filter(|server| !server.missing.is_empty()) {
        let missing = server.missing.join(", ");
        out::note(format!("server '{}' needs {missing} in the environment of the host", server.name));
    }
    let entry = match &arguments.http {
        Some(url) => remote(url, arguments, env)?,
        None => local(arguments, &config, global, env)?,
    };
    match arguments.client {
        ClientFormat::Claude | ClientFormat::Cursor | ClientFormat::Gemini => {
            out::json(&json!({"mcpServers": {&arguments.server: entry}}))
        }
        ClientFormat::Vscode => out::json(&json!({"servers": {&arguments.server: entry}})),
        ClientFormat::Codex => {
            let table = json!({"mcp_servers": {&arguments.server: entry}});
            out::line(toml::to_string(&table).map_err(CommandError::failed)?.trim_end());
        }
    }
    Ok(())
}

fn local(arguments: &Arguments, config: &Config, global: &GlobalArgs, env: &Env) -> CommandResult<Value> {
    // The client starts the host with another working directory and environment.
    let pinned = PinnedCommand::new(config, global, env)?;
    let line = pinned.arguments(&["serve"], &arguments.preset);
    let mut entry = json!({"command": pinned.program, "args": line});
    if let Some(environment) = pinned.environment() {
        entry["env"] = environment;
    }
    if matches!(arguments.client, ClientFormat::Claude | ClientFormat::Vscode) {
        entry["type"] = json!("stdio");
    }
    Ok(entry)
}

fn remote(url: &str, arguments: &Arguments, env: &Env) -> CommandResult<Value> {
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err(CommandError::usage(format!(
            "--http '{url}' is not a URL such as http://127.0.0.1:8642"
        )));
    }
    let base = url.trim_end_matches('/').trim_end_matches("/mcp");
    let mut entry = Map::new();
    if matches!(arguments.client, ClientFormat::Claude | ClientFormat::Vscode) {
        entry.insert("type".into(), "http".into());
    }
    // For Gemini, `url` means the old SSE transport.
    let key = if matches!(arguments.client, ClientFormat::Gemini) { "httpUrl" } else { "url" };
    entry.insert(key.into(), format!("{base}/mcp/p/{}", arguments.preset).into());
    // Keep the token in the environment; clients expand the variable.
    if env.is_set("GATEHOUSE_TOKEN") {
        if matches!(arguments.client, ClientFormat::Codex) {
            entry.insert("bearer_token_env_var".into(), "GATEHOUSE_TOKEN".into());
        } else {
            let variable = if matches!(arguments.client, ClientFormat::Claude | ClientFormat::Gemini) {
                "${GATEHOUSE_TOKEN}"
            } else {
                "${env:GATEHOUSE_TOKEN}"
            };
            entry.insert("headers".into(), json!({"Authorization": format!("Bearer {variable}")}));
        }
    }
    Ok(Value::Object(entry))
}
