//! `gatehouse servers`: manages the MCP servers.

mod add;
mod effects;
mod environment;
mod import;
mod login;
mod refresh;
mod review;

use std::{collections::BTreeMap, sync::Arc};

use clap::Subcommand;
use gatehouse_core::{
    effect_rule::EffectRule,
    ports::servers::{ServerDefinition, ServerTransport},
    source::OmittedItems,
};
use serde_json::{Map, Value, json};

use self::login::LoginReport;
pub(super) use self::login::open;
pub(crate) use self::review::pretty_json;
use super::{CommandError, CommandResult, GlobalArgs, OutputFormat, PlainError, confirm, with_header};
use crate::{
    compose::Composition,
    config::{Env, ServerConfig, added::FileServerStore},
    control::{self, HostFacts, RunningHost},
    out,
};

#[derive(Subcommand)]
pub(super) enum Command {
    /// List configured servers without starting them
    List(OutputFormat),
    /// Show the state of servers in the running hosts, without starting them
    Status(OutputFormat),
    /// Read the tools of one server or all servers again
    Refresh(refresh::RefreshArgs),
    /// Show changes that are quarantined, and approve them
    Review(review::ReviewArgs),
    /// Find servers in an MCP registry
    Search(add::ServerSearchArgs),
    /// Add a server: a program after --, a URL, or one of an MCP registry
    Add(Box<add::AddServerArgs>),
    /// Remove a server from presets.toml or from the added ones
    Remove {
        /// Name of the server
        server: String,
        #[command(flatten)]
        output: OutputFormat,
    },
    /// Show the servers in other clients' files as presets.toml blocks, or write them into it
    Import(import::Arguments),
    /// Set variables that servers need, in the file `environment` of the configuration directory
    #[command(subcommand)]
    Env(environment::EnvCommand),
    /// Log in to a server in a browser, which is opened
    Login(login::LoginArgs),
    /// Delete the login to a server, and revoke it at the authorization server
    Logout(login::LogoutArgs),
}

pub(super) async fn run(command: Command, global: &GlobalArgs, env: &Env) -> CommandResult {
    match command {
        Command::List(output) => list(&global.compose(env)?, env, output).await,
        Command::Status(output) => status(&global.compose(env)?, env, output).await,
        Command::Refresh(arguments) => refresh::refresh(&global.compose(env)?, &arguments).await,
        Command::Review(asked) => review::review(asked, &global.compose(env)?).await,
        Command::Search(arguments) => add::search(&arguments).await,
        Command::Add(arguments) => add::add(*arguments, global, env).await,
        Command::Remove { server, output } => add::remove(&server, global, env, output),
        Command::Import(arguments) => import::run(&arguments, global, env).await,
        Command::Env(command) => environment::run(command, global, env),
        Command::Login(arguments) => login::log_in(&arguments, global, env).await,
        Command::Logout(arguments) => login::log_out(&arguments, global, env).await,
    }
}

/// Lists the tools of servers that were written now, declares their effects, and prints how many tools each has, or why it
/// has none.
async fn list_new_servers(
    names: &[&str],
    effects: &[EffectRule],
    global: &GlobalArgs,
    env: &Env,
    output: OutputFormat,
) -> CommandResult {
    if names.is_empty() {
        return Ok(());
    }
    let composition = global.compose(env)?;
    composition.forget_failures(|server| names.contains(&server));
    let failed = composition.list_servers(&|server| names.contains(&&*server.name)).await;
    for (server, reason) in failed {
        out::note(naming_server(&server, &reason));
    }
    if !effects.is_empty() {
        for name in names {
            effects::declare(&composition, name, effects).await?;
        }
    }
    if output.json {
        return Ok(());
    }
    let mut servers = composition.known_servers().await?;
    servers.retain(|name, _| names.contains(&name.as_str()));
    for (name, server) in &servers {
        if let Some(listing) = &server.listing {
            out::line(format!("server '{name}': {} tools", listing.listing.tools.len()));
        }
    }
    let omitted = composition.omitted_items().await?;
    print_omitted(omitted.iter().filter(|(name, _)| names.contains(&name.as_str())));
    effects::print_undeclared(&effects::undeclared(&composition, &servers).await?, false);
    Ok(())
}

/// Adds the name of a server to the reason of its failure, if that does not have it.
fn naming_server(server: &str, reason: &str) -> String {
    let name = format!("server '{server}'");
    if reason.contains(&name) { reason.to_owned() } else { format!("{name}: {reason}") }
}

fn note_missing_variables(variables: &[(String, String)]) {
    for (variable, value) in variables {
        out::note(format!("Run `gatehouse servers env set {variable}`: its value is {value}."));
    }
}

