//! Pages on which a principal signs in to a server with its own account: a form for the credential, the way to the
//! authorization server, and the return from there. They have no script, and load nothing.

use std::sync::Arc;

use gatehouse_core::{
    Fault, FaultKind, Principal, http::Secret, names::quoted, ports::auth::ProtectedResource,
};
use gatehouse_net::Url;
use http::{
    HeaderMap, HeaderValue, Method, StatusCode,
    header::{AUTHORIZATION, COOKIE, REFERRER_POLICY, SET_COOKIE},
    request::Parts,
};
use hyper::body::Incoming;

use super::{
    active_request::ActiveRequest,
    body::BodyReader,
    client_address::ClientAddress,
    door_audit::{DoorAudit, unknown_principal},
    guard::RequestGuard,
    page::{self, escaped},
    reply::{BoxResponse, method_not_allowed},
};
use crate::login::{CALLBACK_PATH, Logins, SIGN_IN_PATH};

/// Maximum bytes of a form.
const MAX_FORM: usize = 32 << 10;

/// Cookies that are compared.
const MAX_COOKIES: usize = 64;

/// Seconds that a browser keeps the cookie: as long as a link can be used.
const COOKIE_LIFETIME: u32 = 600;

/// Characters of the sign-in's id in the name of its cookie, so that a browser can have several.
const COOKIE_ID_LEN: usize = 8;

const COOKIE_PREFIX: &str = "gatehouse-sign-in-";

/// Prefix of cookies that browsers accept only over TLS, from this host, for all paths.
const SECURE_PREFIX: &str = "__Host-gatehouse-sign-in-";

pub(super) struct SignInPages<'a> {
    pub(super) logins: &'a Arc<Logins>,
    pub(super) guard: &'a RequestGuard,
    pub(super) bodies: &'a BodyReader,
    pub(super) audit: &'a DoorAudit,
}

