//! `[gates.NAME]`, validated: the component of a gate, its grants, and the hosts and directories that it may access.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use gatehouse_core::{
    capability::{Capability, Grants},
    http::{HostPattern, HostRule, HttpRules, Secret, SecretTemplate, header, rules::AddedHeader},
    names::quoted,
};
use gatehouse_sandbox::{GateSettings, GuestFolder};
use gatehouse_wire::registry::OciReference;

use super::{
    ConfigError, ConfigText, Env, TextValue, limits,
    raw::{GateFolder, HttpHost, InstancePolicy, RawGate},
};

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct GateConfig {
    /// Path of the component, absolute. `None` if the configuration does not name one.
    pub(crate) component: Option<PathBuf>,
    pub(crate) origin: Option<OciReference>,
    pub(crate) settings: GateSettings,
    /// True for shipped settings, which apply only to the shipped component.
    pub(crate) shipped: bool,
}

/// Validates `[gates.NAME]`. Paths are relative to `base`; private directories are in `state`, the data directory.
pub(super) fn validate(
    text: &ConfigText,
    (base, state): (&Path, &Path),
    name: &str,
    gate: RawGate,
    env: &Env,
) -> Result<GateConfig, ConfigError> {
    for grant in &gate.grants {
        text.at(grant, Grants::parse([grant.as_str()]))?;
    }
    let grants = Grants::parse(gate.grants.iter().map(|grant| grant.as_str()));
    if let Some(pin) = gate.sha256.as_ref().filter(|pin| !is_digest(pin)) {
        bail_at!(text, pin, "'{}' is not a SHA-256 in hexadecimal (64 digits)", quoted(pin, 80));
    }
    let (component, origin) =
        component_source(text, base, state, gate.component.as_ref(), gate.sha256.as_ref())?;
    let mut grants = grants.map_err(|reason| text.error(reason))?;
    let http = gate.http.map(|block| http_rules(text, name, block, env)).transpose()?;
    if http.is_some() {
        grants = grants.with_block(Capability::Http);
    }
    let settings = GateSettings {
        grants,
        http: http.map(Arc::new),
        limits: limits::validate(text, &gate.limits)?,
        folders: guest_folders(text, base, state, name, gate.folders)?,
        reuse: gate.instance == InstancePolicy::Reuse,
        sha256: gate.sha256.map(TextValue::into_inner),
    };
    Ok(GateConfig { component, origin, settings, shipped: false })
}

pub(crate) fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Resolves the `component` key of a gate: a file, and the registry that it comes from.
///
/// A registry reference needs a digest, and `sha256` pins the file, so that later changes in the registry cannot change
/// the gate.
fn component_source(
    text: &ConfigText,
    base: &Path,
    state: &Path,
    component: Option<&TextValue<String>>,
    sha256: Option<&TextValue<String>>,
) -> Result<(Option<PathBuf>, Option<OciReference>), ConfigError> {
    let Some(named) = component else { return Ok((None, None)) };
    if !OciReference::is_oci(named) {
        return Ok((Some(base.join(&**named)), None));
    }
    let origin: OciReference = text.at(named, named.parse())?;
    if origin.digest.is_none() {
        bail_at!(
            text,
            named,
            "'{origin}' has no digest, so its content can change; run `gatehouse gates add {origin}` to write it with \
            its digest"
        );
    }
    let Some(sha256) = sha256 else {
        bail_at!(
            text,
            named,
            "a component from a registry needs sha256; run `gatehouse gates add {origin}` to write both"
        );
    };
    Ok((Some(installed(state, sha256)), Some(origin)))
}

/// Returns the path of an installed component. Files in the data directory are named by content.
pub(crate) fn installed(state: &Path, sha256: &str) -> PathBuf {
    state.join("components").join(format!("{}.wasm", sha256.to_ascii_lowercase()))
}

/// Validates `[gates.NAME.http]`: hosts that a gate may contact, and headers that the host adds.
///
/// An unset variable is not an error here, because it would disable all other gates too.
fn http_rules(
    text: &ConfigText,
    gate: &str,
    block: BTreeMap<TextValue<String>, HttpHost>,
    env: &Env,
) -> Result<HttpRules, ConfigError> {
    let mut rules: Vec<HostRule> = Vec::new();
    let mut secrets: Vec<Secret> = Vec::new();
    for (name, host) in block {
        let key = text.at(&name, HostPattern::parse(&name))?;
        if rules.iter().any(|rule| rule.key == key) {
            bail_at!(text, name, "'{}' repeats {key}, which another line already names", quoted(&name, 100));
        }
        let mut headers = Vec::new();
        for (name, value) in &host.headers {
            let display_name = quoted(name, 64);
            if !header::is_name(name) {
                bail_at!(text, name, "'{display_name}' is not a valid header name");
            }
            if header::is_framing(name) {
                bail_at!(
                    text,
                    name,
                    "header '{display_name}' is set by the HTTP client and cannot be configured"
                );
            }
            let template = text.at(value, SecretTemplate::parse(value))?;
            let filled = template.fill(name, |variable| env.secret(variable));
            secrets.extend(filled.secrets);
            let variables = template.variables().into_iter().map(str::to_owned).collect();
            headers.push(AddedHeader { name: name.to_string(), value: filled.value, variables });
        }
        rules.push(HostRule { key, headers, private: host.private });
    }
    Ok(HttpRules::new(gate, rules, &secrets))
}

/// Validates the directories of one gate, sorted by guest path.
///
/// Paths are relative to `base`; private directories are in `state`, the data directory.
fn guest_folders(
    text: &ConfigText,
    base: &Path,
    state: &Path,
    gate: &str,
    raw: BTreeMap<TextValue<String>, GateFolder>,
) -> Result<Vec<GuestFolder>, ConfigError> {
    let mut folders: Vec<GuestFolder> = Vec::new();
    for (name, folder) in raw {
        let guest = name.as_str();
        let Some(parts) = folder_parts(guest) else {
            bail_at!(
                text,
                name,
                "invalid folder name '{}'; write for example \"/data\": names of A-Z a-z 0-9 _ - ., each after a /",
                quoted(guest, 80)
            );
        };
        // A gate that can write to the outer directory could replace the inner one.
        if let Some(other) = folders.iter().find(|other| nested(&other.guest, guest)) {
            bail_at!(text, name, "'{guest}' and '{}' overlap: one is inside the other", other.guest);
        }
        let (host, private) = match (folder.path, folder.private) {
            (Some(path), false) => (base.join(path), false),
            // The gate's name is already validated, so the path cannot escape.
            (None, true) => {
                (parts.iter().fold(state.join("gates").join(gate), |path, part| path.join(part)), true)
            }
            _ => bail_at!(text, name, "'{guest}' needs either path = \"…\" or private = true"),
        };
        folders.push(GuestFolder { guest: guest.to_owned(), host, private });
    }
    Ok(folders)
}

/// Splits `/a/b` into names. `None` if the path is relative or a name is not plain.
fn folder_parts(guest: &str) -> Option<Vec<&str>> {
    let parts: Vec<&str> = guest.strip_prefix('/')?.split('/').collect();
    let plain = |part: &&str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
    };
    (guest.len() <= 256 && parts.iter().all(plain)).then_some(parts)
}

fn nested(a: &str, b: &str) -> bool {
    let inside =
        |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'));
    inside(a, b) || inside(b, a)
}

#[cfg(test)]
mod tests;