/// Shows the configured servers without contacting them.
async fn list(composition: &Composition, env: &Env, output: OutputFormat) -> CommandResult {
    let config = &composition.config;
    let left_out = composition.omitted_items().await?;
    let added = FileServerStore::new(Arc::clone(config), env.clone()).snapshot();
    let declared = config.servers.declared.iter().map(|server| (server, "presets.toml"));
    let configured_servers = declared.chain(added.servers.iter().map(|server| (server, "added")));
    let servers: Vec<Value> = configured_servers
        .map(|((name, server), from)| one(name, server, from, left_out.get(name)))
        .collect();
    added.problems.iter().for_each(out::error);
    output.print(&servers, || {
        if servers.is_empty() {
            return out::line(
                "No servers yet. Add one with `gatehouse servers add`, or import those of other clients with `gatehouse \
                servers import`.",
            );
        }
        let header = ["SERVER", "TRANSPORT", "STATE", "FROM", "TAGS", "REACHED BY"];
        out::table(&with_header(header, servers.iter().map(row)));
        print_omitted(&left_out);
    });
    Ok(())
}

fn row(server: &Value) -> Vec<String> {
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
    vec![text("name"), text("transport"), state, text("from"), list("tags"), text("reached_by")]
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
    let mut command_or_url = match &definition.transport {
        ServerTransport::Stdio { command, args, .. } => {
            let words = std::iter::once(command).chain(args);
            words.map(String::as_str).collect::<Vec<_>>().join(" ")
        }
        ServerTransport::Http { url, .. } | ServerTransport::Sse { url, .. } => url.clone(),
    };
    for secret in definition.secrets.iter().filter(|secret| !secret.reveal().is_empty()) {
        command_or_url = command_or_url.replace(secret.reveal(), "[secret]");
    }
    command_or_url
}

/// Prints the servers as each running host sees them, because hosts have separate connections, and the logins, which
/// all hosts share.
async fn status(composition: &Composition, env: &Env, output: OutputFormat) -> CommandResult {
    let left_out = composition.omitted_items().await?;
    let hosts = control::running(&composition.config.state).await;
    let configured = composition.stores.servers.status();
    let logins = login::all(&composition.config, env).await;
    let (shared, caller_logins): (Vec<&LoginReport>, Vec<_>) =
        logins.iter().partition(|login| login.principal.is_none());
    let shared = shared.into_iter().map(|login| (login.server.clone(), login.to_json()));
    let host = |host: &RunningHost| {
        let HostFacts { pid, preset, .. } = &host.facts;
        json!({"pid": pid, "preset": preset, "servers": host.servers, "silent": host.silent})
    };
    let report = json!({
        "configured": configured,
        "hosts": hosts.iter().map(host).collect::<Vec<_>>(),
        "left_out": left_out,
        "logins": shared.collect::<Map<_, _>>(),
        "logins_of_callers": caller_logins.into_iter().map(LoginReport::to_json_of_caller).collect::<Vec<_>>(),
    });
    output.print(&report, || {
        if hosts.is_empty() {
            out::note("No host uses this data directory, so no server is connected.");
        }
        states(&hosts, &configured).iter().for_each(out::line);
        hosts.iter().filter(|host| host.silent.is_some()).for_each(|host| out::line(host.to_string()));
        print_omitted(&left_out);
        for login in &logins {
            let owner_suffix =
                login.principal.as_ref().map_or_else(String::new, |owner| format!(" of {owner}"));
            out::line(format!("login{owner_suffix} to '{}': {}", login.server, login.describe()));
        }
    });
    Ok(())
}

/// Returns how many tools of each server have an unknown effect. Starts none.
pub(super) async fn undeclared_tools(composition: &Composition) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    // `omitted_items` reports an index that cannot be read.
    if let Ok(known) = composition.known_servers().await {
        for tool in effects::undeclared(composition, &known).await.unwrap_or_default() {
            *counts.entry(tool.server).or_default() += 1;
        }
    }
    counts
}

/// Prints a line for each server whose last listing is incomplete.
fn print_omitted<'a>(omitted: impl IntoIterator<Item = (&'a String, &'a OmittedItems)>) {
    omitted.into_iter().for_each(|(server, omitted)| out::line(format!("server '{server}': {omitted}")));
}

/// Returns a table of servers by host, or of the configured servers if no host runs.
pub(super) fn states(hosts: &[RunningHost], configured: &[Value]) -> Vec<String> {
    let configured = configured.iter().filter(|_| hosts.is_empty()).map(|server| ("-".to_owned(), server));
    let of_hosts =
        hosts.iter().flat_map(|host| host.servers.iter().map(|server| (host.facts.pid.to_string(), server)));
    let rows = configured.chain(of_hosts).map(|(host, server)| {
        let text = |key: &str| server[key].as_str().unwrap_or_default().to_owned();
        let state = ["name", "transport", "state", "circuit", "last_error"].map(text);
        std::iter::once(host).chain(state).collect()
    });
    let header = ["HOST", "SERVER", "TRANSPORT", "STATE", "CIRCUIT", "LAST ERROR"];
    out::columns(&with_header(header, rows))
}
