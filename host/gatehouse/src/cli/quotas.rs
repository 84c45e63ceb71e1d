//! `gatehouse quotas`: shows the use of quotas by principal, and the calls that they refused.

use clap::Args;

use super::{CommandResult, GlobalArgs, OutputFormat, principals, with_header};
use crate::{
    compose::{AllowanceUse, QuotaUse},
    config::Env,
    out,
};

#[derive(Args)]
pub(super) struct Arguments {
    /// Only this principal, such as key:ann
    #[arg(long, value_name = "NAME")]
    principal: Option<String>,
    #[command(flatten)]
    output: OutputFormat,
}

pub(super) async fn run(arguments: Arguments, global: &GlobalArgs, env: &Env) -> CommandResult {
    let composition = global.compose(env)?;
    let mut uses = composition.quota_uses().await?;
    if let Some(name) = &arguments.principal {
        principals::find(&composition, name).await?;
        uses.retain(|used| used.principal == *name);
    }
    let empty = match composition.config.quotas.is_empty() {
        true => "No quota is configured. To limit calls, write a block [quotas.NAME] into presets.toml.",
        false => "No quota was used in its current window.",
    };
    arguments.output.print(&uses, || match uses.as_slice() {
        [] => out::line(empty),
        uses => {
            let header = ["PRINCIPAL", "QUOTA", "CALLS", "TOKENS", "RESETS", "REFUSED TODAY"];
            out::table(&with_header(header, uses.iter().map(row)));
        }
    });
    Ok(())
}

fn row(used: &QuotaUse) -> Vec<String> {
    let allowance = |used: &Option<AllowanceUse>| used.as_ref().map_or("-".to_owned(), |used| used.text(""));
    vec![
        used.principal.clone(),
        used.quota.clone(),
        allowance(&used.calls),
        allowance(&used.tokens),
        used.resets().unwrap_or_else(|| "-".to_owned()),
        used.refused_today.map_or("no audit".to_owned(), |refused| refused.to_string()),
    ]
}
