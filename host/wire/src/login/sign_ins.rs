//! Sign-ins of principals to servers, in a browser, on pages of this host.
//!
//! A link alone is not enough: the person who opens it must show the credential of the principal who got it. Otherwise
//! somebody could send the link to a colleague, and use the colleague's account from then on. From then on a cookie
//! binds the sign-in to that browser, because the authorization server's page can be passed on in the same way.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use gatehouse_core::{Caller, Fault, Principal, http::Secret, lock, names::quoted};
use gatehouse_net::Url;
use subtle::ConstantTimeEq as _;
use tokio::{sync::watch, time::Instant};

use super::{
    LoginDialog, LoginEndpoints, LoginId, LoginSettings, Logins,
    flow::{LoginProof, StartedLogin, random},
};

/// How long a link can be used.
const LIFETIME: Duration = Duration::from_secs(10 * 60);

/// Links at a time. Beyond it, the oldest ends.
const MAX_SIGN_INS: usize = 1_000;

/// Path of the pages of this host, before the id of a sign-in.
pub(crate) const SIGN_IN_PATH: &str = "/sign-in";

/// Path to which authorization servers send browsers back.
pub(crate) const CALLBACK_PATH: &str = "/sign-in/callback";

/// Finds the settings for logins to a server.
pub trait LoginTargets: Send + Sync {
    /// Returns the server's URL and settings. `None` if there is no such server, or callers do not sign in to it.
    fn login_target(&self, server: &str) -> Option<(String, LoginSettings)>;
}

/// The sign-ins of a host that wait for their principals. Inert until [`SignIns::open`].
#[derive(Default)]
pub struct SignIns {
    host: OnceLock<SignInHost>,
    pending: Mutex<HashMap<Arc<str>, PendingSignIn>>,
}

struct SignInHost {
    /// URL of this host for browsers, without a final slash.
    base: String,
    targets: Arc<dyn LoginTargets>,
}

struct PendingSignIn {
    login: LoginId,
    began: Instant,
    step: SignInStep,
    ended: watch::Sender<bool>,
}

enum SignInStep {
    /// Waits for the credential of its principal.
    Opened,
    /// Waits for the answer of the authorization server, in the browser with this cookie.
    Started { login: Box<StartedLogin>, cookie: Secret, caller: Arc<Caller> },
}

/// A link with which a principal signs in to a server.
#[derive(Clone)]
pub(crate) struct SignInLink {
    pub(crate) id: Arc<str>,
    pub(crate) url: String,
    /// Becomes true when the principal has signed in. Closed if the link ends before.
    pub(crate) ended: watch::Receiver<bool>,
}

/// A started sign-in: where the browser goes on, and the cookie that it needs when it comes back.
pub(crate) struct StartedSignIn {
    pub(crate) issuer: String,
    pub(crate) address: Url,
    pub(crate) cookie: Secret,
}

/// Dialog for users in a browser, who have nothing to decide with.
struct BrowserDialog;

#[async_trait]
impl LoginDialog for BrowserDialog {
    async fn confirm(&self, _: &LoginEndpoints) -> Option<bool> {
        None
    }

    fn show(&self, _: &Url, _: &Url) {}
}

impl SignIns {
    /// Starts to give out links. `base` is the URL of this host for browsers, without a path.
    pub fn open(&self, base: &str, targets: Arc<dyn LoginTargets>) {
        // A host serves once.
        let _ = self.host.set(SignInHost { base: base.trim_end_matches('/').to_owned(), targets });
    }

    /// Returns the link for a login. A principal has one link per server at a time.
    ///
    /// `None` if this host has no address for browsers, or principals do not sign in to this server.
    pub(crate) fn link(&self, login: &LoginId) -> Option<SignInLink> {
        let host = self.host.get()?;
        host.targets.login_target(login.server())?;
        let mut pending = lock(&self.pending);
        pending.retain(|_, sign_in| sign_in.began.elapsed() < LIFETIME);
        let link = |id: &Arc<str>, sign_in: &PendingSignIn| SignInLink {
            id: Arc::clone(id),
            url: format!("{}{SIGN_IN_PATH}/{id}", host.base),
            ended: sign_in.ended.subscribe(),
        };
        if let Some((id, sign_in)) = pending.iter_mut().find(|(_, sign_in)| sign_in.login == *login) {
            sign_in.began = Instant::now();
            return Some(link(id, sign_in));
        }
        if pending.len() >= MAX_SIGN_INS
            && let Some(oldest) =
                pending.iter().min_by_key(|(_, sign_in)| sign_in.began).map(|(id, _)| Arc::clone(id))
        {
            pending.remove(&oldest);
        }
        let id: Arc<str> = random().ok()?.reveal().into();
        let sign_in = PendingSignIn {
            login: login.clone(),
            began: Instant::now(),
            step: SignInStep::Opened,
            ended: watch::Sender::new(false),
        };
        let link = link(&id, &sign_in);
        pending.insert(id, sign_in);
        Some(link)
    }

