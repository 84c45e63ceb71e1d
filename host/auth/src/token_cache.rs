//! Verified access tokens by their SHA-256, so that a signature is checked once a minute and not on each call. Refused
//! tokens are not cached.
//!
//! Callers of tokens that expire, turn out to be invalid or leave the cache are ended, which ends their streams.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use gatehouse_core::{Principal, lock, ports::Clock};
use tokio::time::Instant;

use crate::issuers::{CLOCK_SKEW_MS, VerifiedToken};

/// Maximum time that a verified token is trusted without another check.
const MAX_AGE: Duration = Duration::from_secs(60);

/// Maximum time that streams of an opaque token continue without another check of the token.
const MAX_UNCHECKED: Duration = Duration::from_secs(300);

const SWEEP_INTERVAL: Duration = Duration::from_secs(5);

const MAX_TOKENS: usize = 10_000;

pub(crate) type TokenDigest = [u8; 32];

#[derive(Default)]
pub(crate) struct TokenCache {
    cached: Mutex<CachedTokens>,
    is_swept: AtomicBool,
}

#[derive(Default)]
struct CachedTokens {
    tokens: HashMap<TokenDigest, CachedToken>,
    next_number: u64,
}

struct CachedToken {
    /// Place in the order of insertion.
    number: u64,
    token: Arc<VerifiedToken>,
    checked: Instant,
    until: Instant,
}

impl TokenCache {
    /// Returns a token that needs no check now.
    pub(crate) fn fresh(&self, digest: &TokenDigest) -> Option<Arc<VerifiedToken>> {
        let cached = lock(&self.cached);
        let entry = cached.tokens.get(digest).filter(|entry| Instant::now() < entry.until)?;
        Some(Arc::clone(&entry.token))
    }

    /// Returns true if the token was valid before, even if it must be checked again.
    pub(crate) fn knows(&self, digest: &TokenDigest) -> bool {
        lock(&self.cached).tokens.contains_key(digest)
    }

    /// Adds a token that was just verified. Returns the cached value, which is the former one if nothing changed: facts
    /// about a caller are stored by its `Arc`.
    pub(crate) fn insert(
        self: &Arc<Self>,
        digest: TokenDigest,
        token: VerifiedToken,
        clock: &Arc<dyn Clock>,
    ) -> Arc<VerifiedToken> {
        if !self.is_swept.swap(true, Ordering::Relaxed) {
            let (cache, clock) = (Arc::downgrade(self), Arc::clone(clock));
            tokio::spawn(async move {
                while let Some(cache) = cache.upgrade() {
                    cache.sweep(clock.now_ms());
                    drop(cache);
                    tokio::time::sleep(SWEEP_INTERVAL).await;
                }
            });
        }
        let checked = Instant::now();
        let remaining = token.expires_at.map(|end| Duration::from_millis(end.saturating_sub(clock.now_ms())));
        let until = checked + remaining.map_or(MAX_AGE, |remaining| remaining.min(MAX_AGE));
        let mut cached = lock(&self.cached);
        if let Some(before) = cached.tokens.get_mut(&digest)
            && before.token.is_same(&token)
        {
            (before.checked, before.until) = (checked, until);
            return Arc::clone(&before.token);
        }
        cached.remove(&digest);
        if cached.tokens.len() >= MAX_TOKENS
            && let Some(digest) = cached.oldest_of_heaviest_principal()
        {
            cached.remove(&digest);
        }
        let (token, number) = (Arc::new(token), cached.next_number);
        cached.next_number += 1;
        cached.tokens.insert(digest, CachedToken { number, token: Arc::clone(&token), checked, until });
        token
    }

    /// Removes a token that turned out to be invalid.
    pub(crate) fn remove(&self, digest: &TokenDigest) {
        lock(&self.cached).remove(digest);
    }

    fn sweep(&self, now_ms: u64) {
        let mut cached = lock(&self.cached);
        let is_over = |entry: &CachedToken| {
            let expired = |end: u64| end.saturating_add(CLOCK_SKEW_MS) <= now_ms;
            entry.token.expires_at.is_some_and(expired)
                || (entry.token.is_opaque && entry.checked.elapsed() >= MAX_UNCHECKED)
        };
        let over: Vec<TokenDigest> =
            cached.tokens.iter().filter(|(_, entry)| is_over(entry)).map(|(digest, _)| *digest).collect();
        over.iter().for_each(|digest| cached.remove(digest));
    }
}

