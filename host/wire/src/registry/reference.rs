//! References to artifacts: `oci://registry[:port]/name[:tag][@sha256:…]`.

use std::{fmt, net::Ipv6Addr, str::FromStr};

use gatehouse_core::names::quoted;

use super::RegistryError;

const SCHEME: &str = "oci://";

/// Docker Hub serves `docker.io` from another host.
const DOCKER_HUB: (&str, &str) = ("docker.io", "registry-1.docker.io");

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OciReference {
    pub registry: String,
    pub repository: String,
    /// Mutable name that the registry may move to another artifact.
    pub tag: Option<String>,
    /// Digest of the manifest: `sha256:` and 64 lower-case digits.
    pub digest: Option<String>,
}

impl OciReference {
    pub fn is_oci(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// Returns a reference to the same artifact by digest, without the tag.
    pub fn pinned(&self, digest: &str) -> Self {
        Self { tag: None, digest: Some(digest.to_owned()), ..self.clone() }
    }

    /// Returns the reference with a digest. Its tag remains, to find later versions.
    pub fn with_digest(&self, digest: &str) -> Self {
        Self { digest: Some(digest.to_owned()), ..self.clone() }
    }

    pub fn with_tag(&self, tag: &str) -> Self {
        Self { tag: Some(tag.to_owned()), digest: None, ..self.clone() }
    }

    pub fn short_name(&self) -> &str {
        self.repository.rsplit('/').next().unwrap_or(&self.repository)
    }

    pub fn same_repository(&self, other: &Self) -> bool {
        self.registry.eq_ignore_ascii_case(&other.registry) && self.repository == other.repository
    }

    /// Returns the version for the manifest URL: the digest, else the tag, else `latest`.
    pub(super) fn version(&self) -> &str {
        self.digest.as_deref().or(self.tag.as_deref()).unwrap_or("latest")
    }

    pub(super) fn address(&self) -> &str {
        let (name, address) = DOCKER_HUB;
        if self.registry == name { address } else { &self.registry }
    }
}

impl FromStr for OciReference {
    type Err = RegistryError;

    fn from_str(text: &str) -> Result<Self, RegistryError> {
        let bad = |reason: &str| {
            let quoted_text = quoted(text, 200);
            RegistryError::new(format!(
                "invalid reference '{quoted_text}': {reason}; expected oci://registry[:port]/name[:tag][@sha256:…]"
            ))
        };
        let rest = text.strip_prefix(SCHEME).ok_or_else(|| bad("it does not start with oci://"))?;
        let (registry, path) = rest.split_once('/').ok_or_else(|| bad("the name is missing"))?;
        if !is_registry(registry) {
            return Err(bad("the registry must be a host name or IP address with an optional port"));
        }
        let (path, digest) = match path.split_once('@') {
            Some((path, digest)) => (path, Some(digest)),
            None => (path, None),
        };
        if digest.is_some_and(|digest| sha256_digits(digest).is_none()) {
            return Err(bad("the digest must be sha256: and 64 lower-case hexadecimal digits"));
        }
        let (repository, tag) = match path.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (path, None),
        };
        if repository.len() > 255 || !repository.split('/').all(is_component) {
            return Err(bad(
                "the name must have lower-case letters and digits, with . _ - and / between them",
            ));
        }
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return Err(bad("the tag must have at most 128 letters, digits, . _ and -"));
        }
        Ok(Self {
            registry: registry.to_owned(),
            repository: repository.to_owned(),
            tag: tag.map(str::to_owned),
            digest: digest.map(str::to_owned),
        })
    }
}

impl fmt::Display for OciReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        self.digest.as_ref().map_or(Ok(()), |digest| write!(f, "@{digest}"))
    }
}

/// Returns the digits of `sha256:…`, the only supported algorithm.
pub(super) fn sha256_digits(digest: &str) -> Option<&str> {
    let hex = digest.strip_prefix("sha256:")?;
    let digits = hex.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    (hex.len() == 64 && digits).then_some(hex)
}

fn is_registry(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let is_valid_host = match address {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => {
            let letters = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
            host.starts_with(|c: char| c.is_ascii_alphanumeric()) && host.chars().all(letters)
        }
    };
    is_valid_host && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

/// True if the text is a valid path segment of a repository (distribution specification).
fn is_component(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let mut separators = text.split(alphanumeric).filter(|part| !part.is_empty());
    text.starts_with(alphanumeric)
        && text.ends_with(alphanumeric)
        && separators.all(|part| [".", "_", "__"].contains(&part) || part.chars().all(|c| c == '-'))
}

fn is_tag(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.len() <= 128 && text.starts_with(word) && text.chars().all(|c| word(c) || c == '.' || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_displayed_as_they_were_parsed() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        for text in [
            "oci://ghcr.io/acme/weather",
            "oci://127.0.0.1:5000/weather:1.2.0-rc.1",
            "oci://[::1]:5000/a/b_c/d__e/f--g:latest",
            &format!("oci://ghcr.io/weather@{digest}"),
            &format!("oci://ghcr.io/weather:1@{digest}"),
        ] {
            let reference: OciReference = text.parse().expect(text);
            assert_eq!(reference.to_string(), text);
        }
        let reference: OciReference = "oci://docker.io/acme/weather:2".parse().expect("valid");
        assert_eq!((reference.short_name(), reference.version()), ("weather", "2"));
        assert_eq!(reference.address(), "registry-1.docker.io");
        assert_eq!(reference.pinned(&digest).to_string(), format!("oci://docker.io/acme/weather@{digest}"));
    }

    #[test]
    fn invalid_or_ambiguous_references_are_rejected() {
        for text in [
            "weather",
            "https://ghcr.io/weather",
            "oci://ghcr.io",
            "oci://ghcr.io/",
            "oci:///weather",
            "oci://user:password@ghcr.io/weather",
            "oci://ghcr.io:0/weather",
            "oci://ghcr.io:99999/weather",
            "oci://ghcr.io/../weather",
            "oci://ghcr.io/a//b",
            "oci://ghcr.io/Weather",
            "oci://ghcr.io/weather:",
            "oci://ghcr.io/weather?x=1",
            "oci://ghcr.io/weather@sha256:abc",
            "oci://ghcr.io/weather@sha512:00",
            "oci://gh cr.io/weather",
        ] {
            let error = text.parse::<OciReference>().expect_err(text).to_string();
            assert!(error.contains("invalid reference") && error.contains("expected oci://"), "{error}");
        }
    }
}