    /// Returns the login that a link is for. `None` if it is unknown or over.
    pub(crate) fn login(&self, id: &str) -> Option<LoginId> {
        let pending = lock(&self.pending);
        let sign_in = pending.get(id).filter(|sign_in| sign_in.began.elapsed() < LIFETIME)?;
        Some(sign_in.login.clone())
    }

    /// Whether browsers reach this host over TLS.
    pub(crate) fn is_https(&self) -> bool {
        self.host.get().is_some_and(|host| host.base.starts_with("https:"))
    }

    /// Returns the URL of this host for browsers. `None` if it gives out no links.
    pub(crate) fn base(&self) -> Option<&str> {
        self.host.get().map(|host| host.base.as_str())
    }
}

impl Logins {
    /// Starts a sign-in for the principal whose credential the browser has shown.
    ///
    /// # Errors
    /// `not-found` if the link is over, `denied` if it belongs to another principal, or the error of the login.
    pub(crate) async fn start_sign_in(&self, id: &str, caller: &Arc<Caller>) -> Result<StartedSignIn, Fault> {
        let (sign_ins, unknown_link) =
            (&self.sign_ins, || Fault::not_found("this link is unknown or has expired"));
        let login = sign_ins.login(id).ok_or_else(unknown_link)?;
        if login.owner() != Some(&caller.principal) {
            let server = login.server();
            return Err(Fault::denied(format!(
                "this link to '{server}' is for another person. Do not open links that others send you."
            )));
        }
        let host = sign_ins.host.get().ok_or_else(unknown_link)?;
        let (url, settings) = host.targets.login_target(login.server()).ok_or_else(unknown_link)?;
        let redirect = format!("{}{CALLBACK_PATH}", host.base);
        let started = self.start_login(&login, &url, &settings, &BrowserDialog, redirect).await?;
        let (issuer, address, cookie) = (quoted(started.issuer(), 200), started.address(), random()?);
        let (login, caller) = (Box::new(started), Arc::clone(caller));
        let mut pending = lock(&sign_ins.pending);
        let pending_sign_in = pending.get_mut(id).ok_or_else(unknown_link)?;
        pending_sign_in.step = SignInStep::Started { login, cookie: cookie.clone(), caller };
        pending_sign_in.began = Instant::now();
        drop(pending);
        Ok(StartedSignIn { issuer, address, cookie })
    }

    /// Finishes a sign-in with the answer of the authorization server, and the cookies of the browser that brings it.
    /// Returns the login.
    ///
    /// # Errors
    /// `not-found` if no sign-in of this browser waits for this answer, or the error of the login.
    pub(crate) async fn finish_sign_in(&self, answer: &Url, cookies: &[Secret]) -> Result<LoginId, Fault> {
        let not_found = || Fault::not_found("no sign-in of this browser waits for this answer");
        let (login, ended, started, caller, code) = {
            let mut pending = lock(&self.sign_ins.pending);
            let answered = pending.iter().find_map(|(id, sign_in)| {
                let SignInStep::Started { login, cookie: expected, .. } = &sign_in.step else { return None };
                let expected = expected.reveal().as_bytes();
                let is_expected = |cookie: &Secret| bool::from(cookie.reveal().as_bytes().ct_eq(expected));
                if !cookies.iter().any(is_expected) || sign_in.began.elapsed() >= LIFETIME {
                    return None;
                }
                Some((Arc::clone(id), login.expected_answer().code_in(answer)?))
            });
            let (id, code) = answered.ok_or_else(not_found)?;
            let PendingSignIn { login, ended, step, .. } = pending.remove(&id).ok_or_else(not_found)?;
            let SignInStep::Started { login: started, caller, .. } = step else { return Err(not_found()) };
            (login, ended, started, caller, code?)
        };
        // The key may be revoked, and the server may be removed, since the page asked for it.
        let is_target = |host: &SignInHost| host.targets.login_target(login.server()).is_some();
        if !self.sign_ins.host.get().is_some_and(is_target) || caller.ended.is_cancelled() {
            return Err(not_found());
        }
        self.finish_login(*started, LoginProof::Code(&code)).await?;
        tracing::info!(server = login.server(), owner = login.owner().map(Principal::as_str), "signed in");
        ended.send_replace(true);
        Ok(login)
    }
}
