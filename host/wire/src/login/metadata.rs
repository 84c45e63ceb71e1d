//! Metadata discovery: the protected resource (RFC 9728), then its authorization server (RFC 8414 or OpenID Connect
//! Discovery). The resource must cover the server, the issuer must match, and S256 must be supported.

use gatehouse_core::{Fault, names::quoted};
use gatehouse_net::Url;
use serde::{Deserialize, Deserializer};

use super::{
    address::{ConfiguredHosts, LoginTarget, covers},
    challenge::BearerChallenge,
    http::LoginHttp,
};

pub(super) struct AuthorizationServer {
    pub(super) issuer: String,
    /// Resource of its tokens. `None` at an identity provider, whose tokens are about a user.
    pub(super) resource: Option<String>,
    pub(super) scopes: Vec<String>,
    pub(super) authorization: LoginTarget,
    pub(super) token: LoginTarget,
    pub(super) registration: Option<LoginTarget>,
    pub(super) revocation: Option<LoginTarget>,
    pub(super) auth_methods: Vec<String>,
    /// True if the redirect must name the issuer (RFC 9207).
    pub(super) names_issuer: bool,
    /// True if a `client_id` may be the URL of a metadata document.
    pub(super) takes_client_documents: bool,
}

#[derive(Deserialize)]
struct ResourceDocument {
    resource: String,
    #[serde(default, deserialize_with = "null_as_default")]
    authorization_servers: Vec<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    scopes_supported: Vec<String>,
}

#[derive(Default, Deserialize)]
struct AuthorizationServerDocument {
    issuer: String,
    authorization_endpoint: Option<String>,
    token_endpoint: String,
    registration_endpoint: Option<String>,
    revocation_endpoint: Option<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    scopes_supported: Vec<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    code_challenge_methods_supported: Vec<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    token_endpoint_auth_methods_supported: Vec<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    authorization_response_iss_parameter_supported: bool,
    #[serde(default, deserialize_with = "null_as_default")]
    client_id_metadata_document_supported: bool,
}

/// Reads a value that some servers write as null when they have none.
fn null_as_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    value: D,
) -> Result<T, D::Error> {
    Option::deserialize(value).map(Option::unwrap_or_default)
}

impl AuthorizationServerDocument {
    /// Returns the endpoints at the paths that MCP 2025-03-26 gives to servers without metadata. That version requires
    /// S256 of every server.
    fn at_default_paths(issuer: &str) -> Self {
        let base = issuer.trim_end_matches('/');
        Self {
            issuer: issuer.to_owned(),
            authorization_endpoint: Some(format!("{base}/authorize")),
            token_endpoint: format!("{base}/token"),
            registration_endpoint: Some(format!("{base}/register")),
            code_challenge_methods_supported: vec!["S256".to_owned()],
            ..Self::default()
        }
    }
}

pub(super) struct Discovery<'a> {
    pub(super) http: &'a LoginHttp,
    pub(super) hosts: &'a ConfiguredHosts,
    pub(super) server: &'a Url,
    pub(super) issuer: Option<&'a str>,
    /// True if a user agrees in a browser.
    pub(super) needs_user: bool,
    /// True if the server asked for a login.
    pub(super) is_challenged: bool,
}

