//! Requests to one repository: whom they may go to, what they carry, and how much may come back.

#[cfg(test)]
mod tests;

use std::time::Duration;

use bytes::Bytes;
use gatehouse_core::names::quoted;
use gatehouse_net::{
    BodyError, Client, Error as HttpError, HttpClients, Method, Response, StatusCode, Url,
    header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, LOCATION},
    http_cause, read_body_while,
};

use super::{
    Credentials, OciReference, RegistryAccess, RegistryError,
    auth::{AuthChallenge, basic, bearer, may_receive_credentials, token_url},
    reference::is_loopback,
};

/// Registries hand blobs to a store beside them, in one hop as a rule.
const MAX_HOPS: usize = 5;

/// Between two pieces of an answer.
const MAX_READ_PAUSE: Duration = Duration::from_secs(30);
/// For one request with all that it brings or takes.
const MAX_REQUEST_TIME: Duration = Duration::from_secs(15 * 60);

/// An answer of a token service, and the part of an error that is looked at.
const MAX_SMALL_RESPONSE: u64 = 64 << 10;

/// One repository of one registry.
pub struct RegistryClient {
    http: HttpClients,
    pub(super) reference: OciReference,
    pub(super) base: Url,
    insecure: bool,
    purpose: RegistryAccess,
    credentials: Option<Credentials>,
    /// What the registry took last.
    authorization: Option<HeaderValue>,
    /// The token service that was asked without the credentials, because they are not for it.
    withheld: Option<String>,
}

