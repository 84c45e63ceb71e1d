//! Pseudonyms of principals for the log, which are those of the audit.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::{Principal, hash::hex, lock};
use tokio::time::Instant;

use super::{AuditInner, CHAIN, write};
use crate::{sql::Session, worker::run_detached};

/// Time for which a pseudonym is remembered. Another process may have erased the principal.
const MAX_AGE: Duration = Duration::from_secs(60);

/// Pseudonyms to remember. Above it, all are read again.
const MAX_REMEMBERED: usize = 4_096;

/// Digits of a pseudonym in the log. `gatehouse audit search --principal` finds its entries by eight.
const SHOWN_DIGITS: usize = 16;

/// Time after which a lookup that failed, or has not ended, is repeated.
const RETRY_AGE: Duration = Duration::from_secs(5);

/// Time of a lookup, and its result. `None` until it ends, and if it failed.
type Lookup = (Instant, Option<Arc<str>>);

/// The last lookup of each principal.
#[derive(Default)]
pub(super) struct Pseudonyms(Mutex<HashMap<Principal, Lookup>>);

impl Pseudonyms {
    /// Returns the pseudonym of a principal, which may be new. `None` if the audit cannot be read or written.
    pub(super) async fn find(&self, audit: &Arc<AuditInner>, principal: &Principal) -> Option<Arc<str>> {
        {
            let mut known = lock(&self.0);
            if let Some((looked_up, pseudonym)) = known.get(principal)
                && looked_up.elapsed() < if pseudonym.is_some() { MAX_AGE } else { RETRY_AGE }
            {
                return pseudonym.clone();
            }
            if known.len() >= MAX_REMEMBERED {
                known.clear();
            }
            known.insert(principal.clone(), (Instant::now(), None));
        }
        let (audit, principal) = (Arc::clone(audit), principal.clone());
        // A caller that stops waiting finds it the next time.
        run_detached(async move {
            let name = principal.clone();
            let find = async move |db: Session<'_>| write::find_key(db, name.as_str()).await;
            let known = audit.db.read(find).await.ok().flatten();
            let key = match known {
                Some(key) => key,
                None => {
                    let (name, now) = (principal.clone(), audit.now());
                    let key_of = async move |db: Session<'_>| write::key_of(db, name.as_str(), now).await;
                    audit.db.write(CHAIN, key_of).await?
                }
            };
            let mut digits = hex(&key.pseudonym);
            digits.truncate(SHOWN_DIGITS);
            let shown: Arc<str> = digits.into();
            lock(&audit.pseudonyms.0).insert(principal, (Instant::now(), Some(Arc::clone(&shown))));
            Ok(shown)
        })
        .await
        .ok()
    }
}
