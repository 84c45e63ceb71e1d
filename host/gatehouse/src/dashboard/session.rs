//! The one browser that may open the pages: a token in the printed address is used once, and becomes a cookie.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use gatehouse_core::{hash::sha256_hex, lock};
use gatehouse_wire::serve::SealKeys;
use http::{HeaderMap, header::COOKIE};

use crate::plain_error::PlainError;

/// Results that no page has shown yet.
const MAX_NOTICES: usize = 8;

pub(super) struct Sessions {
    /// Digest of the token. `None` once it was used.
    token_digest: Mutex<Option<String>>,
    token: String,
    session: Arc<Session>,
}

/// The session that the token opens.
pub(super) struct Session {
    key: String,
    /// Its own for each dashboard, because a browser sends cookies to every port.
    cookie: String,
    /// Results of actions by number, until a page shows them.
    notices: Mutex<(u64, VecDeque<(u64, String)>)>,
}

impl Sessions {
    pub(super) fn new() -> Result<Self, PlainError> {
        let (token, key) = (random()?, random()?);
        let token_digest = Mutex::new(Some(sha256_hex(&token)));
        let cookie = format!("gatehouse-dashboard-{}", &sha256_hex(&key)[..8]);
        Ok(Self {
            token_digest,
            token,
            session: Arc::new(Session { key, cookie, notices: Mutex::default() }),
        })
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Uses up the token, and returns the cookie of the session.
    pub(super) fn open(&self, token: &str) -> Option<String> {
        // Digests are compared, so that the time tells nothing about the token.
        lock(&self.token_digest).take_if(|digest| *digest == sha256_hex(token))?;
        Some(format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.session.cookie, self.session.key))
    }

    /// Returns the session of a request.
    pub(super) fn find(&self, headers: &HeaderMap) -> Option<Arc<Session>> {
        let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let mut keys = pairs.filter(|(name, _)| *name == self.session.cookie).map(|(_, key)| key);
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

    /// Stores a notice for the page that takes it, and returns its number.
    pub(super) fn leave_notice(&self, notice: String) -> u64 {
        let (last, notices) = &mut *lock(&self.notices);
        *last += 1;
        notices.push_back((*last, notice));
        if notices.len() > MAX_NOTICES {
            notices.pop_front();
        }
        *last
    }

    pub(super) fn take_notice(&self, number: &str) -> Option<String> {
        let (_, notices) = &mut *lock(&self.notices);
        let place = notices.iter().position(|(known, _)| known.to_string() == number)?;
        notices.remove(place).map(|(_, notice)| notice)
    }
}

fn random() -> Result<String, PlainError> {
    let key = SealKeys::random_key().map_err(|error| format!("cannot make a random token: {error}"))?;
    Ok(sha256_hex(key))
}
