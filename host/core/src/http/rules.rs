//! The rules of one gate: which hosts it may reach, and which headers the host adds for it. Whatever no rule
//! allows is denied, with the line that would allow it.

use std::sync::Arc;

use url::Url;

use super::{HostPattern, Redactor, Secret};
use crate::{names::quoted, outcome::Fault};

/// The longest URL, in bytes; servers take less.
const MAX_URL: usize = 16 << 10;

/// A header that the host adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedHeader {
    /// Its name as it is typed.
    pub name: String,
    /// Its value, or what keeps it from having one.
    pub value: Result<Secret, String>,
    /// The environment variables that the value is made of, for people who look at what is reached.
    pub variables: Vec<String>,
}

/// One line of `[gates.<name>.http]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    /// Which hosts.
    pub key: HostPattern,
    /// What is added to requests there.
    pub headers: Vec<AddedHeader>,
    /// Whether its name may stand for an address that is not public.
    pub private: bool,
}

/// Which addresses a name may stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressScope {
    /// Those of the public internet.
    Public,
    /// Any.
    Any,
}

/// All rules of one gate. The empty set denies everything.
#[derive(Debug, Clone)]
pub struct HttpRules {
    gate: Arc<str>,
    rules: Vec<HostRule>,
    redactor: Redactor,
}

impl PartialEq for HttpRules {
    /// The redactor is made of the rules.
    fn eq(&self, other: &Self) -> bool {
        self.gate == other.gate && self.rules == other.rules
    }
}

/// A URL that a rule allows.
#[derive(Debug)]
pub struct AllowedUrl<'a> {
    /// The URL, canonical, without fragment.
    pub url: Url,
    /// Which addresses its name may stand for.
    pub scope: AddressScope,
    /// What the host adds, name and value.
    pub headers: Vec<(&'a str, &'a Secret)>,
    /// The host as presets.toml would name it, for messages.
    pub host: String,
    gate: &'a Arc<str>,
}

impl HttpRules {
    /// The rules of a gate, and the secrets in them.
    pub fn new<'a>(gate: &str, rules: Vec<HostRule>, secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        Self { gate: gate.into(), rules, redactor: Redactor::new(secrets) }
    }

    /// The rules of a gate without a block: nothing is allowed.
    pub fn deny_all(gate: &str) -> Self {
        Self::new(gate, Vec::new(), [])
    }

    /// Whose rules these are.
    pub fn gate(&self) -> &str {
        &self.gate
    }

    /// The hosts, as presets.toml would name them.
    pub fn hosts(&self) -> Vec<String> {
        self.rules.iter().map(|rule| rule.key.to_string()).collect()
    }

    /// The lines themselves, for people who look at what is reached.
    pub fn rules(&self) -> &[HostRule] {
        &self.rules
    }

    /// What takes the secrets of these rules out of what comes back.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// What keeps requests from being sent, though a rule allows them: for people who look for mistakes.
    pub fn problems(&self) -> Vec<String> {
        let missing = self.rules.iter().flat_map(|rule| {
            let broken =
                rule.headers.iter().filter_map(|header| Some((header, header.value.as_ref().err()?)));
            broken.map(|(header, why)| header_problem(header, &rule.key, why))
        });
        missing.collect()
    }

    /// Whether a URL may be asked for. This is the only way to a [`AllowedUrl`], and each hop of a redirect
    /// takes it anew.
    pub fn check(&self, url: &str) -> Result<AllowedUrl<'_>, Fault> {
        if url.len() > MAX_URL {
            return Err(Fault::invalid(format!("The URL has {} bytes, the most is {MAX_URL}.", url.len())));
        }
        let no_url = |why: String| Fault::invalid(format!("'{}' is not a URL: {why}.", quoted(url, 100)));
        self.check_url(Url::parse(url).map_err(|error| no_url(error.to_string()))?)
    }

    /// [`HttpRules::check`] for a URL that has been read.
    pub fn check_url(&self, mut url: Url) -> Result<AllowedUrl<'_>, Fault> {
        let gate = &*self.gate;
        if !url.username().is_empty() || url.password().is_some() {
            let message = format!("Gate '{gate}' asked for a URL with a user name in it, which is refused.");
            return Err(Fault::denied(message).hint(format!(
                "Take it out of the URL; credentials stand in headers under [gates.{gate}.http] in presets.toml."
            )));
        }
        let Some(exact) = HostPattern::from_url(&url) else {
            // The scheme alone: a redirect could hold what must not be shown, and half of it would not be found.
            let scheme = quoted(url.scheme(), 32);
            return Err(Fault::invalid(format!(
                "Only https: and http: URLs with a host can be asked for, not one of '{scheme}:'."
            )));
        };
        let host = quoted(&exact.to_string(), 300);
        let fitting = self.rules.iter().filter_map(|rule| Some((rule.key.match_length(&exact)?, rule)));
        let Some((_, rule)) = fitting.max_by_key(|(length, _)| *length) else {
            return Err(Fault::denied(format!("Gate '{gate}' may not reach {host}."))
                .hint(allow_hint(gate, &host, "{}")));
        };
        let mut headers = Vec::with_capacity(rule.headers.len());
        for header in &rule.headers {
            match &header.value {
                Ok(value) => headers.push((header.name.as_str(), value)),
                Err(why) => {
                    // Nothing that the caller does again would set it.
                    let fault = Fault {
                        retryable: false,
                        ..Fault::unavailable(header_problem(header, &rule.key, why))
                    };
                    return Err(fault.hint("Set it where the host is started, and start the host again."));
                }
            }
        }
        // The one spelling that was compared is the one that is resolved, connected to and sent as Host.
        if let Some(bare) = url.domain().and_then(|name| name.strip_suffix('.')).map(str::to_owned) {
            url.set_host(Some(&bare)).map_err(|error| Fault::invalid(format!("'{host}': {error}.")))?;
        }
        url.set_fragment(None);
        let any = rule.private || rule.key.is_fixed_address();
        let reach = if any { AddressScope::Any } else { AddressScope::Public };
        Ok(AllowedUrl { url, scope: reach, headers, host, gate: &self.gate })
    }
}

impl AllowedUrl<'_> {
    /// Whose request it is.
    pub fn gate(&self) -> &Arc<str> {
        self.gate
    }

    /// What is said when the name stands for no public address.
    pub fn private_address_fault(&self) -> Fault {
        Fault::denied(format!(
            "Gate '{}' may reach {}, but that name stands for a private address.",
            self.gate, self.host
        ))
        .hint(allow_hint(self.gate, &self.host, "{ private = true }"))
    }
}

fn header_problem(header: &AddedHeader, key: &HostPattern, why: &str) -> String {
    format!("header {} for {key} {why}", header.name)
}

fn allow_hint(gate: &str, host: &str, value: &str) -> String {
    format!("To allow it, add \"{host}\" = {value} under [gates.{gate}.http] in presets.toml.")
}
