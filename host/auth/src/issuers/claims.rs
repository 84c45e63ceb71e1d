//! Claims of an access token, and the caller that they describe.
//!
//! Issuers sign other things with the same keys: ID tokens, logout tokens, identity assertions (ID-JAG). RFC 9068 gives
//! access tokens the type `at+jwt`, which is accepted. Many issuers still write `JWT` or no type. Such a token must have
//! a claim that only access tokens have (`scope`, `scp`, `client_id`, `cid` or `appid`). It must not have the marks of an
//! ID token (`nonce`, `at_hash`, `c_hash`, or a client that is its own audience). Every other type is refused.

use std::{collections::BTreeSet, sync::Arc};

use gatehouse_core::{
    Caller, Effect, Principal,
    hash::hex,
    hidden_chars::is_hidden,
    ports::auth::{AuthRefusal, ProtectedResource},
};
use jsonwebtoken::Header;
use serde_json::{Map, Value};

use super::invalid;
use crate::{IssuerSettings, is_same_caller, token_cache::TokenDigest};

/// Tolerated difference between the clocks of host and issuer.
pub(crate) const CLOCK_SKEW_MS: u64 = 60_000;

/// Maximum bytes of a user or group name.
const MAX_NAME: usize = 255;

const MAX_GROUPS: usize = 256;

const MAX_AUDIENCES: usize = 64;

/// Claims that name the client, which access tokens have.
const CLIENT_CLAIMS: [&str; 4] = ["client_id", "azp", "cid", "appid"];

#[derive(Debug)]
pub(crate) struct VerifiedToken {
    pub(crate) caller: Arc<Caller>,
    /// Audiences as written. `None` if the issuer's settings name an audience, which was checked.
    pub(crate) audiences: Option<Vec<String>>,
    /// Scopes of which the token has none, but needs one.
    pub(crate) missing_scopes: Vec<String>,
    /// Milliseconds since 1970. `None` if the issuer did not name an expiry.
    pub(crate) expires_at: Option<u64>,
    /// True if only its issuer can check it.
    pub(crate) is_opaque: bool,
}

/// Claims that the issuer vouched for.
pub(super) struct TokenClaims {
    claims: Map<String, Value>,
    /// True if the type of the token is already known to be an access token.
    is_access_token: bool,
    is_jwt: bool,
}

/// Checks the parts of the header that do not depend on the issuer.
pub(super) fn check_header(header: &Header) -> Result<(), AuthRefusal> {
    // The host knows no critical extension.
    if header.crit.is_some() {
        return Err(invalid("the token requires an extension that is not supported"));
    }
    match header.typ.as_deref().map(str::to_ascii_lowercase).as_deref() {
        None | Some("jwt" | "at+jwt" | "application/at+jwt") => Ok(()),
        Some(_) => Err(invalid("the token is not an access token")),
    }
}

impl TokenClaims {
    pub(super) fn from_jwt(claims: Map<String, Value>, header: &Header) -> Self {
        let kind = header.typ.as_deref().unwrap_or_default().to_ascii_lowercase();
        Self { claims, is_access_token: kind.ends_with("at+jwt"), is_jwt: true }
    }

    pub(super) fn from_introspection(claims: Map<String, Value>) -> Self {
        Self { claims, is_access_token: true, is_jwt: false }
    }

    /// Returns the verified token, if every claim is right.
    pub(super) fn verify(
        &self,
        settings: &IssuerSettings,
        digest: &TokenDigest,
        now_ms: u64,
    ) -> Result<VerifiedToken, AuthRefusal> {
        let issuer = self.text("iss");
        if issuer.is_some_and(|issuer| issuer != settings.issuer) || (self.is_jwt && issuer.is_none()) {
            return Err(invalid("the token is from an unknown issuer"));
        }
        let expires_at = self.check_times(now_ms)?;
        let audiences = self.audiences()?;
        let expected_audience = settings.audience.as_ref();
        if expected_audience.is_some_and(|audience| !audiences.contains(audience)) {
            return Err(invalid("the token is for another audience"));
        }
        self.check_kind(&audiences)?;
        let (effect, missing_scopes) = self.effect(settings);
        let credential = format!("token {}", hex(&digest[..4]));
        let mut caller = Caller::new(self.principal(settings)?, &credential);
        caller.groups = self.groups(&settings.groups_claim)?;
        (caller.effect, caller.expires_at) = (effect, expires_at);
        let audiences = expected_audience.is_none().then_some(audiences);
        let is_opaque = !self.is_jwt;
        Ok(VerifiedToken { caller: Arc::new(caller), audiences, missing_scopes, expires_at, is_opaque })
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.claims.get(name)?.as_str()
    }

