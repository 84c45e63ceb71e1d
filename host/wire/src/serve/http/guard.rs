//! Who may ask, decided by the headers alone, before a byte of the body is read and before anything else
//! answers: the server's names, the web pages it knows, and the token.

use std::{fmt, net::SocketAddr};

use gatehouse_core::{LogLimit, Principal, names::quoted};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
        ACCESS_CONTROL_REQUEST_METHOD, CONNECTION, HOST, ORIGIN, VARY, WWW_AUTHENTICATE,
    },
    request::Parts,
};

use super::{
    host_names::{HostName, WebOrigin},
    reply::{self, BoxResponse, refuse},
    settings::HttpSettings,
};
use crate::serve::BearerToken;

/// Headers of the protocol that a web page may send.
const REQUEST_HEADERS: &str = "authorization, content-type, accept, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, last-event-id";

/// Headers that mirror arguments, which each tool names for itself.
const PARAMETER_HEADER: &str = "mcp-param-";

/// Headers of the answer that a web page may read.
const ANSWER_HEADERS: HeaderValue = HeaderValue::from_static("mcp-session-id, www-authenticate");

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE");

/// How many seconds a browser may keep what it was allowed.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");

pub(super) struct RequestGuard {
    /// None where every name will do.
    hosts: Option<Vec<HostName>>,
    /// Pages of this server's own address.
    own: Vec<WebOrigin>,
    /// Pages that the operator allows; they get CORS headers.
    pages: Vec<WebOrigin>,
    token: Option<BearerToken>,
    /// Whoever bears the token.
    bearer: Principal,
    limits: [LogLimit; 3],
}

/// What was wrong.
#[derive(Debug, Clone, Copy)]
enum FailedCheck {
    Host,
    Origin,
    Token,
}

/// Why a request goes no further.
pub(super) struct RequestRefusal {
    wrong: FailedCheck,
    status: StatusCode,
    why: &'static str,
}

/// A web page that may call, as its browser named it; none where no page asks.
pub(super) struct BrowserOrigin(Option<HeaderValue>);

impl RequestGuard {
    pub(super) fn new(address: SocketAddr, settings: &HttpSettings, token: Option<BearerToken>) -> Self {
        // Beyond loopback the host goes by names it cannot know, unless it is told; the token protects it.
        let checked = address.ip().is_loopback() || !settings.hosts.is_empty();
        let hosts = checked.then(|| [HostName::local(address.ip()), settings.hosts.clone()].concat());
        let own = WebOrigin::local(address.ip(), address.port());
        let bearer = Principal::Named("token".into());
        Self { hosts, own, pages: settings.origins.clone(), token, bearer, limits: Default::default() }
    }

    /// Whether the request is meant for this server, and comes from no foreign web page.
    pub(super) fn check(&self, request: &Parts) -> Result<BrowserOrigin, RequestRefusal> {
        self.check_host(request)?;
        self.check_origin(&request.headers)
    }

    fn check_host(&self, request: &Parts) -> Result<(), RequestRefusal> {
        let malformed =
            |why| RequestRefusal { wrong: FailedCheck::Host, status: StatusCode::BAD_REQUEST, why };
        let given =
            single_value(&request.headers, HOST).map_err(|_| malformed("The Host header stands twice."))?;
        let given = given.ok_or_else(|| malformed("The Host header is missing."))?;
        let read =
            |text: &str| HostName::parse(text).map_err(|_| malformed("The Host header names no host."));
        let given = read(given.to_str().unwrap_or_default())?;
        // A whole URL in the request line counts more than the header, so it must pass too.
        let line = request.uri.authority().map(|authority| read(authority.as_str())).transpose()?;
        let known = |name: &HostName| {
            self.hosts.as_ref().is_none_or(|hosts| hosts.iter().any(|host| host.covers(name)))
        };
        if known(&given) && line.is_none_or(|name| known(&name)) {
            return Ok(());
        }
        let why = "This is not the host that the Host header names; allowed_hosts under [http] in presets.toml adds names.";
        Err(RequestRefusal { wrong: FailedCheck::Host, status: StatusCode::FORBIDDEN, why })
    }