impl CachedTokens {
    fn remove(&mut self, digest: &TokenDigest) {
        if let Some(entry) = self.tokens.remove(digest) {
            entry.token.caller.ended.cancel();
        }
    }

    /// Returns the token that makes room: the oldest of the principal with the most tokens, so that a principal with many
    /// does not end the streams of others.
    fn oldest_of_heaviest_principal(&self) -> Option<TokenDigest> {
        let mut counts: HashMap<&Principal, usize> = HashMap::new();
        for entry in self.tokens.values() {
            *counts.entry(&entry.token.caller.principal).or_default() += 1;
        }
        let (heaviest, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        let its_own = self.tokens.iter().filter(|(_, entry)| entry.token.caller.principal == *heaviest);
        its_own.min_by_key(|(_, entry)| entry.number).map(|(digest, _)| *digest)
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_core::Caller;

    use super::*;

    struct Noon;

    impl Clock for Noon {
        fn now_ms(&self) -> u64 {
            1_000_000
        }
    }

    fn token(expires_at: Option<u64>, is_opaque: bool) -> VerifiedToken {
        token_of("idp:ada", expires_at, is_opaque)
    }

    fn token_of(name: &str, expires_at: Option<u64>, is_opaque: bool) -> VerifiedToken {
        let caller = Caller::named(name);
        VerifiedToken { caller, audiences: None, missing_scopes: Vec::new(), expires_at, is_opaque }
    }

    fn digest(number: usize) -> TokenDigest {
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&number.to_le_bytes());
        digest
    }

    #[tokio::test(start_paused = true)]
    async fn tokens_are_fresh_for_a_minute_or_until_they_expire() {
        let (cache, clock) = (Arc::new(TokenCache::default()), Arc::new(Noon) as Arc<dyn Clock>);
        let first = cache.insert(digest(1), token(None, false), &clock);
        cache.insert(digest(2), token(Some(1_010_000), false), &clock);
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(cache.fresh(&digest(1)).is_some() && cache.fresh(&digest(2)).is_none());
        tokio::time::advance(Duration::from_secs(50)).await;
        assert!(cache.fresh(&digest(1)).is_none() && cache.knows(&digest(1)));
        let again = cache.insert(digest(1), token(None, false), &clock);
        assert!(Arc::ptr_eq(&first, &again) && !first.caller.ended.is_cancelled());
        cache.remove(&digest(1));
        assert!(!cache.knows(&digest(1)) && first.caller.ended.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn callers_of_tokens_that_are_over_are_ended() {
        let (cache, clock) = (Arc::new(TokenCache::default()), Arc::new(Noon) as Arc<dyn Clock>);
        let expired = cache.insert(digest(1), token(Some(1_000_000 - CLOCK_SKEW_MS), false), &clock);
        let opaque = cache.insert(digest(2), token(None, true), &clock);
        let other = cache.insert(digest(3), token(None, false), &clock);
        expired.caller.ended.cancelled().await;
        assert!(!opaque.caller.ended.is_cancelled());
        opaque.caller.ended.cancelled().await;
        assert!(!other.caller.ended.is_cancelled());
    }

    #[tokio::test]
    async fn the_number_of_tokens_is_bounded() {
        let (cache, clock) = (Arc::new(TokenCache::default()), Arc::new(Noon) as Arc<dyn Clock>);
        let other = cache.insert(digest(MAX_TOKENS + 10), token_of("idp:bob", None, false), &clock);
        for number in 0..MAX_TOKENS + 9 {
            cache.insert(digest(number), token(None, false), &clock);
        }
        let cached = lock(&cache.cached);
        assert_eq!(cached.tokens.len(), MAX_TOKENS);
        assert!(!cached.tokens.contains_key(&digest(9)) && cached.tokens.contains_key(&digest(10)));
        assert!(!other.caller.ended.is_cancelled(), "the principal with the most tokens makes room");
    }

    #[tokio::test]
    async fn removed_tokens_leave_nothing_behind() {
        let (cache, clock) = (Arc::new(TokenCache::default()), Arc::new(Noon) as Arc<dyn Clock>);
        for number in 0..640 {
            cache.insert(digest(number), token(None, false), &clock);
            cache.remove(&digest(number));
        }
        assert!(lock(&cache.cached).tokens.is_empty());
    }
}
