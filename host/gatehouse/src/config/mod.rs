//! Configuration. [`raw`] mirrors `presets.toml` as written; [`checked`] holds the validated form.

#[macro_use]
pub(crate) mod error;

mod access;
pub(crate) mod added;
pub(crate) mod applied;

mod auth;
pub(crate) mod checked;
pub(crate) mod credentials;
pub(crate) mod docker;

pub(crate) mod edit;
pub(crate) mod env;
pub(crate) mod environment_file;

pub(crate) mod gates;
mod http_server;
mod inherited;
mod intelligence;
pub(crate) mod keys;
mod knowledge;

mod limits;
mod listen_address;
pub(crate) mod locate;
pub(crate) mod locked_files;
mod models;
pub(crate) mod parse_errors;
pub(crate) mod preset_files;
mod presets;
pub(crate) mod raw;
mod raw_presets;
mod raw_servers;
mod records;
pub(crate) mod schema;
pub(crate) mod servers;
mod shipped;
mod stores;
pub(crate) mod trust;
pub(crate) mod widening;
mod workflow;

pub(crate) use access::AccessConfig;

pub(crate) use checked::Config;
pub(crate) use shipped::NO_DEFAULT_PRESET;

pub(crate) use env::{Env, unused};
pub(crate) use error::{ConfigError, ConfigText, TextValue};
pub(crate) use gates::GateConfig;
pub(crate) use inherited::is_inherited;
pub(crate) use intelligence::SummarySettings;
pub(crate) use knowledge::{EngineConfig, KnowledgeConfig, read_index};
pub(crate) use listen_address::listen_address;
pub(crate) use raw::{DocumentsEngine, KnowledgeEngine};
pub(crate) use records::{AuditConfig, LedgerConfig};
pub(crate) use servers::{ServerConfig, ServersConfig, from_json};
pub(crate) use stores::{ArtifactsConfig, ArtifactsEngineConfig, DocumentsConfig, DocumentsEngineConfig};

use gatehouse_core::Effect;

use crate::plain_error::PlainError;

const MAX_GATE_NAME: usize = 64;

/// Rule for gate names, as error messages state it.
pub(crate) const GATE_NAME: &str =
    "a gate's name has at most 64 letters, digits, _ and -, and begins with a letter or a digit";

/// Returns whether `name` can name a gate.
///
/// The name is also a file stem, a path segment and a command-line argument that must not look like an option.
pub(crate) fn is_gate_name(name: &str) -> bool {
    let letters = |c: char| c.is_alphanumeric() || "_-".contains(c);
    name.starts_with(char::is_alphanumeric)
        && name.chars().all(letters)
        && name.chars().count() <= MAX_GATE_NAME
}

/// Parses the name of an effect.
fn effect(word: &str) -> Option<Effect> {
    Effect::ALL.into_iter().find(|effect| effect.as_str() == word)
}

pub(crate) fn check_gate_name(name: &str) -> Result<(), PlainError> {
    if is_gate_name(name) {
        return Ok(());
    }
    let display_name = gatehouse_core::names::quoted(name, 64);
    Err(format!("'{display_name}' cannot be the name of a gate: {GATE_NAME}").into())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Validates the content of `/etc/gh/presets.toml`.
    pub(crate) fn parse(content: &str, env: &Env) -> Result<Config, PlainError> {
        let text = ConfigText { file: Some("/etc/gh/presets.toml".into()), content: content.into() };
        Ok(Config::parse(&text, env)?)
    }

    /// Asserts that each case, after `before`, is refused with its text.
    pub(crate) fn assert_refused(before: &str, cases: &[(&str, &str)]) {
        for (content, reason) in cases {
            let error = parse(&format!("{before}{content}"), &Env::default()).map(drop).expect_err(content);
            assert!(error.contains(reason), "{content}: {error}");
        }
    }

    #[test]
    fn gate_names_are_words_and_not_options() {
        for good in ["weather", "a", "9-lives", "my_gate-2", "wetter\u{fc}"] {
            assert!(is_gate_name(good), "{good}");
        }
        for bad in ["", "--x", "-x", "_x", "a.b", "../x", "a b", "a/b", "a\u{200b}", &"x".repeat(65)] {
            let reason = check_gate_name(bad).expect_err(bad);
            assert!(reason.contains("cannot be the name of a gate"), "{reason}");
        }
    }
}
