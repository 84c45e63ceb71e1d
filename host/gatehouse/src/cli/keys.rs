//! `gatehouse keys`: manages the API keys of callers over HTTP. Running hosts notice changes within a second.

mod values;

use clap::{Args, Subcommand};
use gatehouse_auth::NewApiKey;
use gatehouse_core::{
    Fault, Principal,
    names::{did_you_mean, quoted},
    ports::{
        AuditLog as _, Clock as _, KeyStore as _,
        audit::{AuditEntry, AuditKind},
        keys::{KeyRecord, KeySecret},
    },
};
use gatehouse_stores::KeyTables;
use serde_json::{Value, json};

use self::values::{duration, group, key_name, lifetime, time};
use super::{CommandError, CommandResult, GlobalArgs, OutputFormat, PlainError, with_header};
use crate::{
    compose::{self, SystemClock},
    config::{Config, Env},
    out,
};

#[derive(Subcommand)]
pub(super) enum Command {
    /// Create a key, and print it once
    Create(CreateKeyArgs),
    /// List keys, without their secrets
    List(OutputFormat),
    /// Print a new secret for a key; the old one works for a while
    Rotate(RotateKeyArgs),
    /// Remove a key, which then fails within a second
    Revoke {
        /// Name of the key
        name: String,
        #[command(flatten)]
        output: OutputFormat,
    },
}

#[derive(Args)]
pub(super) struct CreateKeyArgs {
    /// Name of the key: a-z, 0-9 and -; its principal is key:NAME
    #[arg(value_parser = key_name)]
    name: String,
    /// Group of the caller, for access rules; can be repeated
    #[arg(long, value_parser = group, value_name = "GROUP")]
    group: Vec<String>,
    /// Preset that the key opens; can be repeated [default: each that access rules allow]
    #[arg(long, value_name = "PRESET")]
    preset: Vec<String>,
    /// Time until the key expires, as 90d, 12h or 30min [default: never]
    #[arg(long, value_parser = lifetime, value_name = "TIME")]
    expires: Option<u64>,
    #[command(flatten)]
    output: OutputFormat,
}

#[derive(Args)]
pub(super) struct RotateKeyArgs {
    /// Name of the key
    name: String,
    /// Time that the old secret still works, as 24h or 30min; 0h ends it immediately
    #[arg(long, value_parser = time, value_name = "TIME", default_value = "24h")]
    grace: u64,
    /// New time until the key expires [default: unchanged]
    #[arg(long, value_parser = lifetime, value_name = "TIME")]
    expires: Option<u64>,
    #[command(flatten)]
    output: OutputFormat,
}

pub(super) async fn run(command: Command, global: &GlobalArgs, env: &Env) -> CommandResult {
    let config = global.config(env)?;
    let store = compose::keys(&config);
    let done = match command {
        Command::Create(arguments) => create(&store, &config, arguments).await,
        Command::List(output) => list(&store, output).await,
        Command::Rotate(arguments) => rotate(&store, &config, arguments).await,
        Command::Revoke { name, output } => revoke(&store, &config, &name, output).await,
    };
    store.close().await;
    done
}

async fn create(store: &KeyTables, config: &Config, arguments: CreateKeyArgs) -> CommandResult {
    let CreateKeyArgs { name, mut group, mut preset, expires, output } = arguments;
    for list in [&mut group, &mut preset] {
        list.sort();
        list.dedup();
    }
    if let Some(unknown) = preset.iter().find(|name| !config.presets.contains_key(*name)) {
        let similar = did_you_mean(unknown, config.presets.keys().map(String::as_str));
        return Err(CommandError::usage(format!("unknown preset '{}'.{similar}", quoted(unknown, 64))));
    }
    let now = SystemClock.now_ms();
    let NewApiKey { token, secret } = NewApiKey::generate(now)?;
    let key = KeyRecord {
        name,
        groups: group,
        presets: (!preset.is_empty()).then_some(preset),
        created_at: now,
        expires_at: expires.map(|time| now + time),
        secrets: vec![secret],
    };
    store.add(key.clone()).await?;
    record_change(config, &key.name, "created a key").await;
    print_token(&key, &token, output);
    if config.auth.is_none() {
        out::warn(
            "presets.toml has no [auth], so hosts do not accept keys; add the line [auth] and restart them",
        );
    }
    Ok(())
}

/// Prints a new key: its text alone on standard output, for a pipe to a secret store.
fn print_token(key: &KeyRecord, token: &str, output: OutputFormat) {
    let mut report = shown(key, SystemClock.now_ms());
    report["token"] = token.into();
    output.print(&report, || out::line(token));
    out::note(format!(
        "The key of '{}' is shown only now. Clients send it as the header \"Authorization: Bearer KEY\".",
        key.name
    ));
}