impl Discovery<'_> {
    /// Finds the authorization server.
    ///
    /// # Errors
    /// `denied` if a document breaks a rule, `unavailable` if there is none.
    pub(super) async fn run(&self, challenge: &BearerChallenge) -> Result<AuthorizationServer, Fault> {
        let resource_document = self.resource(challenge).await?;
        // Servers older than RFC 9728 are their own authorization server, and some have no metadata of it either.
        let is_older = resource_document.is_none() && self.is_challenged;
        let document = resource_document.unwrap_or_else(|| ResourceDocument {
            resource: super::address::resource(self.server),
            authorization_servers: vec![self.server.origin().ascii_serialization()],
            scopes_supported: Vec::new(),
        });
        let issuer = self.choose(&document)?;
        let about = match self.authority(&issuer).await? {
            Some(about) => about,
            None if is_older => AuthorizationServerDocument::at_default_paths(&issuer),
            None => {
                let quoted_issuer = quoted(&issuer, 200);
                return Err(Fault::unavailable(format!(
                    "{quoted_issuer} publishes no authorization server metadata"
                )));
            }
        };
        Ok(AuthorizationServer {
            resource: Some(document.resource),
            scopes: document.scopes_supported,
            ..self.checked(about)?
        })
    }

    /// Finds the endpoints of the identity provider `issuer`. Its scopes are those that name a user, and keep the user
    /// signed in if it supports that.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub(super) async fn identity_provider(&self, issuer: &str) -> Result<AuthorizationServer, Fault> {
        let missing = || {
            let quoted_issuer = quoted(issuer, 200);
            Fault::unavailable(format!("the identity provider {quoted_issuer} publishes no metadata"))
        };
        let about = self.authority(issuer).await?.ok_or_else(missing)?;
        let offered = |scope: &&str| {
            *scope == "openid"
                || about.scopes_supported.iter().any(|supported_scope| supported_scope == scope)
        };
        let scopes = ["openid", "offline_access"].iter().filter(|scope| offered(scope));
        let scopes = scopes.map(|scope| (*scope).to_owned()).collect();
        Ok(AuthorizationServer { scopes, ..self.checked(about)? })
    }

    /// Checks the endpoints of an authorization server.
    fn checked(&self, about: AuthorizationServerDocument) -> Result<AuthorizationServer, Fault> {
        let issuer = &about.issuer;
        let endpoint = |text: &str, kind: &str| {
            self.hosts.check(text, &format!("the {kind} endpoint of {}", quoted(issuer, 200)))
        };
        let checks_codes = about.code_challenge_methods_supported.iter().any(|method| method == "S256");
        if self.needs_user && !checks_codes {
            let message =
                format!("{} does not declare support for S256 code challenges", quoted(issuer, 200));
            return Err(Fault::denied(message).hint("Without them, another program could steal the login."));
        }
        let optional =
            |text: &Option<String>, kind: &str| text.as_ref().map(|text| endpoint(text, kind)).transpose();
        Ok(AuthorizationServer {
            authorization: match &about.authorization_endpoint {
                Some(authorization) => endpoint(authorization, "authorization")?,
                None if self.needs_user => {
                    let reason = format!("{} has no authorization endpoint", quoted(&about.issuer, 200));
                    return Err(Fault::denied(reason));
                }
                // No user is sent there.
                None => endpoint(&about.token_endpoint, "token")?,
            },
            token: endpoint(&about.token_endpoint, "token")?,
            registration: optional(&about.registration_endpoint, "registration")?,
            revocation: optional(&about.revocation_endpoint, "revocation")?,
            issuer: about.issuer,
            resource: None,
            scopes: Vec::new(),
            auth_methods: about.token_endpoint_auth_methods_supported,
            names_issuer: about.authorization_response_iss_parameter_supported,
            takes_client_documents: about.client_id_metadata_document_supported,
        })
    }

    async fn resource(&self, challenge: &BearerChallenge) -> Result<Option<ResourceDocument>, Fault> {
        let host = self.server.host_str().unwrap_or_default();
        let subject = format!("the metadata of {host}");
        let candidates = match &challenge.resource_metadata {
            Some(advertised) => vec![advertised.clone()],
            None => well_known(self.server, "oauth-protected-resource"),
        };
        for candidate in candidates {
            let answer = self.http.get(&self.hosts.check(&candidate, &subject)?).await?;
            if !answer.status.is_success() {
                continue;
            }
            let document: ResourceDocument = answer.json(&subject)?;
            let of_server = Url::parse(&document.resource).is_ok_and(|url| covers(&url, self.server));
            if !of_server {
                let quoted_resource = quoted(&document.resource, 200);
                return Err(Fault::denied(format!("{subject} is for another resource: '{quoted_resource}'")));
            }
            return Ok(Some(document));
        }
        if challenge.resource_metadata.is_some() {
            return Err(Fault::unavailable(format!("{subject} was not found at the advertised URL")));
        }
        Ok(None)
    }

    fn choose(&self, document: &ResourceDocument) -> Result<String, Fault> {
        let host = self.server.host_str().unwrap_or_default();
        let listed = &document.authorization_servers;
        let chosen = match self.issuer {
            Some(issuer) => listed.iter().find(|candidate| same_issuer(candidate, issuer)),
            None => listed.first(),
        };
        chosen.cloned().ok_or_else(|| match self.issuer {
            Some(issuer) => {
                let quoted_issuer = quoted(issuer, 200);
                let fault = Fault::denied(format!(
                    "{host} does not accept logins of '{quoted_issuer}', the issuer in presets.toml"
                ));
                match listed.first() {
                    Some(other) => fault.hint(format!(
                        "It accepts those of '{}'. If you trust it, set it as issuer in [servers.<name>.oauth].",
                        quoted(other, 200)
                    )),
                    None => fault,
                }
            }
            None => Fault::unavailable(format!("{host} names no authorization server")),
        })
    }

    /// Returns the metadata of an issuer. `None` if it publishes none.
    async fn authority(&self, issuer: &str) -> Result<Option<AuthorizationServerDocument>, Fault> {
        let quoted_issuer = quoted(issuer, 200);
        let base = self.hosts.check(issuer, "the authorization server")?.url;
        let mut candidates = well_known(&base, "oauth-authorization-server");
        candidates.extend(well_known(&base, "openid-configuration"));
        let path = base.path().trim_end_matches('/');
        if !path.is_empty() {
            // Only OpenID Connect appends to the path. The root would be another issuer.
            candidates.retain(|candidate| candidate.ends_with(path));
            let mut appended = base.clone();
            appended.set_path(&format!("{path}/.well-known/openid-configuration"));
            candidates.push(appended.into());
        }
        let mut failed = None;
        for candidate in candidates {
            let answer = self.http.get(&self.hosts.check(&candidate, "the authorization server")?).await?;
            if !answer.status.is_success() {
                failed = failed.or(answer.status.is_server_error().then_some(answer.status));
                continue;
            }
            let document: AuthorizationServerDocument =
                answer.json(&format!("the metadata of {quoted_issuer}"))?;
            if !same_issuer(&document.issuer, issuer) {
                let other = quoted(&document.issuer, 200);
                return Err(Fault::denied(format!(
                    "the metadata of {quoted_issuer} is for another issuer: '{other}'"
                )));
            }
            return Ok(Some(document));
        }
        match failed {
            Some(status) => {
                Err(Fault::unavailable(format!("{quoted_issuer} answered {status} for its metadata")))
            }
            None => Ok(None),
        }
    }
}

/// Returns the well-known URLs for a document about `url`: with its path after the name, then at the root.
fn well_known(url: &Url, name: &str) -> Vec<String> {
    let origin = url.origin().ascii_serialization();
    let path = url.path().trim_end_matches('/');
    let mut places = vec![format!("{origin}/.well-known/{name}{path}")];
    if !path.is_empty() {
        places.push(format!("{origin}/.well-known/{name}"));
    }
    places
}

/// Compares issuers as strings, except for a trailing slash, which one of two documents often has.
fn same_issuer(a: &str, b: &str) -> bool {
    a.strip_suffix('/').unwrap_or(a) == b.strip_suffix('/').unwrap_or(b)
}
