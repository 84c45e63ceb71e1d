//! `gatehouse serve`

use std::{net::SocketAddr, sync::Arc};

use clap::Args;
use gatehouse_wire::serve::{self, HttpError, Token};
use tokio_util::sync::CancellationToken;

use super::{Failure, Place};
use crate::{compose::Composition, config::Env, out};

#[derive(Args)]
pub(super) struct Arguments {
    /// The preset to serve [default: MCP_PRESET, else MCP_ENABLED_GATES, else default_preset]
    #[arg(long, value_name = "PRESET")]
    preset: Option<String>,
    /// Serve over HTTP on this address, for example 127.0.0.1:8642; beyond loopback GATEHOUSE_TOKEN is required
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
}

pub(super) async fn run(arguments: Arguments, place: &Place, env: &Env) -> Result<(), Failure> {
    let composition = place.compose(env)?;
    let chosen = composition.config.select(arguments.preset.as_deref(), env)?;
    match arguments.http {
        None => {
            let house = composition.house(&chosen).await.map_err(Failure::Usage)?;
            serve::serve_stdio(Arc::new(house)).await.map_err(Failure::Failed)
        }
        Some(address) => {
            // The address first: one that cannot be had should not cost the time of loading gates.
            let token = env.token().map(|token| Token::new(token.to_owned())).transpose();
            let http = serve::bind(address, token.map_err(Failure::Usage)?).await.map_err(refused)?;
            let house = composition.house_of_all(&chosen).await.map_err(Failure::Usage)?;
            greet(&composition, http.address, &chosen.preset);
            let stop = stop_on_signal();
            http.serve(Arc::new(house), stop).await.map_err(|error| Failure::Failed(error.to_string()))
        }
    }
}

fn refused(error: HttpError) -> Failure {
    let next = match &error {
        HttpError::NeedsToken(_) => {
            "Set GATEHOUSE_TOKEN (`openssl rand -hex 32` makes one), or listen on 127.0.0.1."
        }
        HttpError::Bind { .. } => {
            "Is another host running there? Choose another port with --http, or 0 for any."
        }
    };
    Failure::Usage(format!("{error}. {next}"))
}

fn greet(composition: &Composition, address: SocketAddr, preset: &str) {
    out::note(format!("gatehouse serves preset '{preset}' on http://{address}/mcp"));
    let names: Vec<&str> = composition.config.presets.keys().map(String::as_str).collect();
    out::note(format!("every preset by name: http://{address}/mcp/p/<{}>", names.join("|")));
}

/// Cancelled by ctrl-c or SIGTERM.
pub(super) fn stop_on_signal() -> CancellationToken {
    let stop = CancellationToken::new();
    let cancel = stop.clone();
    tokio::spawn(async move {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            match signal(SignalKind::terminate()) {
                Ok(mut terminate) => {
                    tokio::select! {
                        _ = tokio::signal::ctrl_c() => {}
                        _ = terminate.recv() => {}
                    }
                }
                Err(_) => drop(tokio::signal::ctrl_c().await),
            }
        }
        #[cfg(not(unix))]
        drop(tokio::signal::ctrl_c().await);
        cancel.cancel();
    });
    stop
}