async fn rotate(store: &KeyTables, config: &Config, arguments: RotateKeyArgs) -> CommandResult {
    let RotateKeyArgs { name, grace, expires, output } = arguments;
    let now = SystemClock.now_ms();
    let mut key = find(store, &name).await?;
    if expires.is_none() && key.expires_at.is_some_and(|end| end <= now) {
        return Err(CommandError::usage(format!(
            "key '{name}' has expired; give it a new expiry, such as --expires 90d"
        )));
    }
    let NewApiKey { token, secret } = NewApiKey::generate(now)?;
    let expires_at = expires.map(|time| now + time);
    store.rotate(&name, secret.clone(), now + grace, expires_at).await?;
    record_change(config, &name, "rotated a key").await;
    key.expires_at = expires_at.or(key.expires_at);
    key.secrets = vec![secret];
    print_token(&key, &token, output);
    // The key may end first.
    let grace = key.expires_at.map_or(grace, |end| grace.min(end.saturating_sub(now)));
    match grace {
        0 => out::note("The old secret has ended."),
        _ => out::note(format!("The old secret works for another {}.", duration(grace))),
    }
    Ok(())
}

async fn revoke(store: &KeyTables, config: &Config, name: &str, output: OutputFormat) -> CommandResult {
    store.revoke(name).await?;
    record_change(config, name, "revoked a key").await;
    output.print(&json!({"name": name, "revoked": true}), || out::line(format!("revoked {name}")));
    Ok(())
}

/// Records a change in the audit, if it is on. The change is made already, so a failure is only reported.
async fn record_change(config: &Config, name: &str, change: &str) {
    if !config.audits() {
        return;
    }
    let audit = compose::audit_of(config);
    let key = Principal::Named(format!("key:{name}").into());
    if let Err(fault) = audit.commit(AuditEntry::event(AuditKind::Key, &key, "ok", change)).await {
        out::warn(format!("cannot record the change in the audit: {}", fault.in_one_line()));
    }
    audit.close().await;
}

async fn find(store: &KeyTables, name: &str) -> CommandResult<KeyRecord> {
    let mut keys = store.list().await?;
    if let Some(index) = keys.iter().position(|key| key.name == name) {
        return Ok(keys.swap_remove(index));
    }
    let similar = did_you_mean(name, keys.iter().map(|key| key.name.as_str()));
    let unknown = Fault::not_found(format!("unknown key '{}'.{similar}", quoted(name, 64)));
    Err(unknown.hint("Run `gatehouse keys list`.").into())
}

async fn list(store: &KeyTables, output: OutputFormat) -> CommandResult {
    let (keys, now) = (store.list().await?, SystemClock.now_ms());
    let reports: Vec<Value> = keys.iter().map(|key| shown(key, now)).collect();
    output.print(&reports, || match keys.as_slice() {
        [] => out::line("There are no keys. Create one with: gatehouse keys create NAME"),
        keys => {
            let header = ["name", "groups", "presets", "created", "expires", "last used", "secrets"];
            out::table(&with_header(header, keys.iter().map(|key| row(key, now))));
        }
    });
    Ok(())
}

fn row(key: &KeyRecord, now: u64) -> Vec<String> {
    let names = |names: &[String], none: &str| match names {
        [] => none.to_owned(),
        names => names.join(", "),
    };
    let ago = |at: u64| format!("{} ago", duration(now.saturating_sub(at)));
    let expires = match key.expires_at {
        None => "never".to_owned(),
        Some(end) if end <= now => "expired".to_owned(),
        Some(end) => format!("in {}", duration(end - now)),
    };
    let secrets: Vec<&str> = valid(key, now).map(|secret| secret.id.as_str()).collect();
    vec![
        key.name.clone(),
        names(&key.groups, "-"),
        names(key.presets.as_deref().unwrap_or_default(), "any"),
        ago(key.created_at),
        expires,
        last_used(key).map_or_else(|| "never".to_owned(), ago),
        secrets.join(", "),
    ]
}

fn valid(key: &KeyRecord, now: u64) -> impl Iterator<Item = &KeySecret> {
    key.secrets.iter().filter(move |secret| secret.expires_at.is_none_or(|end| end > now))
}

fn last_used(key: &KeyRecord) -> Option<u64> {
    key.secrets.iter().filter_map(|secret| secret.last_used_at).max()
}

fn shown(key: &KeyRecord, now: u64) -> Value {
    let secret = |secret: &KeySecret| {
        json!({
            "id": secret.id,
            "created_at_ms": secret.created_at,
            "expires_at_ms": secret.expires_at,
            "last_used_at_ms": secret.last_used_at,
        })
    };
    json!({
        "name": key.name,
        "principal": format!("key:{}", key.name),
        "groups": key.groups,
        "presets": key.presets,
        "created_at_ms": key.created_at,
        "expires_at_ms": key.expires_at,
        "last_used_at_ms": last_used(key),
        "secrets": valid(key, now).map(secret).collect::<Value>(),
    })
}
