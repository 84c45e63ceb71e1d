//! `gatehouse dashboard`: pages about all hosts of this data directory, for one browser on this machine.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use clap::Args;
use gatehouse_wire::serve::bind_pages;

use super::{CommandError, CommandResult, GlobalArgs, servers};
use crate::{config::Env, dashboard::Dashboard, out, signals};

#[derive(Args)]
pub(super) struct Arguments {
    /// Port on 127.0.0.1 [default: a free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Open the browser; other users of this machine can see the address for a moment
    #[arg(long)]
    open: bool,
}

pub(super) async fn run(arguments: &Arguments, global: &GlobalArgs, env: &Env) -> CommandResult {
    let dashboard =
        Arc::new(Dashboard::new(global.for_dashboard(), env.clone()).map_err(CommandError::failed)?);
    dashboard.prepare().await.map_err(CommandError::usage)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port));
    let server = bind_pages(address).await.map_err(|error| {
        CommandError::usage(format!("{error}. Choose another port with --port, or none for any."))
    })?;
    let url = format!("http://{}{}", server.address, dashboard.entry());
    out::line(format!(
        "Open this address in a browser. It works once, and the pages end with ctrl-c.\n{url}"
    ));
    if arguments.open && !servers::open(&url) {
        out::notice("No browser could be opened here; open the address on this machine yourself.");
    }
    let stop = signals::shutdown_token(None);
    tokio::select! {
        () = server.serve(Arc::clone(&dashboard) as _) => {}
        () = stop.cancelled() => {}
    }
    dashboard.close().await;
    Ok(())
}
