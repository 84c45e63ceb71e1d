//! `gatehouse kg copy`: a graph moves from one engine to another.

use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::{Failure, bar};
use crate::{
    compose,
    config::{Config, Env, KnowledgeEngine},
    out,
};

/// How long the pages' vectors are waited for; whoever opens the target next makes up for the rest.
const SETTLE: Duration = Duration::from_secs(120);

#[derive(Args)]
pub(in crate::cli) struct Copy {
    /// The engine that has the pages
    #[arg(long, value_enum)]
    from: KnowledgeEngine,
    /// The engine that gets them
    #[arg(long, value_enum)]
    to: KnowledgeEngine,
    /// Remove the pages that the target holds first
    #[arg(long)]
    replace: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: Copy, config: &Config, env: &Env) -> Result<(), Failure> {
    if arguments.from == arguments.to {
        return Err(Failure::Usage("--from and --to name the same engine".into()));
    }
    let from = compose::knowledge_on(arguments.from, config, env)?;
    let to = compose::knowledge_on(arguments.to, config, env)?;
    let bar = bar("copying");
    let step = |done, all| {
        bar.set_length(all);
        bar.set_position(done);
    };
    let copied = from.copy_to(&to, arguments.replace, &step).await;
    bar.finish_and_clear();
    let report = copied?;
    // The copy stands; without vectors its pages are found by their words.
    let settled = to.settle(SETTLE).await;
    let (from, to) = (from.health().await?.address, to.health().await?.address);
    if arguments.json {
        out::json(&json!({
            "from": from,
            "to": to,
            "pages": report.added,
            "removed": report.removed,
            "links": report.links,
            "unresolved_links": report.unresolved_links,
            "vectors": settled,
        }));
        return Ok(());
    }
    out::line(format!(
        "{} pages and {} links copied from {from} to {to}; {} removed there before; {} links unresolved",
        report.added,
        report.links,
        report.removed,
        report.unresolved_links.len()
    ));
    if !settled {
        out::line("Not every page has its vector yet; `gatehouse status` tells how many wait.");
    }
    Ok(())
}
