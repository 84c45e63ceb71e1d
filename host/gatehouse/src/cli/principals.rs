//! `gatehouse principals`: shows who used the host and what it stores of them, and erases that.

use clap::Subcommand;
use gatehouse_core::{names, ports::Clock as _, utc_time::rfc3339};
use serde_json::json;

use super::{CommandError, CommandResult, GlobalArgs, OutputFormat, confirm, tools::ago, with_header};
use crate::{
    compose::{Composition, PrincipalData, SystemClock},
    config::Env,
    out,
};

#[derive(Subcommand)]
pub(super) enum Command {
    /// List principals with what they store
    List(OutputFormat),
    /// Show one principal: artifacts, values, use of quotas and entries in the audit
    Show {
        /// Name, such as key:ann
        name: String,
        #[command(flatten)]
        output: OutputFormat,
    },
    /// Delete everything that a principal owns, and the key by which the audit names it
    Erase {
        /// Name, such as key:ann
        name: String,
        /// Do not ask for confirmation
        #[arg(long)]
        yes: bool,
        /// Print JSON; requires --yes
        #[arg(long)]
        json: bool,
    },
}

pub(super) async fn run(command: Command, global: &GlobalArgs, env: &Env) -> CommandResult {
    let composition = global.compose(env)?;
    match command {
        Command::List(output) => {
            let principals = composition.principals().await?;
            output.print(&principals, || match principals.as_slice() {
                [] => out::line("No principal has stored or changed anything yet."),
                principals => {
                    let header = ["NAME", "ARTIFACTS", "BYTES", "KV BYTES", "CALLS", "AUDIT", "LAST"];
                    out::table(&with_header(header, principals.iter().map(row)));
                }
            });
            Ok(())
        }
        Command::Show { name, output } => {
            let principal = find(&composition, &name).await?;
            output.print(&principal, || print(&principal));
            Ok(())
        }
        Command::Erase { name, yes, json } => erase(&composition, &name, yes, json).await,
    }
}

fn row(principal: &PrincipalData) -> Vec<String> {
    let audit = principal.audit.as_ref();
    let past = |last: i64| ago(SystemClock.now_ms().saturating_sub(last.unsigned_abs()));
    let last = audit.and_then(|audit| audit.last).map_or("-".to_owned(), past);
    let entries = audit.map_or(0, |audit| audit.entries);
    let numbers =
        [principal.artifacts, principal.artifact_bytes, principal.kv_bytes, principal.calls, entries]
            .map(|number| number.to_string());
    [principal.name.clone()].into_iter().chain(numbers).chain([last]).collect()
}

pub(super) async fn find(composition: &Composition, name: &str) -> CommandResult<PrincipalData> {
    let principals = composition.principals().await?;
    let suggestion = names::did_you_mean(name, principals.iter().map(|principal| principal.name.as_str()));
    principals.into_iter().find(|principal| principal.name == name).ok_or_else(|| {
        let quoted_name = names::quoted(name, 128);
        CommandError::failed(format!(
            "unknown principal '{quoted_name}'.{suggestion} Run `gatehouse principals list`."
        ))
    })
}

fn print(principal: &PrincipalData) {
    out::line(&principal.name);
    out::line(format!("artifacts: {}, {} bytes", principal.artifacts, principal.artifact_bytes));
    out::line(format!("kv: {} bytes", principal.kv_bytes));
    out::line(format!("calls: {} in the ledger", principal.calls));
    if !principal.logins.is_empty() {
        out::line(format!("logins: {}", principal.logins.join(", ")));
    }
    for used in &principal.quotas {
        out::line(format!("quota {}: {used}", used.quota));
    }
    if let Some(audit) = &principal.audit {
        let (first, pseudonym) = (rfc3339(audit.first.unsigned_abs()), &audit.pseudonym[..16]);
        out::line(format!("audit: {} entries since {first}, pseudonym {pseudonym}", audit.entries));
    }
}

async fn erase(composition: &Composition, name: &str, yes: bool, json: bool) -> CommandResult {
    let principal = find(composition, name).await?;
    if !json {
        out::line(format!(
            "{}: {} artifacts with {} bytes, {} bytes of kv and {} logins to servers will be deleted, {} calls in the \
             ledger and the audit will no longer name it. Disable its key or account first if it should not come back.",
            principal.name,
            principal.artifacts,
            principal.artifact_bytes,
            principal.kv_bytes,
            principal.logins.len(),
            principal.calls
        ));
    }
    if !confirm(yes, json, "Erase it? [y/N] ").await? {
        return Err(CommandError::usage("nothing was erased; add --yes to erase"));
    }
    let erased = composition.erase_principal(name).await?;
    OutputFormat { json }.print(&json!({"name": name, "erased": erased}), || {
        let key = if erased.audit_key { " and its key in the audit" } else { "" };
        out::line(format!(
            "erased {} artifacts, {} values of kv, {} logins, its name in {} calls, its use of quotas{key}",
            erased.artifacts, erased.kv_entries, erased.logins, erased.calls
        ));
    });
    Ok(())
}
