//! Requests to one repository, with rules for their targets, credentials and response sizes.

use std::time::Duration;

use bytes::Bytes;
use gatehouse_core::names::quoted;
use gatehouse_net::{
    BodyError, Client, Error as HttpError, HttpClients, Method, Response, StatusCode, Url,
    header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, LOCATION},
    http_cause, read_body_while,
};

use tokio::time::timeout;

use crate::login::is_loopback;

use super::{
    Credentials, OciReference, RegistryAccess, RegistryError,
    auth::{SupportedChallenge, basic, bearer, may_receive_credentials, token_url},
    transfer::COMPONENT,
};

/// Maximum redirects. Registries usually redirect blobs to a store, in one hop.
const MAX_HOPS: usize = 5;

/// Maximum time between two pieces of a response.
const MAX_READ_PAUSE: Duration = Duration::from_secs(30);
const MAX_REQUEST_TIME: Duration = Duration::from_secs(15 * 60);

/// Maximum time of a response other than a blob: manifests, tokens and errors.
const MAX_SMALL_TIME: Duration = Duration::from_secs(60);

const MAX_SMALL_RESPONSE: u64 = 64 << 10;

pub struct RegistryClient {
    http: HttpClients,
    pub(super) reference: OciReference,
    pub(super) base: Url,
    insecure: bool,
    access: RegistryAccess,
    credentials: Option<Credentials>,
    authorization: Option<HeaderValue>,
    /// Token service that was asked without credentials, because they must not be sent there.
    withheld: Option<String>,
}

pub(super) struct Request {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) accept: &'static str,
    /// Media type and content.
    pub(super) body: Option<(&'static str, Bytes)>,
}

impl Request {
    pub(super) fn get(url: Url, accept: &'static str) -> Self {
        Self { method: Method::GET, url, accept, body: None }
    }
}

impl RegistryClient {
    /// Creates a client. Uses plain HTTP for loopback registries, and for others only if `insecure`.
    pub fn new(
        reference: &OciReference,
        access: RegistryAccess,
        credentials: Option<Credentials>,
        insecure: bool,
    ) -> Result<Self, RegistryError> {
        let http = HttpClients::new(move |builder| match access {
            RegistryAccess::Pull => builder.timeout(MAX_REQUEST_TIME).read_timeout(MAX_READ_PAUSE),
            // The read timeout would also run while a large body is sent.
            RegistryAccess::Push => builder.timeout(MAX_REQUEST_TIME),
        });
        let address = reference.address();
        let host = address.rsplit_once(':').filter(|(_, port)| !port.ends_with(']'));
        let plain = insecure || is_loopback(host.map_or(address, |(host, _)| host));
        let base =
            format!("{}://{address}/v2/{}/", if plain { "http" } else { "https" }, reference.repository);
        let base = Url::parse(&base);
        let base = base.map_err(|_| RegistryError::new(format!("invalid registry address '{address}'")))?;
        let reference = reference.clone();
        Ok(Self { http, reference, base, insecure, access, credentials, authorization: None, withheld: None })
    }

    pub(super) fn url(&self, path: &str) -> Result<Url, RegistryError> {
        self.base.join(path).map_err(|_| self.error(format!("invalid path '{path}'")))
    }

    pub(super) fn error(&self, message: impl AsRef<str>) -> RegistryError {
        RegistryError::new(format!("registry '{}': {}", self.reference.registry, message.as_ref()))
    }