/// One request.
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
    /// Plain HTTP is spoken to registries on this machine, and to others only if `insecure`.
    pub fn new(
        reference: &OciReference,
        purpose: RegistryAccess,
        credentials: Option<Credentials>,
        insecure: bool,
    ) -> Result<Self, RegistryError> {
        let http = HttpClients::new(move |builder| match purpose {
            RegistryAccess::Pull => builder.timeout(MAX_REQUEST_TIME).read_timeout(MAX_READ_PAUSE),
            // Silence is counted while a body is sent, too, and a large component takes its time.
            RegistryAccess::Push => builder.timeout(MAX_REQUEST_TIME),
        });
        let address = reference.address();
        let host = address.rsplit_once(':').filter(|(_, port)| !port.ends_with(']'));
        let plain = insecure || is_loopback(host.map_or(address, |(host, _)| host));
        let base =
            format!("{}://{address}/v2/{}/", if plain { "http" } else { "https" }, reference.repository);
        let base = Url::parse(&base);
        let base =
            base.map_err(|_| RegistryError::new(format!("'{address}' is no address of a registry")))?;
        let reference = reference.clone();
        Ok(Self {
            http,
            reference,
            base,
            insecure,
            purpose,
            credentials,
            authorization: None,
            withheld: None,
        })
    }

    /// A place in the repository.
    pub(super) fn url(&self, path: &str) -> Result<Url, RegistryError> {
        self.base.join(path).map_err(|_| self.error(format!("'{path}' is no path")))
    }

    /// An error with who it is about.
    pub(super) fn error(&self, what: impl AsRef<str>) -> RegistryError {
        RegistryError::new(format!("registry '{}': {}", self.reference.registry, what.as_ref()))
    }

    /// Sends a request. What asks for something follows redirects, each hop under the same rules and
    /// without credentials once it leaves the registry; what brings something follows none.
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

    /// Where an answer sends us.
    pub(super) fn location(&self, response: &Response) -> Result<Url, RegistryError> {
        let target = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let target = target.ok_or_else(|| self.error("sends elsewhere and does not say where"))?;
        let url = response.url().join(target);
        url.map_err(|_| self.error(format!("redirects to an invalid address: '{}'", quoted(target, 100))))
    }

    /// TLS everywhere, unless the registry itself is spoken to without; then also on this machine, and
    /// anywhere if the operator says so. No answer can talk us out of TLS.
    fn check_url(&self, url: &Url) -> Result<(), RegistryError> {
        let host = url.host_str().unwrap_or_default();
        let plain =
            url.scheme() == "http" && self.base.scheme() == "http" && (self.insecure || is_loopback(host));
        if url.scheme() == "https" || plain {
            return Ok(());
        }
        let target = quoted(&url.origin().ascii_serialization(), 100);
        Err(self.error(format!("sends to {target}, where nothing is encrypted; that is not followed")))
    }

    fn http(&self, url: &Url) -> Result<&Client, RegistryError> {
        self.http.for_url(url).map_err(|fault| {
            RegistryError::new(format!("{} {}", fault.message, fault.hint.unwrap_or_default()))
        })
    }

    fn unreachable(&self, url: &Url, error: HttpError) -> RegistryError {
        let host = quoted(&url.origin().ascii_serialization(), 100);
        self.error(format!("no answer from {host}: {}", quoted(&http_cause(error), 300)))
    }

    /// Answers the challenge of a 401.
    async fn authorize(&mut self, response: &Response) -> Result<(), RegistryError> {
        let name = &self.reference.registry;
        let challenge = AuthChallenge::from_headers(response.headers());
        let anonymous = || RegistryError::credentials(format!("registry '{name}' wants credentials"));
        self.authorization = Some(match (challenge, &self.credentials) {
            (Some(AuthChallenge::Basic), Some(credentials)) => basic(credentials)?,
            (Some(AuthChallenge::Basic), None) => return Err(anonymous()),
            (Some(AuthChallenge::Bearer { realm, service }), _) => {
                self.token(&realm, service.as_deref()).await?
            }
            (None, _) => return Err(self.error("wants credentials of a kind that Gatehouse does not know")),
        });
        Ok(())
    }

    async fn token(&mut self, realm: &str, service: Option<&str>) -> Result<HeaderValue, RegistryError> {
        let actions = match self.purpose {
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
            other => Err(self.error(format!("its token service answers {other}"))),
        }
    }

    fn denied(&self) -> RegistryError {
        let name = &self.reference.registry;
        if let Some(service) = &self.withheld {
            let service = quoted(service, 100);
            return self.error(format!(
                "wants credentials to be sent to {service}, which is not where they are for; they were not sent. A \
                 gate that needs no login there can be added without them"
            ));
        }
        RegistryError::credentials(match &self.credentials {
            Some(_) => format!("registry '{name}' refuses the credentials"),
            None => format!("registry '{name}' wants credentials"),
        })
    }

    /// Passes an answer with one of these codes, or says what the registry said.
    pub(super) async fn expect_status(
        &self,
        response: Response,
        codes: &[StatusCode],
        what: &str,
    ) -> Result<Response, RegistryError> {
        let status = response.status();
        if codes.contains(&status) {
            return Ok(response);
        }
        if status == StatusCode::UNAUTHORIZED || status == StatusCode::FORBIDDEN {
            return Err(self.denied());
        }
        if status == StatusCode::NOT_FOUND {
            return Err(self.error(format!("{what} is not there")));
        }
        let said = self.read(response, MAX_SMALL_RESPONSE, "the error", &|_| ()).await.unwrap_or_default();
        let said = quoted(String::from_utf8_lossy(&said).trim(), 200);
        let said = if said.is_empty() { said } else { format!(": {said}") };
        Err(self.error(format!("answers {status} to {what}{said}")))
    }

    /// Reads an answer that may have at most `cap` bytes, whatever it declares.
    pub(super) async fn read(
        &self,
        response: Response,
        cap: u64,
        what: &str,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Vec<u8>, RegistryError> {
        let mut read = 0;
        let body = read_body_while(response, usize::try_from(cap).unwrap_or(usize::MAX), |piece| {
            read += piece.len() as u64;
            progress(read);
            true
        });
        body.await.map_err(|error| match error {
            BodyError::TooLarge | BodyError::Stopped => {
                self.error(format!("sends more than {cap} bytes for {what}"))
            }
            BodyError::Broken(error, read) => {
                let cause = quoted(&http_cause(error), 300);
                self.error(format!("{what} breaks off after {read} bytes: {cause}"))
            }
        })
    }
}