    /// Returns a claim by name, or by JSON pointer.
    fn find(&self, name: &str) -> Option<&Value> {
        let Some((first, rest)) =
            name.strip_prefix('/').map(|path| path.split_once('/').unwrap_or((path, "")))
        else {
            return self.claims.get(name);
        };
        let value = self.claims.get(&first.replace("~1", "/").replace("~0", "~"))?;
        if rest.is_empty() { Some(value) } else { value.pointer(&format!("/{rest}")) }
    }

    /// Returns a time in milliseconds. Times may have fractions.
    fn time(&self, name: &str) -> Result<Option<u64>, AuthRefusal> {
        let Some(value) = self.claims.get(name) else { return Ok(None) };
        let seconds = value.as_f64().filter(|seconds| (0.0..1e12).contains(seconds));
        let malformed = || AuthRefusal::Invalid(format!("the token has a malformed claim '{name}'"));
        Ok(Some((seconds.ok_or_else(malformed)? * 1_000.0) as u64))
    }

    fn check_times(&self, now: u64) -> Result<Option<u64>, AuthRefusal> {
        let expires_at = self.time("exp")?;
        if expires_at.is_none() && self.is_jwt {
            return Err(invalid("the token has no expiry"));
        }
        if expires_at.is_some_and(|end| end.saturating_add(CLOCK_SKEW_MS) <= now) {
            return Err(invalid("the token has expired"));
        }
        if self.time("nbf")?.is_some_and(|start| start > now.saturating_add(CLOCK_SKEW_MS)) {
            return Err(invalid("the token is not valid yet"));
        }
        Ok(expires_at)
    }

    fn audiences(&self) -> Result<Vec<String>, AuthRefusal> {
        let audiences = strings(self.claims.get("aud"), MAX_AUDIENCES);
        let audiences = audiences.ok_or_else(|| invalid("the token has a malformed audience"))?;
        if audiences.is_empty() { Err(invalid("the token has no audience")) } else { Ok(audiences) }
    }

    fn check_kind(&self, audiences: &[String]) -> Result<(), AuthRefusal> {
        // A bound token needs a proof that a bearer cannot give.
        if self.claims.contains_key("cnf") {
            return Err(invalid("the token is bound to a key, so it cannot be used as a bearer token"));
        }
        if self.text("token_type").is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) && !self.is_jwt {
            return Err(invalid("the token is not a bearer token"));
        }
        let is_other_use =
            self.text("token_use").is_some_and(|r#use| !matches!(r#use, "access" | "access_token"));
        let is_other_kind =
            self.text("typ").is_some_and(|kind| matches!(kind, "ID" | "Refresh" | "Offline" | "Logout"));
        if is_other_use || is_other_kind {
            return Err(invalid("the token is not an access token"));
        }
        let has = |name: &&str| self.claims.contains_key(*name);
        let names_client = |name: &&str| *name != "azp" && has(name);
        let has_access = ["scope", "scp"].iter().any(has) || CLIENT_CLAIMS.iter().any(names_client);
        let is_own_audience = |name: &&str| {
            self.text(name).is_some_and(|client| audiences.iter().any(|audience| audience == client))
        };
        let is_id_token =
            ["nonce", "at_hash", "c_hash"].iter().any(has) || CLIENT_CLAIMS.iter().any(is_own_audience);
        if !self.is_access_token && (is_id_token || !has_access) {
            return Err(invalid("the token is not an access token"));
        }
        Ok(())
    }

