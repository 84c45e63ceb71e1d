//! Keys as a table and as JSON, without their secrets.

use gatehouse_core::ports::{
    Clock as _, KeyStore as _,
    keys::{KeyRecord, KeySecret},
};
use gatehouse_stores::SqliteKeys;
use serde_json::{Value, json};

use super::{CommandResult, OutputFormat, values::duration, with_header};
use crate::{compose::SystemClock, out};

pub(super) async fn list(store: &SqliteKeys, output: OutputFormat) -> CommandResult {
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

pub(super) fn shown(key: &KeyRecord, now: u64) -> Value {
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
