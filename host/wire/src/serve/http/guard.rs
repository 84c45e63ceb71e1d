//! Access checks on headers alone, before the body is read: host names, web origins and the credential.
//!
//! Longer than 300 lines because all checks refuse requests in the same way.

use std::{
    borrow::Cow,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use gatehouse_core::{
    Caller, LogLimit, Principal,
    names::quoted,
    ports::auth::{AuthRefusal, ProtectedResource, ResourceMetadata},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
        ACCESS_CONTROL_REQUEST_METHOD, CONNECTION, HOST, ORIGIN, VARY, WWW_AUTHENTICATE,
    },
    request::Parts,
};
use ipnet::IpNet;
use serde_json::{Value, json};

use super::{
    auth::{Credentials, bearer},
    client_address::ClientAddress,
    reply::{self, BoxResponse, refuse},
    settings::{HostName, HttpSettings, WebOrigin},
};

/// Path of the metadata of protected resources, before the path of the resource (RFC 9728).
pub(super) const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// Headers that web pages may send.
const REQUEST_HEADERS: &str = "authorization, content-type, accept, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, last-event-id";

/// Prefix of headers that mirror tool arguments.
const PARAMETER_HEADER: &str = "mcp-param-";

/// Response headers that web pages may read.
const ANSWER_HEADERS: HeaderValue = HeaderValue::from_static("mcp-session-id, www-authenticate");

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE");

/// How long browsers may cache a preflight response, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");

pub(super) struct RequestGuard {
    /// `None` if every host name is allowed.
    hosts: Option<Vec<HostName>>,
    /// Origins of this server's own pages.
    own: Vec<WebOrigin>,
    /// Other origins that the operator allows. They get CORS headers.
    pages: Vec<WebOrigin>,
    /// Proxies whose `X-Forwarded-For` counts.
    proxies: Vec<IpNet>,
    credentials: Credentials,
    /// Caller of clients with the token of the host.
    bearer: Arc<Caller>,
    limits: [LogLimit; 3],
}

#[derive(Debug, Clone, Copy, thiserror::Error)]
enum FailedCheck {
    #[error("foreign or malformed Host header")]
    Host,
    #[error("foreign or malformed Origin header")]
    Origin,
    #[error("missing or invalid credential")]
    Credential,
}

pub(super) struct RequestRefusal {
    wrong: FailedCheck,
    status: StatusCode,
    reason: Cow<'static, str>,
    challenge: Option<String>,
}

impl RequestRefusal {
    fn new(wrong: FailedCheck, status: StatusCode, reason: impl Into<Cow<'static, str>>) -> Self {
        Self { wrong, status, reason: reason.into(), challenge: None }
    }

    /// Returns the status and the reason.
    pub(super) fn parts(&self) -> (StatusCode, &str) {
        (self.status, &self.reason)
    }
}

/// An allowed web origin to be sent in CORS headers. `None` if they are not needed.
pub(super) struct BrowserOrigin(Option<HeaderValue>);

impl RequestGuard {
    /// `base` is the origin of this server for browsers, which may be that of a proxy.
    pub(super) fn new(
        address: SocketAddr,
        settings: &HttpSettings,
        credentials: Credentials,
        base: Option<&str>,
    ) -> Self {
        // Beyond loopback, the server cannot know its names unless configured. The token protects it.
        let checked = address.ip().is_loopback() || !settings.hosts.is_empty();
        let hosts = checked.then(|| [HostName::local(address.ip()), settings.hosts.clone()].concat());
        let mut own_origins = WebOrigin::local(address.ip(), address.port());
        own_origins.extend(base.and_then(|base| WebOrigin::parse(base).ok()));
        let bearer = Caller::named("token");
        Self {
            hosts,
            own: own_origins,
            pages: settings.origins.clone(),
            proxies: settings.trusted_proxies.clone(),
            credentials,
            bearer,
            limits: Default::default(),
        }
    }

    /// Checks that the request is for this server, and not from a foreign web page.
    pub(super) fn check(&self, request: &Parts) -> Result<BrowserOrigin, RequestRefusal> {
        self.check_host(request)?;
        self.check_origin(&request.headers)
    }