    fn principal(&self, settings: &IssuerSettings) -> Result<Principal, AuthRefusal> {
        let user = self.find(&settings.user_claim).and_then(Value::as_str).filter(|user| is_name(user));
        let user = user.ok_or_else(|| {
            AuthRefusal::Invalid(format!("the token has no usable claim '{}'", settings.user_claim))
        })?;
        Ok(Principal::Named(format!("{}:{user}", settings.name).into()))
    }

    /// Returns the groups. A malformed list refuses the token, because a rule may deny something to a group.
    fn groups(&self, claim: &str) -> Result<Vec<Arc<str>>, AuthRefusal> {
        // Entra names the groups of a user with very many only in a reference.
        let elsewhere = self.claims.get("_claim_names").is_some_and(|names| names.get(claim).is_some())
            || self.claims.get("hasgroups").is_some_and(|has| has == true || has == "true");
        if elsewhere {
            return Err(invalid("the token has too many groups to name them; name fewer at the issuer"));
        }
        let groups = strings(self.find(claim), MAX_GROUPS);
        let groups = groups.filter(|groups| groups.iter().all(|group| is_name(group)));
        let groups = groups.ok_or_else(|| {
            AuthRefusal::Invalid(format!(
                "the token has a malformed claim '{claim}', or over {MAX_GROUPS} groups"
            ))
        })?;
        Ok(groups.into_iter().map(Arc::from).collect())
    }

    /// Returns the effect limit, and the scopes of which the token needs one but has none.
    fn effect(&self, settings: &IssuerSettings) -> (Option<Effect>, Vec<String>) {
        if settings.scopes.is_empty() {
            return (None, Vec::new());
        }
        let texts = |name| strings(self.claims.get(name), MAX_GROUPS).unwrap_or_default();
        let texts = [texts("scope"), texts("scp")].concat();
        let granted: BTreeSet<&str> = texts.iter().flat_map(|text| text.split(' ')).collect();
        let effects = settings.scopes.iter().filter(|(scope, _)| granted.contains(scope.as_str()));
        match effects.map(|(_, effect)| *effect).max() {
            Some(strongest) => (Some(strongest), Vec::new()),
            None => (Some(Effect::ReadOnly), settings.scopes.keys().cloned().collect()),
        }
    }
}

impl VerifiedToken {
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        is_same_caller(&self.caller, &other.caller)
            && self.audiences == other.audiences
            && self.missing_scopes == other.missing_scopes
    }

    /// Returns true if the token is for the host, or for this resource of it. For [`ProtectedResource::Any`], it may be for
    /// any.
    pub(crate) fn is_for(&self, base_url: &str, resource: ProtectedResource<'_>) -> bool {
        let Some(audiences) = &self.audiences else { return true };
        let url = format!("{base_url}{}", resource.path());
        // Clients write URLs with and without a final slash. No other difference is tolerated.
        let mut audiences = audiences.iter().map(|audience| audience.strip_suffix('/').unwrap_or(audience));
        let is_any = |audience: &str| {
            resource == ProtectedResource::Any && audience.starts_with(&format!("{base_url}/mcp/p/"))
        };
        audiences.any(|audience| audience == base_url || audience == url || is_any(audience))
    }
}

/// Returns the strings of a claim that is missing, a string or a list. `None` for anything else, or too many.
fn strings(value: Option<&Value>, limit: usize) -> Option<Vec<String>> {
    match value {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::String(text)) => Some(vec![text.clone()]),
        Some(Value::Array(items)) if items.len() <= limit => {
            items.iter().map(|item| item.as_str().map(str::to_owned)).collect()
        }
        Some(_) => None,
    }
}

fn is_name(text: &str) -> bool {
    let hidden = |c: char| c.is_control() || is_hidden(c);
    !text.is_empty() && text.len() <= MAX_NAME && text.trim() == text && !text.contains(hidden)
}
