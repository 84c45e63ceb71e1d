//! `gatehouse kg copy`: copies a graph from one engine to another.

use std::sync::Arc;

use clap::Args;
use gatehouse_core::{
    Fault,
    ports::{Embedder, knowledge::IndexReport},
};
use gatehouse_stores::{WikiKnowledge, WikiRoots};
use serde_json::json;

use super::{CommandError, CommandResult, OutputFormat, VECTORS_PENDING, progress_bar, wait_for_vectors};
use crate::{
    compose,
    config::{Config, KnowledgeEngine},
    out,
};

#[derive(Args)]
pub(in crate::cli) struct CopyPagesArgs {
    /// Engine to copy from
    #[arg(long, value_enum)]
    from: KnowledgeEngine,
    /// Engine to copy to
    #[arg(long, value_enum)]
    to: KnowledgeEngine,
    /// Remove the existing pages of the target first
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    output: OutputFormat,
}

pub(super) async fn run(
    arguments: CopyPagesArgs,
    config: &Config,
    embedder: &Arc<dyn Embedder>,
) -> CommandResult {
    if arguments.from == arguments.to {
        return Err(CommandError::usage("--from and --to name the same engine"));
    }
    let on = |engine| {
        compose::knowledge((config.knowledge.engine_config(engine)?, None), WikiRoots::Any, embedder)
    };
    let (from, to) = (on(arguments.from)?, on(arguments.to)?);
    let bar = progress_bar("copying");
    let step = |done, all| {
        bar.set_length(all);
        bar.set_position(done);
    };
    let copied = from.copy_to(&to, arguments.replace, &step).await;
    bar.finish_and_clear();
    let printed = print_copied(arguments.output, (&from, &to), copied).await;
    from.close().await;
    to.close().await;
    printed
}

async fn print_copied(
    output: OutputFormat,
    (from, to): (&WikiKnowledge, &WikiKnowledge),
    copied: Result<IndexReport, Fault>,
) -> CommandResult {
    let report = copied?;
    let settled = wait_for_vectors(to).await;
    if !settled {
        out::note(VECTORS_PENDING);
    }
    let (from, to) = (from.health().await?.address, to.health().await?.address);
    let IndexReport { added, removed, links, unresolved_links, .. } = report;
    let report = json!({
        "from": from,
        "to": to,
        "pages": added,
        "removed": removed,
        "links": links,
        "unresolved_links": unresolved_links,
        "vectors": settled,
    });
    output.print(&report, || {
        out::line(format!(
            "copied {added} pages and {links} links from {from} to {to}; removed {removed} pages there first; {} links \
            unresolved",
            unresolved_links.len()
        ));
    });
    Ok(())
}
