//! API keys in memory, in step with the store.
//!
//! From the first use of a key on, a task asks the store for its version twice a second. A token that was made up
//! therefore needs no query, a revoked key fails within a second, and so do its streams. If the task is late, calls ask
//! themselves.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use gatehouse_core::{
    Caller, Fault, Principal, lock,
    ports::{
        Clock, KeyStore,
        auth::AuthRefusal,
        keys::{KeyRecord, KeySecret},
    },
};
use tokio::time::Instant;

use crate::{api_key::ApiKey, is_same_caller};

const WATCH_INTERVAL: Duration = Duration::from_millis(500);

/// Maximum age of the table for a call.
const MAX_AGE: Duration = Duration::from_millis(750);

/// Pause between two recorded uses of a secret.
const USE_INTERVAL_MS: u64 = 60_000;

/// Text for keys that are malformed, unknown, revoked or have a wrong secret, which clients must not tell apart.
const UNKNOWN: &str = "unknown or revoked API key";

/// Secrets by identifier.
type SecretMap = Arc<HashMap<String, SecretEntry>>;

pub(crate) struct KeyTable {
    store: Arc<dyn KeyStore>,
    clock: Arc<dyn Clock>,
    current: Mutex<KeySnapshot>,
    /// Lets one task at a time ask the store.
    refresh: tokio::sync::Mutex<()>,
    is_watched: AtomicBool,
}

#[derive(Clone, Default)]
struct KeySnapshot {
    version: Option<u64>,
    checked: Option<Instant>,
    /// Time of the next expiry, in milliseconds since 1970.
    next_end: u64,
    secrets: SecretMap,
}

struct SecretEntry {
    hash: [u8; 32],
    recorded_use: AtomicU64,
    caller: Arc<Caller>,
}

impl KeyTable {
    pub(crate) fn new(store: Arc<dyn KeyStore>, clock: Arc<dyn Clock>) -> Self {
        let (current, refresh, is_watched) = Default::default();
        Self { store, clock, current, refresh, is_watched }
    }

    pub(crate) async fn authenticate(self: &Arc<Self>, token: &str) -> Result<Arc<Caller>, AuthRefusal> {
        let unknown = || AuthRefusal::Invalid(UNKNOWN.into());
        let key = ApiKey::parse(token).ok_or_else(unknown)?;
        let secrets = self.secrets().await?;
        let entry = secrets.get(key.id).filter(|entry| key.matches(&entry.hash)).ok_or_else(unknown)?;
        let now = self.clock.now_ms();
        if entry.caller.expires_at.is_some_and(|end| end <= now) {
            return Err(AuthRefusal::Invalid("the API key has expired".into()));
        }
        self.record_use(key.id, entry, now);
        self.watch();
        Ok(Arc::clone(&entry.caller))
    }