    /// Sends a request. GET and HEAD follow redirects, without credentials outside the registry's origin.
    pub(super) async fn send(&mut self, request: Request) -> Result<Response, RegistryError> {
        let follows = request.method == Method::GET || request.method == Method::HEAD;
        let mut url = request.url;
        let mut asked_again = false;
        let mut hops = 0;
        loop {
            self.check_url(&url)?;
            let home = url.origin() == self.base.origin();
            let mut built = self.http(&url)?.request(request.method.clone(), url.clone());
            built = built.header(ACCEPT, request.accept);
            if let Some((media_type, body)) = &request.body {
                built = built.header(CONTENT_TYPE, *media_type).body(body.clone());
            } else if !follows {
                built = built.header(CONTENT_LENGTH, 0);
            }
            if let Some(authorization) = self.authorization.as_ref().filter(|_| home) {
                built = built.header(AUTHORIZATION, authorization.clone());
            }
            let response = built.send().await.map_err(|error| self.unreachable(&url, error))?;
            if home && response.status() == StatusCode::UNAUTHORIZED && !asked_again {
                asked_again = true;
                self.authorize(&response).await?;
            } else if follows && response.status().is_redirection() {
                hops += 1;
                if hops > MAX_HOPS {
                    return Err(self.error(format!("redirects more than {MAX_HOPS} times")));
                }
                url = self.location(&response)?;
            } else {
                return Ok(response);
            }
        }
    }

    pub(super) fn location(&self, response: &Response) -> Result<Url, RegistryError> {
        let target = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let target = target.ok_or_else(|| self.error("redirects without a location"))?;
        let url = response.url().join(target);
        url.map_err(|_| self.error(format!("redirects to an invalid URL: '{}'", quoted(target, 100))))
    }

    /// Requires TLS, unless the registry itself uses plain HTTP: then loopback hosts may too, and any host if
    /// `insecure`.
    fn check_url(&self, url: &Url) -> Result<(), RegistryError> {
        let host = url.host_str().unwrap_or_default();
        let plain =
            url.scheme() == "http" && self.base.scheme() == "http" && (self.insecure || is_loopback(host));
        if url.scheme() == "https" || plain {
            return Ok(());
        }
        let target = quoted(&url.origin().ascii_serialization(), 100);
        Err(self.error(format!("redirects to {target} without TLS; refusing to follow")))
    }

    fn http(&self, url: &Url) -> Result<&Client, RegistryError> {
        self.http.for_url(url).map_err(|fault| RegistryError::new(fault.in_one_line()))
    }

    fn unreachable(&self, url: &Url, error: HttpError) -> RegistryError {
        let host = quoted(&url.origin().ascii_serialization(), 100);
        self.error(format!("no answer from {host}: {}", quoted(&http_cause(error), 300)))
    }

    async fn authorize(&mut self, response: &Response) -> Result<(), RegistryError> {
        let challenge = SupportedChallenge::from_headers(response.headers());
        self.authorization = Some(match (challenge, &self.credentials) {
            (Some(SupportedChallenge::Basic), Some(credentials)) => basic(credentials)?,
            (Some(SupportedChallenge::Basic), None) => return Err(self.denied()),
            (Some(SupportedChallenge::Bearer { realm, service }), _) => {
                self.token(&realm, service.as_deref()).await?
            }
            (None, _) => return Err(self.error("requires an unsupported kind of credentials")),
        });
        Ok(())
    }

    async fn token(&mut self, realm: &str, service: Option<&str>) -> Result<HeaderValue, RegistryError> {
        let actions = match self.access {
            RegistryAccess::Pull => "pull",
            RegistryAccess::Push => "pull,push",
        };
        let url = token_url(realm, service, &self.reference.repository, actions)?;
        self.check_url(&url)?;
        let mut request = self.http(&url)?.get(url.clone());
        self.withheld = None;
        if let Some(credentials) = &self.credentials {
            if may_receive_credentials(&self.base, &url) {
                request = request.header(AUTHORIZATION, basic(credentials)?);
            } else {
                self.withheld = Some(url.origin().ascii_serialization());
            }
        }
        let response = request.send().await.map_err(|error| self.unreachable(&url, error))?;
        match response.status() {
            StatusCode::OK => bearer(&self.read(response, MAX_SMALL_RESPONSE, "the token", &|_| ()).await?),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(self.denied()),
            other => Err(self.error(format!("its token service answered {other}"))),
        }
    }

