//! `gatehouse servers login` and `logout`: OAuth logins to servers, in a browser.

use std::{
    io::{BufRead as _, Read as _},
    process::Stdio,
    sync::Arc,
};

use async_trait::async_trait;
use clap::Args;
use gatehouse_core::{
    http::Secret,
    names::{did_you_mean, quoted},
    ports::servers::{ServerLogin, ServerTransport},
};
use gatehouse_wire::login::{LoginDialog, LoginEndpoints, LoginId, LoginState, LogoutOutcome, Url};
use serde_json::{Value, json};
use tokio::process::Command;

use super::{CommandError, CommandResult, GlobalArgs, OutputFormat, PlainError, confirm};
use crate::{
    compose::{forget_failed_listings, logins, principal_named},
    config::{Config, Env, ServerConfig, added::FileServerStore},
    out,
};

#[derive(Args)]
pub(in crate::cli) struct LoginArgs {
    /// Name of the server
    server: String,
    /// Scopes to request, separated by spaces [default: those of presets.toml or of the server]
    #[arg(long, value_name = "SCOPES")]
    scope: Option<String>,
    /// Principal whose login it is, such as key:ann; the server needs login = "caller" [default: all callers share it]
    #[arg(long = "as", value_name = "WHO")]
    principal: Option<String>,
    /// Read a token of the server from standard input, such as a personal access token, instead of using a browser
    #[arg(long, conflicts_with_all = ["scope", "no_browser"])]
    token: bool,
    /// Read an ID token of the identity provider in presets.toml from standard input, instead of using a browser
    #[arg(long, conflicts_with_all = ["token", "no_browser"])]
    id_token: bool,
    /// Open no browser; the address is printed either way
    #[arg(long)]
    no_browser: bool,
    #[command(flatten)]
    output: OutputFormat,
}

pub(super) async fn log_in(arguments: &LoginArgs, global: &GlobalArgs, env: &Env) -> CommandResult {
    let (config, name) = (Arc::new(global.config(env)?), arguments.server.as_str());
    let server = declared(&config, name, env)?;
    let url = address(name, &server)?;
    let mut settings = server.login;
    if let Some(scopes) = &arguments.scope {
        settings.scopes = scopes.split_whitespace().map(str::to_owned).collect();
    }
    let id = login_id(name, arguments.principal.as_deref());
    if id.owner().is_some() && server.definition.login != ServerLogin::Caller {
        let reason = format!(
            "server '{name}' has one login for all callers; to change that, set login = \"caller\" under \
            [servers.{name}] in presets.toml"
        );
        return Err(CommandError::usage(reason));
    }
    let logins = logins(&config);
    let dialog = TerminalDialog(arguments);
    let state = if arguments.token {
        logins.store_token(&id, &url, &token_from_input()?).await?
    } else if arguments.id_token {
        logins.log_in_with_id_token(&id, &url, &settings, &dialog, &token_from_input()?).await?
    } else {
        logins.log_in(&id, &url, &settings, &dialog).await?
    };
    tokio::task::block_in_place(|| forget_failed_listings(&config.state));
    if let (true, LoginState::Valid { until, renewable }) = (arguments.output.json, &state) {
        out::json(&json!({"server": name, "logged_in": true, "until_ms": until, "renewable": renewable}));
    } else {
        let state = describe_login(&state, logins.now_ms());
        out::line(format!("logged in to '{name}'{}; {state}", whose(&id)));
    }
    Ok(())
}

fn login_id(server: &str, principal: Option<&str>) -> LoginId {
    match principal {
        Some(name) => LoginId::from_principal(server, &principal_named(name)),
        None => LoginId::shared(server),
    }
}

/// Returns the owner of a login for a sentence. Empty for the one that all callers share.
fn whose(id: &LoginId) -> String {
    id.owner().map_or_else(String::new, |owner| format!(" as {}", quoted(owner.as_str(), 200)))
}

