//! `gatehouse mcp-config`: prints a client configuration.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

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
        out::note(format!(
            "server '{}' needs {missing}; `gatehouse servers env set NAME` sets it",
            server.name
        ));
    }
    let entry = match &arguments.http {
        Some(url) => {
            config.not_served(&arguments.preset).into_iter().for_each(out::warn);
            remote(url, arguments, env)?
        }
        // The client starts the host with another working directory and environment.
        None => local(arguments, &PinnedCommand::new(&config, global, env)?),
    };
    let key = match arguments.client {
        ClientFormat::Claude | ClientFormat::Cursor | ClientFormat::Gemini => "mcpServers",
        ClientFormat::Vscode => "servers",
        ClientFormat::Codex => "mcp_servers",
    };
    let file = json!({key: {&arguments.server: entry}});
    match arguments.client {
        ClientFormat::Codex => {
            let file: toml::Value = serde_json::from_value(file).map_err(CommandError::failed)?;
            out::line(toml::to_string(&file).map_err(CommandError::failed)?.trim_end());
        }
        _ => out::json(&file),
    }
    Ok(())
}

/// Returns the configuration of clients that start a host with this preset, in the format of Claude.
pub(crate) fn client_config(
    config: &Config,
    global: &GlobalArgs,
    env: &Env,
    preset: &str,
) -> CommandResult<String> {
    let arguments = Arguments {
        preset: preset.to_owned(),
        server: "gatehouse".to_owned(),
        http: None,
        client: ClientFormat::Claude,
    };
    let entry = local(&arguments, &PinnedCommand::new(config, global, env)?);
    Ok(format!("{:#}", json!({"mcpServers": {&arguments.server: entry}})))
}

fn local(arguments: &Arguments, pinned: &PinnedCommand) -> Value {
    let line = pinned.arguments(&["serve"], &arguments.preset);
    let mut entry = json!({"command": pinned.program, "args": line});
    if let Some(environment) = pinned.environment() {
        entry["env"] = environment;
    }
    if matches!(arguments.client, ClientFormat::Claude | ClientFormat::Vscode) {
        entry["type"] = json!("stdio");
    }
    entry
}

fn remote(url: &str, arguments: &Arguments, env: &Env) -> CommandResult<Value> {
    if !url.starts_with("http://") && !url.starts_with("https://") {
        let reason = format!("--http '{url}' is not a URL such as http://127.0.0.1:8642");
        return Err(CommandError::usage(reason));
    }
    let base = url.trim_end_matches('/').trim_end_matches("/mcp");
    let mut entry = json!({});
    if matches!(arguments.client, ClientFormat::Claude | ClientFormat::Vscode) {
        entry["type"] = json!("http");
    }
    // For Gemini, `url` means the old SSE transport.
    let key = if matches!(arguments.client, ClientFormat::Gemini) { "httpUrl" } else { "url" };
    entry[key] = json!(format!("{base}/mcp/p/{}", arguments.preset));
    if env.is_set("GATEHOUSE_TOKEN") {
        // Keep the token in the environment; clients expand the variable.
        let bearer = |variable: &str| json!({"Authorization": format!("Bearer ${{{variable}}}")});
        match arguments.client {
            ClientFormat::Codex => entry["bearer_token_env_var"] = json!("GATEHOUSE_TOKEN"),
            ClientFormat::Claude | ClientFormat::Gemini => entry["headers"] = bearer("GATEHOUSE_TOKEN"),
            ClientFormat::Cursor | ClientFormat::Vscode => entry["headers"] = bearer("env:GATEHOUSE_TOKEN"),
        }
    }
    Ok(entry)
}