    /// Asks the store regularly from now on, so that streams of a revoked key end without another call.
    fn watch(self: &Arc<Self>) {
        if self.is_watched.swap(true, Ordering::Relaxed) {
            return;
        }
        let table = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(WATCH_INTERVAL).await;
                let Some(table) = table.upgrade() else { return };
                let _turn = table.refresh.lock().await;
                // Calls report failures.
                if let Err(fault) = table.reload().await {
                    tracing::debug!("cannot watch the API keys: {}", fault.in_one_line());
                }
            }
        });
    }

    async fn secrets(&self) -> Result<SecretMap, AuthRefusal> {
        if let Some(fresh) = self.fresh() {
            return Ok(fresh);
        }
        let _turn = self.refresh.lock().await;
        // Another call may have asked while this one waited.
        if let Some(fresh) = self.fresh() {
            return Ok(fresh);
        }
        self.reload().await.map_err(|fault| {
            tracing::warn!("cannot read the API keys: {}", fault.in_one_line());
            AuthRefusal::Unavailable("API keys cannot be checked now; try again later".into())
        })
    }

    fn fresh(&self) -> Option<SecretMap> {
        let current = lock(&self.current);
        let is_fresh = current.checked.is_some_and(|checked| checked.elapsed() < MAX_AGE);
        is_fresh.then(|| Arc::clone(&current.secrets))
    }

    async fn reload(&self) -> Result<SecretMap, Fault> {
        // The age counts from before the question.
        let (checked, now) = (Some(Instant::now()), self.clock.now_ms());
        let version = self.store.version().await?;
        let mut next = lock(&self.current).clone();
        if next.version != Some(version) {
            let keys = self.store.list().await?;
            let before = std::mem::take(&mut next.secrets);
            next.secrets = Arc::new(entries(&keys, &before));
            next.next_end = 0;
            end_replaced(&before, &next.secrets);
        }
        if next.next_end <= now {
            next.next_end = end_expired(&next.secrets, now);
        }
        (next.version, next.checked) = (Some(version), checked);
        let secrets = Arc::clone(&next.secrets);
        *lock(&self.current) = next;
        Ok(secrets)
    }

    /// Records the use in the background, at most once a minute.
    fn record_use(&self, id: &str, entry: &SecretEntry, now: u64) {
        let before = entry.recorded_use.load(Ordering::Relaxed);
        if now < before.saturating_add(USE_INTERVAL_MS) {
            return;
        }
        let order = Ordering::Relaxed;
        if entry.recorded_use.compare_exchange(before, now, order, order).is_err() {
            return;
        }
        let (store, id) = (Arc::clone(&self.store), id.to_owned());
        tokio::spawn(async move {
            if let Err(fault) = store.record_use(&id, now).await {
                tracing::debug!(id, "the use of a key is not recorded: {}", fault.in_one_line());
            }
        });
    }
}

/// Ends the callers of secrets that were removed or changed.
fn end_replaced(before: &SecretMap, after: &SecretMap) {
    for (id, entry) in before.iter() {
        if after.get(id).is_none_or(|new| !Arc::ptr_eq(&new.caller, &entry.caller)) {
            entry.caller.ended.cancel();
        }
    }
}

/// Ends the callers of expired secrets. Returns the time of the next expiry.
fn end_expired(secrets: &SecretMap, now: u64) -> u64 {
    let mut next = u64::MAX;
    for entry in secrets.values() {
        match entry.caller.expires_at {
            Some(end) if end <= now => entry.caller.ended.cancel(),
            Some(end) => next = next.min(end),
            None => {}
        }
    }
    next
}

fn entries(keys: &[KeyRecord], before: &SecretMap) -> HashMap<String, SecretEntry> {
    let secrets = keys.iter().flat_map(|key| key.secrets.iter().map(move |secret| (key, secret)));
    secrets.map(|(key, secret)| (secret.id.clone(), entry(key, secret, before.get(&secret.id)))).collect()
}

fn entry(key: &KeyRecord, secret: &KeySecret, before: Option<&SecretEntry>) -> SecretEntry {
    let list = |names: &Vec<String>| names.iter().map(|name| name.as_str().into()).collect();
    let principal = Principal::Named(format!("key:{}", key.name).into());
    let mut caller = Caller::new(principal, &format!("key {}", secret.id));
    caller.groups = list(&key.groups);
    caller.presets = key.presets.as_ref().map(list);
    caller.expires_at = [key.expires_at, secret.expires_at].into_iter().flatten().min();
    // Facts about a caller are stored by its `Arc`, so an unchanged one stays.
    let caller = match before {
        Some(before) if is_same_caller(&before.caller, &caller) => Arc::clone(&before.caller),
        _ => Arc::new(caller),
    };
    let recorded = before.map_or(0, |before| before.recorded_use.load(Ordering::Relaxed));
    let recorded_use = AtomicU64::new(recorded.max(secret.last_used_at.unwrap_or(0)));
    SecretEntry { hash: secret.hash, recorded_use, caller }
}