/// Reads one line from standard input.
fn token_from_input() -> CommandResult<Secret> {
    const MAX_LINE: u64 = 64 << 10;
    let mut line = String::new();
    let read = std::io::stdin().lock().take(MAX_LINE).read_line(&mut line);
    read.map_err(|error| format!("cannot read the token from standard input: {error}"))
        .map_err(CommandError::failed)?;
    let missing = "standard input has no token; write it there, for example with a pipe";
    let token = Some(line.trim()).filter(|token| !token.is_empty());
    token.map(Secret::new).ok_or_else(|| CommandError::usage(missing))
}

struct TerminalDialog<'a>(&'a LoginArgs);

#[async_trait]
impl LoginDialog for TerminalDialog<'_> {
    async fn confirm(&self, endpoints: &LoginEndpoints) -> Option<bool> {
        let origins = endpoints.origins.iter().map(|(name, origin)| format!("  {name:14} {origin}\n"));
        let question = format!(
            "The authorization server {} of '{}' has endpoints at other hosts:\n\n{}\nEach of them gets a part of the \
             login. Continue only if you know that they belong together. Log in there? [y/N] ",
            endpoints.issuer,
            self.0.server,
            origins.collect::<String>()
        );
        if self.0.output.json { None } else { confirm(false, false, question).await.ok() }
    }

    fn show(&self, issuer: &Url, address: &Url) {
        let server = &self.0.server;
        out::notice(format!(
            "Logging in to '{server}' at {issuer}\nOpen this address within five minutes:\n\n  \
             {address}\n"
        ));
        if !self.0.no_browser && !open(address.as_str()) {
            out::notice("No browser could be opened here; open the address on this machine yourself.");
        }
    }
}

#[derive(Args)]
pub(in crate::cli) struct LogoutArgs {
    /// Name of the server
    server: String,
    /// Principal whose login it is, such as key:ann [default: the one that all callers share]
    #[arg(long = "as", value_name = "WHO")]
    principal: Option<String>,
    #[command(flatten)]
    output: OutputFormat,
}

pub(super) async fn log_out(arguments: &LogoutArgs, global: &GlobalArgs, env: &Env) -> CommandResult {
    let LogoutArgs { server: name, principal, output } = arguments;
    // The server may no longer be declared.
    let (logins, id) = (logins(&global.config(env)?), login_id(name, principal.as_deref()));
    let (revoked, reason) = match logins.log_out(&id).await? {
        LogoutOutcome::NoLogin => {
            bail!("there is no login to '{name}'{}", whose(&id));
        }
        LogoutOutcome::Revoked => (true, None),
        LogoutOutcome::Forgotten(reason) => (false, Some(reason)),
    };
    let report = json!({"server": name, "logged_in": false, "revoked": revoked, "reason": reason});
    output.print(&report, || {
        out::line(format!("logged out of '{name}'{}", whose(&id)));
        reason.iter().for_each(|reason| out::note(format!("The login was deleted only here. {reason}")));
    });
    Ok(())
}

pub(super) struct LoginReport {
    pub(super) server: String,
    /// Principal whose login it is. `None` for the one that all callers share.
    pub(super) principal: Option<String>,
    state: Result<LoginState, PlainError>,
    /// Time of the check, as Unix time in milliseconds.
    now: u64,
}

impl LoginReport {
    /// Describes the login, with the command to run if one is needed.
    pub(super) fn describe(&self) -> String {
        let server = &self.server;
        match &self.state {
            Err(reason) => reason.to_string(),
            Ok(LoginState::None) => format!("needs `gatehouse servers login {server}`"),
            Ok(state @ (LoginState::Ended | LoginState::Elsewhere { .. })) if self.principal.is_none() => {
                format!("{}; run: gatehouse servers login {server}", describe_login(state, self.now))
            }
            Ok(state) => describe_login(state, self.now),
        }
    }

