//! `gatehouse servers refresh`: lists the tools of servers again.

use clap::Args;
use gatehouse_core::{
    Principal,
    ports::servers::{RefreshReport, ServerRegistry as _},
};

use super::{CommandError, CommandResult, OutputFormat, naming_server, print_omitted};
use crate::{compose::Composition, out, progress::ProgressTicker};

#[derive(Args)]
pub(in crate::cli) struct RefreshArgs {
    /// Name of the server [default: all]
    server: Option<String>,
    /// Also write unchanged tools again
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    output: OutputFormat,
}

pub(super) async fn refresh(composition: &Composition, arguments: &RefreshArgs) -> CommandResult {
    let RefreshArgs { server, force, output } = arguments;
    let servers = &composition.stores.servers.live;
    let activity =
        server.as_ref().map_or("listing all servers".into(), |name| format!("listing server '{name}'"));
    let progress = ProgressTicker::start(activity);
    composition.forget_failures(|name| server.as_ref().is_none_or(|server| *server == *name));
    let report = servers.refresh(server.as_deref(), *force, &Principal::Local).await?;
    drop(progress);
    output.print(&report, || {
        let RefreshReport { added, updated, removed, unchanged, embeddings, failed, omitted } = &report;
        out::line(format!(
            "{added} tools added, {updated} updated, {removed} removed, {unchanged} unchanged"
        ));
        if *embeddings > 0 {
            out::line(format!("{embeddings} vectors pending"));
        }
        print_omitted(omitted.iter().map(|(server, omitted)| (server, omitted)));
        failed.iter().for_each(|(server, reason)| out::error(naming_server(server, reason)));
    });
    match report.failed.len() {
        0 => Ok(()),
        1 => Err(CommandError::failed("a server could not be listed")),
        failed => Err(CommandError::failed(format!("{failed} servers could not be listed"))),
    }
}
