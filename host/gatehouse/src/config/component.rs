//! Locations of gate components: a local file, or one installed from a registry.

use std::path::{Path, PathBuf};

use gatehouse_wire::registry::OciReference;
use toml::Spanned;

use super::{ConfigError, error::ConfigText};

pub(crate) fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[derive(Debug, Default)]
pub(crate) struct ComponentSource {
    pub(crate) component: Option<PathBuf>,
    pub(crate) origin: Option<OciReference>,
}

impl ComponentSource {
    /// Resolves the `component` key of a gate.
    ///
    /// A registry reference needs a digest, and `sha256` pins the file, so that later changes in the registry cannot
    /// change the gate.
    pub(crate) fn from_raw(
        text: &ConfigText,
        base: &Path,
        state: &Path,
        component: Option<&Spanned<String>>,
        sha256: Option<&Spanned<String>>,
    ) -> Result<Self, ConfigError> {
        let Some(named) = component else { return Ok(Self::default()) };
        if !OciReference::is_oci(named.get_ref()) {
            return Ok(Self { component: Some(base.join(named.get_ref())), origin: None });
        }
        let bad = |message: String| text.error_at(named.span(), message);
        let origin: OciReference = named.get_ref().parse().map_err(|error| bad(format!("{error}")))?;
        if origin.digest.is_none() {
            return Err(bad(format!(
                "'{origin}' has no digest, so its content can change; run `gatehouse gates add {origin}` to write it \
                with its digest"
            )));
        }
        let Some(sha256) = sha256 else {
            return Err(bad(format!(
                "a component from a registry needs sha256; run `gatehouse gates add {origin}` to write both"
            )));
        };
        Ok(Self { component: Some(installed(state, sha256.get_ref())), origin: Some(origin) })
    }
}

/// Returns the path of an installed component. Files in the data directory are named by content.
pub(crate) fn installed(state: &Path, sha256: &str) -> PathBuf {
    state.join("components").join(format!("{}.wasm", sha256.to_ascii_lowercase()))
}

pub(crate) fn not_installed(gate: &str, origin: &OciReference) -> String {
    let name = if origin.short_name() == gate { String::new() } else { format!(" --name {gate}") };
    format!("gate '{gate}' is not installed; run `gatehouse gates add {origin}{name}`")
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, Env, error::ConfigText};

    fn parse(content: &str) -> Result<Config, String> {
        let text = ConfigText { file: Some("/etc/gh/presets.toml".into()), content: content.into() };
        let env = Env::from_pairs([("GATEHOUSE_STATE", "/state")]);
        Config::parse(&text, &env).map_err(|error| error.to_string())
    }

    #[test]
    fn references_name_files_in_the_data_directory() {
        let (digest, pin) = ("0".repeat(64), "AB".repeat(32));
        let component = format!("component = \"oci://ghcr.io/acme/weather@sha256:{digest}\"");
        let config = parse(&format!("[gates.weather]\n{component}\nsha256 = \"{pin}\"\n")).expect("valid");
        let gate = &config.gates["weather"];
        let file = gate.component.as_ref().expect("a file").display().to_string();
        assert_eq!(file, format!("/state/components/{}.wasm", pin.to_lowercase()));
        assert_eq!(gate.origin.as_ref().map(|origin| origin.short_name()), Some("weather"));

        let error = parse(&format!("[gates.weather]\n{component}\n")).map(|_| ()).expect_err("refused");
        assert!(
            error.starts_with("/etc/gh/presets.toml:2:13: a component from a registry needs sha256"),
            "{error}"
        );
        let error = parse("[gates.a]\ncomponent = \"oci://ghcr.io/a:1\"").map(|_| ()).expect_err("refused");
        assert!(error.contains(":2:13: 'oci://ghcr.io/a:1' has no digest"), "{error}");
        let error = parse("[gates.a]\ncomponent = \"oci://ghcr.io\"").map(|_| ()).expect_err("refused");
        assert!(error.contains(":2:13: invalid reference 'oci://ghcr.io'"), "{error}");
    }
}