    /// Returns the members of the JSON output. `state` is `none`, `valid`, `ended`, `elsewhere` or `unknown`.
    pub(super) fn to_json(&self) -> Value {
        match &self.state {
            Err(reason) => json!({"state": "unknown", "error": reason}),
            Ok(LoginState::None) => json!({"state": "none"}),
            Ok(LoginState::Valid { until, renewable }) => {
                json!({"state": "valid", "until_ms": until, "renewable": renewable})
            }
            Ok(LoginState::Ended) => json!({"state": "ended"}),
            Ok(LoginState::Elsewhere { server }) => json!({"state": "elsewhere", "url": server}),
        }
    }

    /// Returns the members of the JSON output, with the server and the principal.
    pub(super) fn to_json_of_caller(&self) -> Value {
        let mut report = self.to_json();
        report["server"] = json!(self.server);
        report["principal"] = json!(self.principal);
        report
    }
}

/// Returns all logins to declared servers, including missing ones that a server's block requires.
pub(super) async fn all(config: &Arc<Config>, env: &Env) -> Vec<LoginReport> {
    let logins = logins(config);
    let servers = FileServerStore::new(Arc::clone(config), env.clone()).configured();
    // Without the folder, or without the right to read it, no principal has a login that works.
    let of_principals = logins.of_principals().await.unwrap_or_default();
    let report = async |server: &str, id: &LoginId, url: &str| LoginReport {
        server: server.to_owned(),
        principal: id.owner().map(|owner| owner.as_str().to_owned()),
        state: logins.state(id, url).await.map_err(PlainError::from),
        now: logins.now_ms(),
    };
    let mut login_reports = Vec::new();
    for (name, server) in servers {
        let Ok(url) = address(&name, &server) else { continue };
        let shared = report(&name, &LoginId::shared(&name), &url).await;
        // With one login per caller, the shared one only lists the tools.
        let wants_login =
            server.wants_login && server.enabled && server.definition.login == ServerLogin::Shared;
        if wants_login || shared.state != Ok(LoginState::None) {
            login_reports.push(shared);
        }
        for id in of_principals.iter().filter(|id| id.server() == name) {
            login_reports.push(report(&name, id, &url).await);
        }
    }
    login_reports
}

fn describe_login(state: &LoginState, now: u64) -> String {
    match state {
        LoginState::None => "login needed".into(),
        LoginState::Ended => "the login is no longer valid".into(),
        LoginState::Elsewhere { server } => format!("the login is for {server}"),
        LoginState::Valid { until, renewable } => {
            let holds = match until {
                Some(until) if *renewable && *until <= now => {
                    return "the next request renews the login".into();
                }
                Some(until) => format!("the login is valid for {} min", until.saturating_sub(now) / 60_000),
                None => "the login has no known expiry".into(),
            };
            if *renewable { format!("{holds}, and is renewed before it expires") } else { holds }
        }
    }
}

fn declared(config: &Arc<Config>, name: &str, env: &Env) -> CommandResult<ServerConfig> {
    let mut servers = FileServerStore::new(Arc::clone(config), env.clone()).configured();
    servers.remove(name).ok_or_else(|| {
        let suggestion = did_you_mean(name, servers.keys().map(String::as_str));
        CommandError::usage(format!("there is no server '{name}'.{suggestion}"))
    })
}

fn address(name: &str, server: &ServerConfig) -> CommandResult<String> {
    let usage = |reason: &str| Err(CommandError::usage(format!("server '{name}' {reason}")));
    let definition = &server.definition;
    let (ServerTransport::Http { url, headers } | ServerTransport::Sse { url, headers }) =
        &definition.transport
    else {
        return usage("is a program; only servers with a url have logins");
    };
    if !definition.missing.is_empty() {
        let missing = definition.missing.join(", ");
        return usage(&format!("needs the environment variable {missing}, which is not set"));
    }
    if headers.iter().any(|(header, _)| header.eq_ignore_ascii_case("authorization")) {
        return usage("has an Authorization header in its block; remove it to log in");
    }
    Ok(url.clone())
}

/// Opens the default browser. Returns whether that worked.
pub(in crate::cli) fn open(url: &str) -> bool {
    let (program, before): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("rundll32", &["url.dll,FileProtocolHandler"]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(before).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}