    /// Returns who has a share of the host. Without keys and issuers, all clients are one person, who needs none.
    pub(super) fn sharer<'a>(&self, caller: &'a Caller) -> &'a Principal {
        if self.credentials.authenticator.is_some() { &caller.principal } else { &Principal::Local }
    }

    /// Returns the address of the client whose request came from this peer.
    pub(super) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> ClientAddress {
        ClientAddress::new(peer, headers, &self.proxies)
    }

    fn check_host(&self, request: &Parts) -> Result<(), RequestRefusal> {
        let malformed =
            |reason: &'static str| RequestRefusal::new(FailedCheck::Host, StatusCode::BAD_REQUEST, reason);
        let header = single_value(&request.headers, HOST).map_err(|_| malformed("duplicate Host header"))?;
        let header = header.ok_or_else(|| malformed("missing Host header"))?;
        let read = |text: &str| HostName::parse(text).map_err(|_| malformed("invalid Host header"));
        let host_name = read(header.to_str().unwrap_or_default())?;
        // An absolute URL in the request line overrides the header, so check both.
        let line = request.uri.authority().map(|authority| read(authority.as_str())).transpose()?;
        let is_allowed = |name: &HostName| {
            self.hosts.as_ref().is_none_or(|hosts| hosts.iter().any(|host| host.covers(name)))
        };
        if is_allowed(&host_name) && line.is_none_or(|name| is_allowed(&name)) {
            return Ok(());
        }
        let reason = "the Host header does not name this server. Add the name to `allowed_hosts` under `[http]` in \
        presets.toml.";
        Err(RequestRefusal::new(FailedCheck::Host, StatusCode::FORBIDDEN, reason))
    }

    fn check_origin(&self, headers: &HeaderMap) -> Result<BrowserOrigin, RequestRefusal> {
        let refusal = |status, reason: &'static str| RequestRefusal::new(FailedCheck::Origin, status, reason);
        let twice = |_| refusal(StatusCode::BAD_REQUEST, "duplicate Origin header");
        let Some(header) = single_value(headers, ORIGIN).map_err(twice)? else {
            return Ok(BrowserOrigin(None));
        };
        let page = header.to_str().ok().and_then(|text| WebOrigin::parse(text).ok());
        match page {
            Some(page) if self.pages.contains(&page) => Ok(BrowserOrigin(Some(header.clone()))),
            Some(page) if self.own.contains(&page) => Ok(BrowserOrigin(None)),
            _ => {
                let reason = "web pages of this origin are not allowed. Add the origin to `allowed_origins` under \
                `[http]` in presets.toml.";
                Err(refusal(StatusCode::FORBIDDEN, reason))
            }
        }
    }

    pub(super) fn requires_credentials(&self) -> bool {
        self.credentials.are_required()
    }

    /// Returns the caller of a request: the local user if no credential is required.
    pub(super) async fn authenticate(
        &self,
        headers: &HeaderMap,
        resource: ProtectedResource<'_>,
        client: ClientAddress,
    ) -> Result<Arc<Caller>, RequestRefusal> {
        let Credentials { token, authenticator } = &self.credentials;
        if !self.credentials.are_required() {
            return Ok(Caller::local());
        }
        let credential = bearer(headers);
        if let (Some(token), Some(credential)) = (token, credential)
            && token.is(credential)
        {
            return Ok(Arc::clone(&self.bearer));
        }
        let Some(authenticator) = authenticator else {
            let reason =
                "missing or invalid token: send the header `Authorization: Bearer <GATEHOUSE_TOKEN>`";
            return Err(self.unauthorized(reason, resource, None));
        };
        let Some(credential) = credential else {
            let reason = "missing credential: send the header `Authorization: Bearer <key or token>`";
            return Err(self.unauthorized(reason, resource, None));
        };
        authenticator.authenticate(credential, resource, client.0).await.map_err(|refusal| match refusal {
            AuthRefusal::Invalid(reason) => self.unauthorized(reason, resource, Some("invalid_token")),
            AuthRefusal::InsufficientScope(scopes) => {
                let reason = format!("the token lacks the scopes {}", scopes.join(", "));
                self.challenge(StatusCode::FORBIDDEN, reason, resource, Some("insufficient_scope"), &scopes)
            }
            AuthRefusal::Unavailable(reason) => {
                RequestRefusal::new(FailedCheck::Credential, StatusCode::SERVICE_UNAVAILABLE, reason)
            }
        })
    }

    fn unauthorized(
        &self,
        reason: impl Into<Cow<'static, str>>,
        resource: ProtectedResource<'_>,
        error: Option<&str>,
    ) -> RequestRefusal {
        let scopes = self.metadata().map(|metadata| &*metadata.scopes).unwrap_or_default();
        self.challenge(StatusCode::UNAUTHORIZED, reason, resource, error, scopes)
    }

    /// Returns a refusal that says how to sign in, as RFC 6750 and RFC 9728 describe.
    fn challenge(
        &self,
        status: StatusCode,
        reason: impl Into<Cow<'static, str>>,
        resource: ProtectedResource<'_>,
        error: Option<&str>,
        scopes: &[String],
    ) -> RequestRefusal {
        let mut parameters: Vec<String> =
            error.map(|error| format!("error=\"{error}\"")).into_iter().collect();
        if let Some(metadata) = self.metadata() {
            if !scopes.is_empty() {
                parameters.push(format!("scope=\"{}\"", scopes.join(" ")));
            }
            let url = format!("{}{METADATA_PATH}{}", metadata.base_url, resource.path());
            parameters.push(format!("resource_metadata=\"{url}\""));
        }
        let separator = if parameters.is_empty() { "" } else { " " };
        let challenge = Some(format!("Bearer{separator}{}", parameters.join(", ")));
        RequestRefusal { challenge, ..RequestRefusal::new(FailedCheck::Credential, status, reason) }
    }

    fn metadata(&self) -> Option<&ResourceMetadata> {
        self.credentials.authenticator.as_deref()?.metadata()
    }

    /// Returns the metadata of the protected resource at this path (RFC 9728). Without a path, it is that of the host, whose
    /// tokens open every resource. `None` if clients cannot sign in.
    pub(super) fn resource_metadata(&self, path: &str) -> Option<Value> {
        let metadata = self.metadata()?;
        Some(json!({
            "resource": format!("{}{path}", metadata.base_url),
            "authorization_servers": metadata.authorization_servers,
            "scopes_supported": metadata.scopes,
            "bearer_methods_supported": ["header"],
        }))
    }

    pub(super) fn refuse(
        &self,
        refusal: &RequestRefusal,
        request: &Parts,
        client: ClientAddress,
    ) -> BoxResponse {
        if let Some(left_out) = self.limits[refusal.wrong as usize].admit_line() {
            let headers = &request.headers;
            let header_value = match refusal.wrong {
                FailedCheck::Host => Some(header_text(headers, HOST)),
                FailedCheck::Origin => Some(header_text(headers, ORIGIN)),
                // Never log a token.
                FailedCheck::Credential => None,
            };
            tracing::warn!(
                client = %client.0, path = %quoted(request.uri.path(), 64), given = header_value.map(tracing::field::display),
                left_out, "request refused: {}", refusal.wrong,
            );
        }
        let mut response = refuse(refusal.status, &refusal.reason);
        // Free the connection for other clients.
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        if let Some(challenge) = &refusal.challenge
            && let Ok(challenge) = HeaderValue::try_from(challenge)
        {
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

impl BrowserOrigin {
    /// Returns the response to a CORS preflight request. `None` if the request is not one.
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

    pub(super) fn allow_read(self, headers: &mut HeaderMap) {
        let Some(origin) = self.0 else { return };
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, ANSWER_HEADERS);
        headers.append(VARY, HeaderValue::from_static("origin"));
    }
}

/// Returns the headers that a page may send: [`REQUEST_HEADERS`] and the requested parameter headers.
fn request_headers(headers: &HeaderMap) -> HeaderValue {
    let requested_headers = headers.get(ACCESS_CONTROL_REQUEST_HEADERS).and_then(|value| value.to_str().ok());
    let requested_headers =
        requested_headers.unwrap_or_default().split(',').map(|name| name.trim().to_ascii_lowercase());
    let mirrored = requested_headers.filter(|name| name.starts_with(PARAMETER_HEADER));
    let mirrored = mirrored.filter(|name| HeaderName::try_from(name.as_str()).is_ok());
    let allowed_headers = mirrored.fold(REQUEST_HEADERS.to_owned(), |list, name| list + ", " + &name);
    HeaderValue::try_from(allowed_headers).unwrap_or(HeaderValue::from_static(REQUEST_HEADERS))
}

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