impl SignInPages<'_> {
    /// Answers a request for the page with this id, or for `callback`.
    pub(super) async fn respond(
        &self,
        id: &str,
        request: &Parts,
        body: Incoming,
        work: &mut ActiveRequest,
    ) -> BoxResponse {
        let is_callback = CALLBACK_PATH.strip_prefix(SIGN_IN_PATH).is_some_and(|path| path[1..] == *id);
        let mut response = match (&request.method, is_callback) {
            (&Method::GET, true) => self.finish(request, work.client).await,
            (&Method::GET, false) => self.form(id),
            (&Method::POST, false) => self.start(id, body, work).await,
            _ => method_not_allowed("GET, POST"),
        };
        // With `no-referrer`, browsers send forms with the origin `null`.
        response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
        response
    }

    fn form(&self, id: &str) -> BoxResponse {
        let Some(login) = self.logins.sign_ins().login(id) else { return over() };
        let server = escaped(login.server());
        let owner = escaped(&quoted(login.owner().map_or("", Principal::as_str), 200));
        let content = format!(
            "<h1>Sign in to {server}</h1>\n\
             <p>An agent that uses the credential of <b>{owner}</b> at this Gatehouse wants to call the server \
             <b>{server}</b> with an account of yours. Continue only if this is your agent.</p>\n\
             <form method=\"post\" action=\"{SIGN_IN_PATH}/{}\">\n\
             <p><label>The key or token with which your agent connects to Gatehouse:<br>\n\
             <input type=\"password\" name=\"credential\" autocomplete=\"off\" required autofocus></label></p>\n\
             <p><button>Continue</button></p>\n</form>\n",
            escaped(id)
        );
        answer(StatusCode::OK, &format!("Sign in to {server}"), &content)
    }

    async fn start(&self, id: &str, body: Incoming, work: &mut ActiveRequest) -> BoxResponse {
        if self.logins.sign_ins().login(id).is_none() {
            return over();
        }
        work.enter_body();
        let credential = match self.bodies.read(body, &unknown_principal()).await {
            Ok((body, _)) if body.len() <= MAX_FORM => credential(&body),
            Ok(_) => None,
            Err(unread) => return unread.response(),
        };
        let Some(credential) = credential else {
            return failed(StatusCode::BAD_REQUEST, "the form has no credential");
        };
        let caller = match self.guard.authenticate(&credential, ProtectedResource::Any, work.client).await {
            Ok(caller) => caller,
            Err(refusal) => {
                let (status, reason) = refusal.parts();
                self.audit.record_refusal(None, work.client, reason);
                return failed(status, reason);
            }
        };
        work.enter_working(None);
        if !work.charge(Arc::clone(&caller), self.guard.sharer(&caller)) {
            return failed(StatusCode::SERVICE_UNAVAILABLE, "too many of your calls are running");
        }
        let started = match self.logins.start_sign_in(id, &caller).await {
            Ok(started) => started,
            Err(fault) => {
                if fault.kind == FaultKind::Denied {
                    self.audit.record_refusal(Some(&caller.principal), work.client, &fault.message);
                }
                return fault_page(&fault);
            }
        };
        let (issuer, address) = (escaped(&started.issuer), escaped(started.address.as_str()));
        let content = format!(
            "<h1>Continue at {issuer}</h1>\n\
             <p>There you sign in, so that Gatehouse can use your account. Nobody else can use it here.</p>\n\
             <p><a href=\"{address}\">Continue</a></p>\n"
        );
        let mut response = answer(StatusCode::OK, "Continue", &content);
        if let Some(cookie) = self.cookie(id, &started.cookie) {
            response.headers_mut().insert(SET_COOKIE, cookie);
        }
        response
    }

    async fn finish(&self, request: &Parts, client: ClientAddress) -> BoxResponse {
        let target = request.uri.path_and_query().map_or("/", |target| target.as_str());
        let Some(url) = Url::parse("http://localhost").ok().and_then(|base| base.join(target).ok()) else {
            return over();
        };
        let cookies = self.cookies(&request.headers);
        let logins = Arc::clone(self.logins);
        // A task of its own, so that tokens are stored even if the window is closed.
        let finished = tokio::spawn(async move { logins.finish_sign_in(&url, &cookies).await });
        match finished.await.unwrap_or_else(|_| Err(Fault::internal("the sign-in panicked"))) {
            Ok(login) => {
                if let Some(owner) = login.owner() {
                    self.audit.record_sign_in(owner, client, login.server());
                }
                let server = escaped(login.server());
                let content = format!(
                    "<h1>Signed in to {server}</h1>\n<p>Your agent can use it now. You can close this window.</p>\n"
                );
                answer(StatusCode::OK, "Signed in", &content)
            }
            Err(fault) => fault_page(&fault),
        }
    }

    /// Returns the values of cookies that a sign-in has set. With TLS, those that another host of the domain could have
    /// set do not count.
    fn cookies(&self, headers: &HeaderMap) -> Vec<Secret> {
        let prefix = if self.logins.sign_ins().is_https() { SECURE_PREFIX } else { COOKIE_PREFIX };
        let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let sign_in_cookies = pairs.filter(|(name, _)| name.starts_with(prefix));
        sign_in_cookies.map(|(_, value)| Secret::new(value)).take(MAX_COOKIES).collect()
    }

    /// Returns the cookie that binds a sign-in to this browser.
    fn cookie(&self, id: &str, value: &Secret) -> Option<HeaderValue> {
        let id = id.get(..COOKIE_ID_LEN)?;
        let (prefix, rest) = match self.logins.sign_ins().is_https() {
            true => (SECURE_PREFIX, "Path=/; Secure"),
            false => (COOKIE_PREFIX, "Path=/sign-in"),
        };
        let value = value.reveal();
        let cookie =
            format!("{prefix}{id}={value}; HttpOnly; SameSite=Lax; Max-Age={COOKIE_LIFETIME}; {rest}");
        let mut cookie = HeaderValue::try_from(cookie).ok()?;
        cookie.set_sensitive(true);
        Some(cookie)
    }
}

/// Returns the credential of a form as the header of a request.
fn credential(form: &[u8]) -> Option<HeaderMap> {
    let form = std::str::from_utf8(form).ok()?;
    let form = Url::parse(&format!("http://localhost/?{form}")).ok()?;
    let (_, credential) = form.query_pairs().find(|(name, _)| name == "credential")?;
    let mut header = HeaderValue::try_from(format!("Bearer {}", credential.trim())).ok()?;
    header.set_sensitive(true);
    Some(HeaderMap::from_iter([(AUTHORIZATION, header)]))
}

fn answer(status: StatusCode, title: &str, content: &str) -> BoxResponse {
    page::respond(status, format!("{}{content}</html>\n", page::head(title)), "'self'")
}

fn over() -> BoxResponse {
    failed(
        StatusCode::NOT_FOUND,
        "this link is unknown or has expired. Let your agent repeat the call, and open the new link.",
    )
}

fn fault_page(fault: &Fault) -> BoxResponse {
    let status = match fault.kind {
        FaultKind::NotFound => StatusCode::NOT_FOUND,
        FaultKind::Denied => StatusCode::FORBIDDEN,
        _ => StatusCode::BAD_GATEWAY,
    };
    failed(status, &fault.in_one_line())
}

fn failed(status: StatusCode, reason: &str) -> BoxResponse {
    let content = format!("<h1>Not signed in</h1>\n<p>{}</p>\n", escaped(reason));
    answer(status, "Not signed in", &content)
}
