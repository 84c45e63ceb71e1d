//! Pseudonyms of principals for the log, which are those of the audit.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::{Principal, hash::hex, lock};
use tokio::time::Instant;

use super::{AuditInner, write};
use crate::worker::run_detached;

/// Time for which a pseudonym is remembered. Another process may have erased the principal.
const MAX_AGE: Duration = Duration::from_secs(60);

/// Pseudonyms to remember. Above it, all are read again.
const MAX_REMEMBERED: usize = 4_096;

/// Digits of a pseudonym in the log. `gatehouse audit --principal` finds its entries by eight.
const SHOWN_DIGITS: usize = 16;

#[derive(Default)]
pub(super) struct Pseudonyms(Mutex<HashMap<Principal, (Instant, Arc<str>)>>);

impl Pseudonyms {
    /// Returns the pseudonym of a principal, which may be new. `None` if the audit cannot be read or written.
    pub(super) async fn find(&self, audit: &Arc<AuditInner>, principal: &Principal) -> Option<Arc<str>> {
        let is_recent = |known: &&(Instant, Arc<str>)| known.0.elapsed() < MAX_AGE;
        if let Some((_, known)) = lock(&self.0).get(principal).filter(is_recent) {
            return Some(Arc::clone(known));
        }
        let (audit, principal) = (Arc::clone(audit), principal.clone());
        // A caller that stops waiting finds it the next time.
        run_detached(async move {
            let (name, now) = (principal.clone(), audit.now());
            let key = audit.db.write(move |db| write::key_of(db, name.as_str(), now)).await?;
            let mut digits = hex(&key.pseudonym);
            digits.truncate(SHOWN_DIGITS);
            let shown: Arc<str> = digits.into();
            let mut remembered = lock(&audit.pseudonyms.0);
            if remembered.len() >= MAX_REMEMBERED {
                remembered.clear();
            }
            remembered.insert(principal, (Instant::now(), Arc::clone(&shown)));
            Ok(shown)
        })
        .await
        .ok()
    }
}
