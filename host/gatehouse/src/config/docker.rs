//! Registry credentials that `docker login` stored in `~/.docker/config.json`. Credential helpers are not run.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{ErrorKind, Read as _},
    path::Path,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use gatehouse_wire::registry::Credentials;
use serde::Deserialize;

use super::{ConfigError, locate};

/// Maximum size of the file. Real ones have a few hundred bytes.
const MAX_FILE: u64 = 1 << 20;

/// docker.io and its key in the file.
const DOCKER_HUB: (&str, &str) = ("docker.io", "index.docker.io");

#[derive(Default, Deserialize)]
struct DockerConfig {
    #[serde(default)]
    auths: BTreeMap<String, RegistryLogin>,
}

#[derive(Default, Deserialize)]
struct RegistryLogin {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
}

pub(crate) fn credentials(registry: &str) -> Result<Option<Credentials>, ConfigError> {
    let Some(home) = locate::home() else { return Ok(None) };
    read(&home.join(".docker/config.json"), registry)
}

fn read(path: &Path, registry: &str) -> Result<Option<Credentials>, ConfigError> {
    let bad = |problem: &str| {
        ConfigError::new(
            path.display(),
            format!("{problem}; fix it, or set GATEHOUSE_REGISTRY_USER and GATEHOUSE_REGISTRY_PASSWORD"),
        )
    };
    let mut bytes = Vec::new();
    match File::open(path).and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut bytes)) {
        Ok(_) if bytes.len() as u64 > MAX_FILE => return Err(bad("is larger than 1 MiB")),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(bad(&format!("cannot be read: {error}"))),
    }
    // The parser's message could quote a password.
    let content: DockerConfig =
        serde_json::from_slice(&bytes).map_err(|_| bad("is not a valid Docker configuration"))?;
    let login = content.auths.into_iter().find(|(key, _)| is_for(key, registry)).map(|(_, login)| login);
    let Some(login) = login else { return Ok(None) };
    if let (Some(user), Some(password)) = (login.username, login.password) {
        return Ok(Some(Credentials { user, password }));
    }
    let Some(auth) = login.auth.filter(|auth| !auth.is_empty()) else { return Ok(None) };
    let pair = STANDARD.decode(auth).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let pair = pair.as_deref().and_then(|pair| pair.split_once(':'));
    let (user, password) = pair.ok_or_else(|| bad(&format!("the `auth` for '{registry}' is not valid")))?;
    Ok(Some(Credentials { user: user.into(), password: password.into() }))
}

/// Compares a key of `auths`: a host with an optional port, or a URL in old files.
fn is_for(key: &str, registry: &str) -> bool {
    let host = key.trim_start_matches("https://").trim_start_matches("http://");
    let host = host.split('/').next().unwrap_or(host);
    let (hub, key_of_hub) = DOCKER_HUB;
    host.eq_ignore_ascii_case(registry) || (registry == hub && host == key_of_hub)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PlainError;

    fn found(content: &str, registry: &str) -> Result<Option<(String, String)>, PlainError> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("config.json");
        std::fs::write(&file, content).expect("write");
        Ok(read(&file, registry)?.map(|credentials| (credentials.user, credentials.password)))
    }

    #[test]
    fn credentials_are_for_one_registry() {
        let auths = r#"{"auths": {"r.example:5000": {"auth": "dTpwOnE="}, "https://index.docker.io/v1/":
            {"username": "me", "password": "x"}, "helped.example": {}}, "credsStore": "desktop"}"#;
        let pair = |user: &str, password: &str| Ok(Some((user.to_owned(), password.to_owned())));
        assert_eq!(found(auths, "r.example:5000"), pair("u", "p:q"));
        assert_eq!(found(auths, "docker.io"), pair("me", "x"));
        for other in ["r.example", "evil.example", "helped.example", "r.example:5001"] {
            assert_eq!(found(auths, other), Ok(None), "{other}");
        }
    }

    #[test]
    fn a_broken_file_is_named_and_not_quoted() {
        for content in ["{\"auths\": {\"r\": \"hunter2\"}}", "{\"auths\": {\"r\": {\"auth\": \"hunter2\"}}}"]
        {
            let error = found(content, "r").expect_err("refused");
            assert!(error.contains("config.json") && !error.contains("hunter2"), "{error}");
        }
        assert!(read(Path::new("/nowhere/config.json"), "r").is_ok_and(|found| found.is_none()));
    }
}