    fn denied(&self) -> RegistryError {
        let name = &self.reference.registry;
        if let Some(service) = &self.withheld {
            let service = quoted(service, 100);
            return self.error(format!(
                "asks for credentials at {service}, which is not its own token service; they were not sent. If the \
                gate is public, repeat the command without credentials"
            ));
        }
        RegistryError::credentials(match &self.credentials {
            Some(_) => format!("registry '{name}' rejected the credentials"),
            None => format!("registry '{name}' requires credentials"),
        })
    }

    /// Returns the response if its status is one of `codes`, else an error that quotes it.
    pub(super) async fn expect_status(
        &self,
        response: Response,
        codes: &[StatusCode],
        subject: &str,
    ) -> Result<Response, RegistryError> {
        let status = response.status();
        if codes.contains(&status) {
            return Ok(response);
        }
        if status == StatusCode::UNAUTHORIZED || status == StatusCode::FORBIDDEN {
            return Err(self.denied());
        }
        if status == StatusCode::NOT_FOUND {
            return Err(self.error(format!("{subject} not found")));
        }
        let text = self.read(response, MAX_SMALL_RESPONSE, "the error", &|_| ()).await.unwrap_or_default();
        let text = quoted(String::from_utf8_lossy(&text).trim(), 200);
        let text = if text.is_empty() { text } else { format!(": {text}") };
        Err(self.error(format!("answered {status} for {subject}{text}")))
    }

    /// Reads a body of at most `cap` bytes. Does not trust the declared length.
    pub(super) async fn read(
        &self,
        response: Response,
        cap: u64,
        subject: &str,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Vec<u8>, RegistryError> {
        let mut read = 0;
        let body = read_body_while(response, usize::try_from(cap).unwrap_or(usize::MAX), |piece| {
            read += piece.len() as u64;
            progress(read);
            true
        });
        let limit = if subject == COMPONENT { MAX_REQUEST_TIME } else { MAX_SMALL_TIME };
        let body = timeout(limit, body)
            .await
            .map_err(|_| self.error(format!("{subject} did not arrive within {} s", limit.as_secs())))?;
        body.map_err(|error| match error {
            BodyError::TooLarge | BodyError::Stopped => {
                self.error(format!("sent more than {cap} bytes for {subject}"))
            }
            BodyError::Broken(error, read) => {
                let cause = quoted(&http_cause(error), 300);
                self.error(format!("{subject} ended after {read} bytes: {cause}"))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry(reference: &str, insecure: bool) -> RegistryClient {
        let reference: OciReference = reference.parse().expect("a reference");
        RegistryClient::new(&reference, RegistryAccess::Pull, None, insecure).expect("a client")
    }

    #[test]
    fn plain_http_is_for_loopback_or_insecure() {
        let base = |reference: &str, insecure: bool| registry(reference, insecure).base.to_string();
        assert_eq!(base("oci://ghcr.io/a/b", false), "https://ghcr.io/v2/a/b/");
        assert_eq!(base("oci://docker.io/a/b", false), "https://registry-1.docker.io/v2/a/b/");
        assert_eq!(base("oci://10.0.0.1:5000/a", false), "https://10.0.0.1:5000/v2/a/");
        assert_eq!(base("oci://127.0.0.1:5000/a", false), "http://127.0.0.1:5000/v2/a/");
        assert_eq!(base("oci://[::1]:5000/a", false), "http://[::1]:5000/v2/a/");
        assert_eq!(base("oci://10.0.0.1:5000/a", true), "http://10.0.0.1:5000/v2/a/");
    }

    #[test]
    fn redirects_cannot_drop_tls() {
        let may = |registry: &RegistryClient, url: &str| {
            registry.check_url(&Url::parse(url).expect("a URL")).is_ok()
        };
        let far = registry("oci://ghcr.io/a", false);
        assert!(may(&far, "https://blobs.example/x"));
        assert!(
            !may(&far, "http://ghcr.io/x") && !may(&far, "http://127.0.0.1/x") && !may(&far, "file:///x")
        );
        let near = registry("oci://localhost:5000/a", false);
        assert!(may(&near, "http://localhost:5001/x") && !may(&near, "http://blobs.example/x"));
        assert!(may(&registry("oci://r.example/a", true), "http://blobs.example/x"));
    }
}
