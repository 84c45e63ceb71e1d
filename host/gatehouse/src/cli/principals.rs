//! `gatehouse principals`: shows who used the host and what it stores of them, and erases that.

use clap::Subcommand;
use gatehouse_core::{names, ports::Clock as _, utc_time::rfc3339};
use serde_json::json;

use super::{CommandError, GlobalArgs, confirm, tools::ago};
use crate::{
    compose::{Composition, PrincipalData, SystemClock},
    config::Env,
    out,
};

#[derive(Subcommand)]
pub(super) enum Command {
    /// List principals with what they store
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one principal: artifacts, values, use of quotas and entries in the audit
    Show {
        /// Name, such as key:ann
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
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

pub(super) async fn run(command: Command, global: &GlobalArgs, env: &Env) -> Result<(), CommandError> {
    let composition = global.compose(env)?;
    match command {
        Command::List { json } => list(&composition, json).await,
        Command::Show { name, json } => show(&composition, &name, json).await,
        Command::Erase { name, yes, json } => erase(&composition, &name, yes, json).await,
    }
}

async fn list(composition: &Composition, json: bool) -> Result<(), CommandError> {
    let all = composition.principals().await?;
    if json {
        out::json(&all);
        return Ok(());
    }
    if all.is_empty() {
        out::line("No principal has stored or changed anything yet.");
        return Ok(());
    }
    let now = SystemClock.now_ms();
    let head = ["NAME", "ARTIFACTS", "BYTES", "KV BYTES", "AUDIT", "LAST"].map(str::to_owned);
    let rows = all.iter().map(|one| {
        let audit = one.audit.as_ref();
        let last = audit
            .and_then(|audit| audit.last)
            .map_or("-".to_owned(), |last| ago(now.saturating_sub(last.unsigned_abs())));
        let entries = audit.map_or(0, |audit| audit.entries);
        let numbers =
            [one.artifacts, one.artifact_bytes, one.kv_bytes, entries].map(|number| number.to_string());
        [vec![one.name.clone()], numbers.to_vec(), vec![last]].concat()
    });
    out::table(&std::iter::once(Vec::from(head)).chain(rows).collect::<Vec<_>>());
    Ok(())
}

async fn find(composition: &Composition, name: &str) -> Result<PrincipalData, CommandError> {
    let all = composition.principals().await?;
    let near = names::did_you_mean(name, all.iter().map(|one| one.name.as_str()));
    all.into_iter().find(|one| one.name == name).ok_or_else(|| {
        let shown = names::quoted(name, 128);
        CommandError::failed(format!("unknown principal '{shown}'.{near} Run `gatehouse principals list`."))
    })
}

async fn show(composition: &Composition, name: &str, json: bool) -> Result<(), CommandError> {
    let one = find(composition, name).await?;
    if json {
        out::json(&one);
        return Ok(());
    }
    out::line(&one.name);
    out::line(format!("artifacts: {}, {} bytes", one.artifacts, one.artifact_bytes));
    out::line(format!("kv: {} bytes", one.kv_bytes));
    if !one.logins.is_empty() {
        out::line(format!("logins: {}", one.logins.join(", ")));
    }
    for used in &one.quotas {
        out::line(format!("quota {}: {} calls, {} tokens", used.quota, used.calls, used.tokens));
    }
    if let Some(audit) = &one.audit {
        let first = rfc3339(audit.first.unsigned_abs());
        out::line(format!(
            "audit: {} entries since {first}, pseudonym {}",
            audit.entries,
            &audit.pseudonym[..16]
        ));
    }
    Ok(())
}

async fn erase(composition: &Composition, name: &str, yes: bool, json: bool) -> Result<(), CommandError> {
    let one = find(composition, name).await?;
    if !json {
        out::line(format!(
            "{}: {} artifacts with {} bytes, {} bytes of kv and {} logins to servers will be deleted, and the audit will \
             no longer name it. Disable its key or account first if it should not come back.",
            one.name,
            one.artifacts,
            one.artifact_bytes,
            one.kv_bytes,
            one.logins.len()
        ));
    }
    if !confirm(yes, json, "Erase it? [y/N] ").await? {
        return Err(CommandError::usage("nothing was erased; add --yes to erase"));
    }
    let erased = composition.erase_principal(name).await?;
    if json {
        out::json(&json!({"name": name, "erased": erased}));
        return Ok(());
    }
    let key = if erased.audit_key { " and its key in the audit" } else { "" };
    out::line(format!(
        "erased {} artifacts, {} values of kv, {} logins, its use of quotas{key}",
        erased.artifacts, erased.kv_entries, erased.logins
    ));
    Ok(())
}