    fn check_origin(&self, headers: &HeaderMap) -> Result<BrowserOrigin, RequestRefusal> {
        let refusal = |status, why| RequestRefusal { wrong: FailedCheck::Origin, status, why };
        let twice = |_| refusal(StatusCode::BAD_REQUEST, "The Origin header stands twice.");
        let Some(given) = single_value(headers, ORIGIN).map_err(twice)? else {
            return Ok(BrowserOrigin(None));
        };
        let page = given.to_str().ok().and_then(|text| WebOrigin::parse(text).ok());
        match page {
            Some(page) if self.pages.contains(&page) => Ok(BrowserOrigin(Some(given.clone()))),
            Some(page) if self.own.contains(&page) => Ok(BrowserOrigin(None)),
            _ => {
                let why = "Web pages of this origin may not call; allowed_origins under [http] in presets.toml adds origins.";
                Err(refusal(StatusCode::FORBIDDEN, why))
            }
        }
    }

    /// Whether clients need a token.
    pub(super) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Who asks: whoever bears the token, where there is one.
    pub(super) fn authenticate(&self, headers: &HeaderMap) -> Result<Principal, RequestRefusal> {
        match &self.token {
            None => return Ok(Principal::Local),
            Some(token) if token.admits(headers) => return Ok(self.bearer.clone()),
            Some(_) => {}
        }
        let why = "This host needs the header `Authorization: Bearer <GATEHOUSE_TOKEN>`.";
        Err(RequestRefusal { wrong: FailedCheck::Token, status: StatusCode::UNAUTHORIZED, why })
    }

    /// The answer to a request that was refused, and its line in the log.
    pub(super) fn refuse(&self, refusal: &RequestRefusal, request: &Parts, peer: SocketAddr) -> BoxResponse {
        if let Some(left_out) = self.limits[refusal.wrong as usize].admit_line() {
            let headers = &request.headers;
            let given = match refusal.wrong {
                FailedCheck::Host => Some(header_text(headers, HOST)),
                FailedCheck::Origin => Some(header_text(headers, ORIGIN)),
                // Whatever it is, it is somebody's secret.
                FailedCheck::Token => None,
            };
            tracing::warn!(
                %peer, path = %quoted(request.uri.path(), 64), given = given.map(tracing::field::display),
                left_out, "request refused: {}", refusal.wrong,
            );
        }
        let mut response = refuse(refusal.status, refusal.why);
        // Nobody whom we know: the place is for others.
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        if matches!(refusal.wrong, FailedCheck::Token) {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl fmt::Display for FailedCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Host => "foreign or malformed Host",
            Self::Origin => "foreign or malformed Origin",
            Self::Token => "no token, or a wrong one",
        })
    }
}

impl BrowserOrigin {
    /// The answer to a browser that asks whether the page may send its request; none where it asks not.
    pub(super) fn preflight(&self, request: &Parts) -> Option<BoxResponse> {
        let asks =
            request.method == Method::OPTIONS && request.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        if self.0.is_none() || !asks {
            return None;
        }
        let mut response = reply::plain(StatusCode::NO_CONTENT, "");
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, request_headers(&request.headers));
        headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
        Some(response)
    }

    /// Lets the page read the answer.
    pub(super) fn allow_read(self, headers: &mut HeaderMap) {
        let Some(origin) = self.0 else { return };
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, ANSWER_HEADERS);
        headers.append(VARY, HeaderValue::from_static("origin"));
    }
}

/// The headers that a page may send: those of the protocol, and of those it asks for the mirrored arguments.
fn request_headers(headers: &HeaderMap) -> HeaderValue {
    let asked = headers.get(ACCESS_CONTROL_REQUEST_HEADERS).and_then(|value| value.to_str().ok());
    let asked = asked.unwrap_or_default().split(',').map(|name| name.trim().to_ascii_lowercase());
    let mirrored = asked.filter(|name| name.starts_with(PARAMETER_HEADER));
    let mirrored = mirrored.filter(|name| HeaderName::try_from(name.as_str()).is_ok());
    let all = mirrored.fold(REQUEST_HEADERS.to_owned(), |all, name| all + ", " + &name);
    HeaderValue::try_from(all).unwrap_or(HeaderValue::from_static(REQUEST_HEADERS))
}

/// The value of a header that may stand once at most.
fn single_value(headers: &HeaderMap, name: HeaderName) -> Result<Option<&HeaderValue>, ()> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    if values.next().is_some() { Err(()) } else { Ok(value) }
}

fn header_text(headers: &HeaderMap, name: HeaderName) -> String {
    let values: Vec<_> =
        headers.get_all(name).iter().map(|v| String::from_utf8_lossy(v.as_bytes())).collect();
    quoted(&values.join(" and "), 100)
}
