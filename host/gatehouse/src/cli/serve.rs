//! `gatehouse serve`: serves a preset over stdio, or all presets over HTTP.

mod background;
mod greeting;

use std::{net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use clap::Args;
use gatehouse_core::{CompiledPreset, pipeline::ApprovalQueue};
use gatehouse_wire::serve::{self, BearerToken, Credentials, HttpError, HttpSettings, ServedPresets};
use tokio::{sync::mpsc, time::timeout};

use self::background::BackgroundTasks;
use self::greeting::{Greeting, over_stdio};
use super::{CommandError, CommandResult, GlobalArgs};
use crate::{
    compose::{self, AnonymousCallers, Composition, HostReadiness},
    config::{self, Config, Env, applied},
    control::{ControlledHost, HostFacts},
    desktop,
    reload::{ConfigOrigin, ReloadReporter, Reloader},
    scraped::ScrapedHost,
    signals, system_limits, traces,
};

/// Time for a start to report its error after the client disconnected.
const MAX_ERROR_WAIT: Duration = Duration::from_secs(1);

#[derive(Args)]
pub(super) struct Arguments {
    /// Preset to serve [default: MCP_PRESET, else MCP_ENABLED_GATES, else default_preset]
    #[arg(long, value_name = "PRESET")]
    preset: Option<String>,
    /// Serve over HTTP on this address, for example 127.0.0.1:8642, localhost:8642 or 8642; beyond loopback,
    /// GATEHOUSE_TOKEN is required
    #[arg(long, value_name = "ADDR", value_parser = config::listen_address)]
    pub(super) http: Option<SocketAddr>,
    /// Log each call: tool, preset, milliseconds, outcome, bytes
    #[arg(long)]
    pub(super) log_calls: bool,
}

pub(super) async fn run(arguments: Arguments, global: &GlobalArgs, env: &Env) -> CommandResult {
    let limits = system_limits::read();
    system_limits::check(limits)?;
    let traces = match traces::start(env) {
        Ok(traces) => traces,
        // A client passes on the variables of its own exporter, which are no mistake of its user.
        Err(reason) if arguments.http.is_none() => {
            tracing::warn!("sending no traces: {reason}");
            None
        }
        Err(reason) => return Err(CommandError::usage(reason)),
    };
    let composition = global.compose(env)?;
    applied::check_start(&composition.config, arguments.http.is_some())?;
    // Fail if the index file is missing: it selects one wiki. Files that it names may be missing for a while.
    if let Some(path) = &composition.config.knowledge.index_file {
        config::read_index(path)?;
    }
    for reason in config::unused(&composition.config, env) {
        tracing::info!("{reason}");
    }
    let origin = ConfigOrigin {
        gates: global.gates.clone(),
        preset: arguments.preset,
        env: env.clone(),
        all: arguments.http.is_some(),
        by_trust: composition.config.choice.by_trust,
    };
    let chosen = origin.select(&composition.config)?;
    let config = &composition.config;
    let unnamed = if origin.all { config.no_default() } else { config.unnamed_default() };
    if let Some(reason) = unnamed.filter(|_| !origin.chooses_preset()) {
        let instead =
            if origin.all { "" } else { &format!("; using the shipped preset '{}'", chosen.preset) };
        tracing::warn!("{}{instead}", reason.trim_end_matches('.'));
    }
    let drain = composition.config.http.drain;
    let mut background = BackgroundTasks::default();
    let approvals = Arc::<ApprovalQueue>::default();
    let pipeline = composition.stages(&AnonymousCallers::HostClients, Arc::clone(&approvals));
    let features = composition.stores.servers.live.connected_clients();
    let presets = ServedPresets::starting(pipeline, &chosen.preset, chosen.description.clone(), features);
    let presets = Arc::new(presets.map_err(CommandError::usage)?);
    let served = match arguments.http {
        None => {
            over_stdio(&chosen.preset);
            let stop = signals::shutdown_token(Some(drain));
            let mut served = pin!(serve::serve_stdio(Arc::clone(&presets), drain, stop));
            let mut opening =
                Box::pin(open(composition, &chosen, origin, None, &mut background, (presets, approvals)));
            let served = tokio::select! {
                biased;
                opened = opening.as_mut() => {
                    opened?;
                    served.await
                }
                // The client disconnected, or a signal ended the host, before a preset was ready.
                served = served.as_mut() => {
                    if let Ok(Err(failure)) = timeout(MAX_ERROR_WAIT, opening.as_mut()).await {
                        return Err(failure);
                    }
                    served
                }
            };
            drop(opening);
            served.map_err(CommandError::failed)
        }
        Some(address) => {
            // Bind first, so that an unavailable address fails before the gates are loaded.
            // With `[auth]`, the token of the host is one more credential only if the file names it.
            let uses_token = composition.config.auth.as_ref().is_none_or(|auth| auth.token);
            let token = env.get("GATEHOUSE_TOKEN").filter(|_| uses_token);
            if !uses_token && env.is_set("GATEHOUSE_TOKEN") {
                tracing::warn!("GATEHOUSE_TOKEN is ignored: to accept it, write token = true under [auth]");
            }
            let variable = match token {
                Some(_) => Some("GATEHOUSE_TOKEN"),
                None => composition.config.auth.as_ref().map(|_| "KEY"),
            };
            let token = token.map(|token| BearerToken::new(token.to_owned())).transpose();
            let seal = compose::seal_keys(env, &composition.config.state).map_err(CommandError::usage)?;
            let token = token.map_err(CommandError::usage)?;
            let credentials = Credentials { token, authenticator: composition.authenticator() };
            let readiness = HostReadiness::new(
                composition.config.state.clone(),
                composition.stores.clone(),
                composition.config.auth.is_some(),
            );
            // Without people, the listener for operators is open on loopback.
            let operators_need = Some(credentials.clone()).filter(|known| known.authenticator.is_some());
            let http = serve::bind(address, credentials).await.map_err(http_failure)?;
            let settings = composition.config.http.clone().with_memory(limits.memory);
            let (metrics, operators) =
                operators(&composition, operators_need.unwrap_or_default(), Arc::clone(&presets), &settings)
                    .await?;
            let mut http = http.with_audit(composition.stores.audit_log());
            if let Some(base) = browser_url(&composition.config, http.address) {
                http = http.with_sign_ins(composition.stores.open_sign_ins(&base));
            }
            let at = http.address;
            tracing::debug!(address = %at, "listening; composing presets");
            let stop = signals::shutdown_token(Some(drain));
            let mut served =
                pin!(http.serve(Arc::clone(&presets), settings, seal, Arc::new(readiness), stop));
            let clients = async {
                tokio::select! {
                    biased;
                    opened = open(composition, &chosen, origin, Some(at), &mut background, (presets, approvals)) => {
                        let greeted = opened?.over_http(at, metrics, &chosen.preset, variable);
                        tokio::join!(greeted, served);
                    }
                    () = served.as_mut() => {}
                }
                Ok(())
            };
            tokio::select! {
                ended = clients => ended,
                () = operators => Ok(()),
            }
        }
    };
    background.end().await;
    if let Some(traces) = traces {
        let _ = tokio::task::spawn_blocking(move || traces.end()).await;
    }
    served
}

/// Binds the listener for operators, if there is one, and returns its address. The future serves it, and does not end.
async fn operators(
    composition: &Composition,
    credentials: Credentials,
    presets: Arc<ServedPresets>,
    settings: &HttpSettings,
) -> CommandResult<(Option<SocketAddr>, impl Future<Output = ()> + use<>)> {
    let (settings, audit) = (settings.clone(), composition.stores.audit_log());
    let admin = match composition.config.admin {
        Some(address) => {
            let rules = &composition.config.access.declared;
            if credentials.authenticator.is_some() && !rules.iter().any(|rule| rule.admin) {
                tracing::warn!("no caller may read the metrics: no access rule has admin = true");
            }
            let admin = serve::bind_admin(address, credentials).await.map_err(admin_failure)?;
            let metrics = gatehouse_telemetry::start();
            metrics.build_info.series([env!("CARGO_PKG_VERSION")]).set(1);
            Some((admin, metrics))
        }
        None => None,
    };
    let address = admin.as_ref().map(|(admin, _)| admin.address);
    let serve = async move {
        match admin {
            Some((admin, metrics)) => admin.serve(presets, &settings, audit, metrics).await,
            None => std::future::pending().await,
        }
    };
    Ok((address, serve))
}

/// Composes the presets, starts hot reload and opens the control socket of the host.
async fn open(
    composition: Composition,
    chosen: &CompiledPreset,
    origin: ConfigOrigin,
    address: Option<SocketAddr>,
    background: &mut BackgroundTasks,
    (presets, approvals): (Arc<ServedPresets>, Arc<ApprovalQueue>),
) -> CommandResult<Greeting> {
    let views = composition.views(chosen, origin.all).await.map_err(CommandError::usage)?;
    // MCP_ENABLED_GATES is for hosts without a file, so nobody would see calls that are denied.
    if !chosen.declared && chosen.gates().next().is_some() {
        let lacking = composition.ungranted(chosen).await;
        if !lacking.is_empty() {
            return Err(CommandError::usage(lacking.join("; ")));
        }
    }
    let greeting = Greeting::from_views(&views);
    let failing = views.failing();
    for (preset, reason) in &failing {
        tracing::warn!(%preset, "cannot be served: {reason}");
    }
    for lack in composition.unmet_grants().await {
        tracing::warn!("{lack}");
    }
    let report = ReloadReporter::default();
    if let Some(metrics) = gatehouse_telemetry::metrics() {
        let scraped = ScrapedHost {
            sandbox: composition.gates.sandbox.clone(),
            servers: Arc::clone(&composition.stores.servers),
            presets: Arc::downgrade(&presets),
            reloads: report.follow(),
        };
        scraped.begin(metrics);
    }
    report.unmatched_patterns(composition.unmatched_in_views(&views, chosen).await);
    background.spawn(composition.stores.clone().sweep());
    composition.stores.servers.live.preconnect();
    presets.begin(views, &composition.config.access.rules);
    let facts = HostFacts::new(&composition.config, &chosen.preset, address);
    let (reloads, requests) = mpsc::channel(1);
    let host = ControlledHost {
        facts,
        presets: Arc::clone(&presets),
        health: report.follow(),
        servers: Arc::clone(&composition.stores.servers),
        ledger: composition.stores.ledger_health(),
        reloads,
        approvals: Arc::clone(&approvals),
    };
    background.spawn(host.serve(composition.config.state.clone()));
    if composition.config.desktop_notifications {
        background.spawn(desktop::announce_approvals(approvals));
    }
    background.spawn(Reloader::new(origin, presets, composition, failing, report).run(requests));
    Ok(greeting)
}

/// Returns the URL at which browsers reach this host: that of `[auth]`, or a loopback address. `None` if neither is
/// known.
fn browser_url(config: &Config, address: SocketAddr) -> Option<String> {
    let configured = config.auth.as_ref().and_then(|auth| auth.base_url.clone());
    configured.or_else(|| address.ip().is_loopback().then(|| format!("http://{address}")))
}

fn http_failure(error: HttpError) -> CommandError {
    let next = match &error {
        HttpError::NeedsToken(_) => {
            "Set GATEHOUSE_TOKEN (`openssl rand -hex 32` makes one), or listen on 127.0.0.1."
        }
        HttpError::Bind { .. } => {
            "Is another host running there? Choose another port with --http, or 0 for any."
        }
        HttpError::NeedsAuth(_) | HttpError::NotLoopback(_) => "",
    };
    CommandError::usage(format!("{error}. {next}"))
}

fn admin_failure(error: HttpError) -> CommandError {
    let next = match &error {
        HttpError::Bind { .. } => "Is another host running there? Choose another port.",
        _ => "Add [auth] and an access rule with `admin = true`, or listen on 127.0.0.1.",
    };
    CommandError::usage(format!("[admin] listen: {error}. {next}"))
}
