//! Variables that a server started as a program inherits, in addition to those of its definition: session basics, and
//! what package runners need to access their registries.
//!
//! Variables that look like credentials are withheld unless the definition names them.

use std::ffi::OsString;

use gatehouse_core::http::secret::is_secret_name;
use gatehouse_wire::downstream::{InheritedEnv, WithheldVariable};

use super::credentials;

/// Variables of a session, separated by spaces.
const SESSION: &str = "PATH HOME USER LOGNAME SHELL TERM TMPDIR LANG LC_ALL LC_CTYPE TZ XDG_RUNTIME_DIR";

/// Variables of the network, separated by spaces: certificate authorities and proxies. Programs read proxies in either
/// case.
const NETWORK: &str = "SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE \
    HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy";

const CREDENTIAL_NAME: &str = "its name sounds like a credential";
const CREDENTIAL_URL: &str = "its value looks like an address with a user name or password";

pub(super) fn inherited(environment: impl Iterator<Item = (OsString, OsString)>) -> InheritedEnv {
    let mut inherited = InheritedEnv::default();
    for (name, value) in environment {
        let Ok(name) = name.into_string() else { continue };
        if is_among(SESSION, &name) {
            inherited.passed.push((name, value));
        } else if is_network(&name) {
            match credential(&name, &value.to_string_lossy()) {
                Some(reason) => inherited.withheld.push(WithheldVariable { name, reason }),
                None => inherited.passed.push((name, value)),
            }
        }
    }
    inherited.passed.sort();
    inherited.withheld.sort();
    inherited
}

/// Whether programs inherit a variable of this name, which sets up their session, network or package registry.
pub(crate) fn is_inherited(name: &str) -> bool {
    is_among(SESSION, name) || is_network(name)
}

fn is_among(names: &str, name: &str) -> bool {
    names.split(' ').any(|entry| entry == name)
}

/// Returns whether a variable configures the network or a package registry. npm reads its settings in any case.
fn is_network(name: &str) -> bool {
    let starts_with_npm = name.get(..11).is_some_and(|start| start.eq_ignore_ascii_case("npm_config_"));
    is_among(NETWORK, name) || name.starts_with("UV_") || name.starts_with("PIP_") || starts_with_npm
}

/// Returns the reason if a variable looks like a credential. A proxy may lack a scheme: `user:password@proxy:3128`.
fn credential(name: &str, value: &str) -> Option<&'static str> {
    if is_secret_name(name) {
        return Some(CREDENTIAL_NAME);
    }
    let is_address = value.contains("://") || name.to_ascii_lowercase().contains("proxy");
    let in_parameters = || value.split_whitespace().any(|part| !credentials::in_url(part).is_empty());
    (is_address && (value.contains('@') || in_parameters())).then_some(CREDENTIAL_URL)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the reason if the variable is withheld, an empty text if it is passed, else `None`.
    fn fate(name: &str, value: &str) -> Option<&'static str> {
        let inherited = inherited([(name.into(), value.into())].into_iter());
        match (&*inherited.passed, &*inherited.withheld) {
            ([], []) => None,
            ([(passed, kept)], []) if passed == name && kept == value => Some(""),
            ([], [withheld]) if withheld.name == name => Some(withheld.reason),
            other => panic!("{name}: {other:?}"),
        }
    }

    #[test]
    fn variables_of_the_session_and_the_network_are_passed() {
        for (name, value) in [
            ("PATH", "/bin"),
            ("HOME", "/home/a@b"),
            ("SSL_CERT_FILE", "/etc/ssl/my@company.pem"),
            ("HTTPS_PROXY", "http://proxy.example:3128"),
            ("http_proxy", "proxy.example:3128"),
            ("NO_PROXY", "localhost,.example"),
            ("npm_config_registry", "https://npm.example/"),
            ("NPM_CONFIG_CACHE", "/var/cache/@npm"),
            ("UV_DEFAULT_INDEX", "https://pypi.example/simple"),
            ("PIP_INDEX_URL", ""),
        ] {
            assert_eq!(fate(name, value), Some(""), "{name}");
        }
    }

    #[test]
    fn credentials_are_withheld() {
        for (name, value, reason) in [
            ("HTTPS_PROXY", "http://user:pass,word@proxy.example:3128", CREDENTIAL_URL),
            ("all_proxy", "user:password@proxy.example:3128", CREDENTIAL_URL),
            ("PIP_PROXY", "user:password@proxy.example:3128", CREDENTIAL_URL),
            ("UV_INDEX", "https://a.example/simple own=https://token@b.example/simple", CREDENTIAL_URL),
            ("npm_config_registry", "https://me:me@npm.example/", CREDENTIAL_URL),
            ("PIP_INDEX_URL", "https://pypi.example/simple?token=abcdefgh", CREDENTIAL_URL),
            ("npm_config_//npm.example/:_authToken", "abc", CREDENTIAL_NAME),
            ("UV_PUBLISH_TOKEN", "abc", CREDENTIAL_NAME),
            ("UV_INDEX_OWN_PASSWORD", "abc", CREDENTIAL_NAME),
        ] {
            assert_eq!(fate(name, value), Some(reason), "{name}");
        }
    }

    #[test]
    fn other_variables_are_neither() {
        for name in ["GITHUB_TOKEN", "NPM_TOKEN", "LD_PRELOAD", "uv_index", "XPIP_INDEX_URL", "npm_confi"] {
            assert_eq!(fate(name, "value"), None, "{name}");
        }
    }
}
