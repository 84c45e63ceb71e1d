//! The one browser that may open the pages: a token in the printed address is used once, and becomes a cookie.

use std::sync::{Arc, Mutex};

use gatehouse_core::{hash::sha256_hex, lock};
use gatehouse_wire::serve::SealKeys;
use http::{HeaderMap, header::COOKIE};

use crate::plain_error::PlainError;

const COOKIE_NAME: &str = "gatehouse-dashboard";

pub(super) struct Sessions {
    /// Digest of the token. `None` once it was used.
    token_digest: Mutex<Option<String>>,
    token: String,
    session: Arc<Session>,
}

/// The session that the token opens.
pub(super) struct Session {
    key: String,
    /// Shown on the next page.
    notice: Mutex<Option<String>>,
}

impl Sessions {
    pub(super) fn new() -> Result<Self, PlainError> {
        let (token, key) = (random()?, random()?);
        let token_digest = Mutex::new(Some(sha256_hex(&token)));
        Ok(Self { token_digest, token, session: Arc::new(Session { key, notice: Mutex::default() }) })
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Uses up the token, and returns the cookie of the session.
    pub(super) fn open(&self, token: &str) -> Option<String> {
        // Digests are compared, so that the time tells nothing about the token.
        lock(&self.token_digest).take_if(|digest| *digest == sha256_hex(token))?;
        Some(format!("{COOKIE_NAME}={}; HttpOnly; SameSite=Strict; Path=/", self.session.key))
    }

    /// Returns the session of a request.
    pub(super) fn find(&self, headers: &HeaderMap) -> Option<Arc<Session>> {
        let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let mut keys = pairs.filter(|(name, _)| *name == COOKIE_NAME).map(|(_, key)| key);
        let digest = sha256_hex(&self.session.key);
        keys.any(|key| sha256_hex(key) == digest).then(|| Arc::clone(&self.session))
    }
}

impl Session {
    /// Returns the value that forms must send.
    pub(super) fn csrf(&self) -> String {
        sha256_hex(format!("form {}", self.key))
    }

    pub(super) fn allows(&self, csrf: &str) -> bool {
        sha256_hex(csrf) == sha256_hex(self.csrf())
    }

    pub(super) fn leave_notice(&self, notice: String) {
        *lock(&self.notice) = Some(notice);
    }

    pub(super) fn take_notice(&self) -> Option<String> {
        lock(&self.notice).take()
    }
}

fn random() -> Result<String, PlainError> {
    let key = SealKeys::random_key().map_err(|error| format!("cannot make a random token: {error}"))?;
    Ok(sha256_hex(key))
}
