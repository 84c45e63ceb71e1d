//! HTTP rules of one gate: the hosts that it may reach and the headers that the host adds.
//!
//! Everything else is denied, with a hint that shows the line to add.

use std::sync::Arc;

use url::Url;

use super::{HostPattern, Redactor, Secret};
use crate::{Fault, InvalidValue, names::quoted};

/// Maximum URL length in bytes. Servers accept less.
const MAX_URL: usize = 16 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedHeader {
    pub name: String,
    /// The value, or the reason that it cannot be set.
    pub value: Result<Secret, InvalidValue>,
    /// Environment variables in the value, for display.
    pub variables: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    pub key: HostPattern,
    pub headers: Vec<AddedHeader>,
    /// True if the name may resolve to an address that is not public.
    pub private: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressScope {
    Public,
    Any,
}

/// The rules of one gate. Without rules, everything is denied.
#[derive(Debug, Clone)]
pub struct HttpRules {
    gate: Arc<str>,
    rules: Vec<HostRule>,
    redactor: Redactor,
}

impl PartialEq for HttpRules {
    fn eq(&self, other: &Self) -> bool {
        self.gate == other.gate && self.rules == other.rules
    }
}

#[derive(Debug)]
pub struct AllowedUrl<'a> {
    /// The canonical URL, without a fragment.
    pub url: Url,
    pub scope: AddressScope,
    /// Name and value of headers that the host adds.
    pub headers: Vec<(&'a str, &'a Secret)>,
    /// The host as written in presets.toml, for messages.
    pub host: String,
    gate: &'a Arc<str>,
}

impl HttpRules {
    pub fn new<'a>(gate: &str, rules: Vec<HostRule>, secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        Self { gate: gate.into(), rules, redactor: Redactor::new(secrets) }
    }

    pub fn deny_all(gate: &str) -> Self {
        Self::new(gate, Vec::new(), [])
    }

    pub fn gate(&self) -> &str {
        &self.gate
    }

    pub fn hosts(&self) -> Vec<String> {
        self.rules.iter().map(|rule| rule.key.to_string()).collect()
    }

    pub fn rules(&self) -> &[HostRule] {
        &self.rules
    }

    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Returns the headers that have no value. They make requests fail even though a rule allows the host.
    pub fn problems(&self) -> Vec<String> {
        let missing = self.rules.iter().flat_map(|rule| {
            let problem = |header| Some(header_problem(header, &rule.key, header.value.as_ref().err()?));
            rule.headers.iter().filter_map(problem)
        });
        missing.collect()
    }

    /// Checks a URL against the rules.
    ///
    /// Only this and [`HttpRules::check_url`] create an [`AllowedUrl`]. Each redirect is checked again.
    pub fn check(&self, url: &str) -> Result<AllowedUrl<'_>, Fault> {
        if url.len() > MAX_URL {
            return Err(Fault::invalid(format!("URL is {} bytes; the limit is {MAX_URL}", url.len())));
        }
        let invalid_url =
            |reason: String| Fault::invalid(format!("invalid URL '{}': {reason}", quoted(url, 100)));
        self.check_url(Url::parse(url).map_err(|error| invalid_url(error.to_string()))?)
    }

    /// Checks a parsed URL. See [`HttpRules::check`].
    pub fn check_url(&self, mut url: Url) -> Result<AllowedUrl<'_>, Fault> {
        let gate = &*self.gate;
        if !url.username().is_empty() || url.password().is_some() {
            let message = format!("gate '{gate}' requested a URL with credentials");
            return Err(Fault::denied(message).hint(format!(
                "Remove the user name and password from the URL. Set credentials as headers under \
                [gates.{gate}.http] in presets.toml."
            )));
        }
        let Some(exact) = HostPattern::from_url(&url) else {
            // Only the scheme: a redirect could contain a secret, and the redactor would miss a truncated one.
            let scheme = quoted(url.scheme(), 32);
            return Err(Fault::invalid(format!(
                "expected an https: or http: URL with a host, got scheme '{scheme}:'"
            )));
        };
        let host = quoted(&exact.to_string(), 300);
        let matches = self.rules.iter().filter_map(|rule| Some((rule.key.match_length(&exact)?, rule)));
        let Some((_, rule)) = matches.max_by_key(|(length, _)| *length) else {
            return Err(Fault::denied(format!("gate '{gate}' may not reach {host}"))
                .hint(allow_hint(gate, &host, "{}")));
        };
        let mut headers = Vec::with_capacity(rule.headers.len());
        for header in &rule.headers {
            match &header.value {
                Ok(value) => headers.push((header.name.as_str(), value)),
                Err(reason) => {
                    // A retry cannot set the variable.
                    let fault = Fault {
                        retryable: false,
                        ..Fault::unavailable(header_problem(header, &rule.key, reason))
                    };
                    return Err(fault.hint("Set it in the environment of the host, and restart the host."));
                }
            }
        }
        // The compared spelling is also resolved, connected to and sent as Host.
        if let Some(bare) = url.domain().and_then(|name| name.strip_suffix('.')).map(str::to_owned) {
            url.set_host(Some(&bare))
                .map_err(|error| Fault::invalid(format!("invalid host '{host}': {error}")))?;
        }
        url.set_fragment(None);
        let allows_private = rule.private || rule.key.is_fixed_address();
        let scope = if allows_private { AddressScope::Any } else { AddressScope::Public };
        Ok(AllowedUrl { url, scope, headers, host, gate: &self.gate })
    }
}

impl AllowedUrl<'_> {
    pub fn gate(&self) -> &Arc<str> {
        self.gate
    }

    pub fn private_address_fault(&self) -> Fault {
        Fault::denied(format!(
            "gate '{}' may reach {}, but that name resolves to a private address",
            self.gate, self.host
        ))
        .hint(allow_hint(self.gate, &self.host, "{ private = true }"))
    }
}

fn header_problem(header: &AddedHeader, key: &HostPattern, reason: &InvalidValue) -> String {
    format!("header {} for {key} {reason}", header.name)
}

fn allow_hint(gate: &str, host: &str, value: &str) -> String {
    format!("To allow it, add \"{host}\" = {value} under [gates.{gate}.http] in presets.toml.")
}
