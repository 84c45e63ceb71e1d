//! Commands of this program that mean the same from any directory and environment, for client configurations and
//! scripts.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::{
    cli::CommandError,
    config::{
        Config, Env,
        locate::{self, BUILT_IN, USER},
    },
    global_args::GlobalArgs,
    out,
};

pub(crate) struct PinnedCommand {
    pub(crate) program: PathBuf,
    /// `--config` and, if given, `--gates`.
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
}

impl PinnedCommand {
    pub(crate) fn new(config: &Config, global: &GlobalArgs, env: &Env) -> Result<Self, CommandError> {
        let program = std::env::current_exe().map_err(CommandError::failed)?;
        let file = pinned_name(config, global, env);
        if config.choice.by_trust {
            out::note(format!("the client will use {file} even after it changes, because --config names it"));
        }
        let mut arguments = vec!["--config".into(), file];
        if global.gates.is_some() {
            let folders = config.gate_folders.iter();
            arguments.extend(folders.flat_map(|dir| ["--gates".into(), dir.display().to_string()]));
        }
        let places = env.data_paths().into_iter().map(|(name, path)| (name, path.display().to_string()));
        Ok(Self { program, arguments, environment: places.collect() })
    }

    pub(crate) fn arguments(&self, command: &[&str], preset: &str) -> Vec<String> {
        let command = command.iter().copied().chain(["--preset", preset]).map(str::to_owned);
        command.chain(self.arguments.iter().cloned()).collect()
    }

    /// Returns the environment as a JSON object. `None` if it is empty.
    pub(crate) fn environment(&self) -> Option<Value> {
        let variables: Map<String, Value> =
            self.environment.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        (!variables.is_empty()).then_some(Value::Object(variables))
    }

    pub(crate) fn shell_line(&self, command: &[&str], preset: &str) -> String {
        let variables = self.environment.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        let program = self.program.display().to_string();
        let arguments = self.arguments(command, preset);
        let words = std::iter::once(&program).chain(&arguments).map(|word| quoted(word));
        variables.chain(words).collect::<Vec<_>>().join(" ")
    }
}

/// Returns the value of `--config` that selects this configuration. For that of the configuration home it is `user`, so
/// that a file that is written there later counts.
fn pinned_name(config: &Config, global: &GlobalArgs, env: &Env) -> String {
    let named = global.config.as_deref().or_else(|| env.get("GATEHOUSE_CONFIG").map(Path::new));
    let user_config = locate::user_file().and_then(|file| file.canonicalize().ok());
    match &config.file {
        None if named == Some(Path::new(BUILT_IN)) => BUILT_IN.to_owned(),
        Some(file) if user_config.as_ref() != Some(file) => file.display().to_string(),
        _ => USER.to_owned(),
    }
}

/// Quotes a word for a shell, if it needs that.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        for word in ["/a/b.toml", "with space", "it's", "$HOME `x` \"y\" \\", "", "a;b&c", "*?[x]"] {
            let printed = format!("printf %s {}", quoted(word));
            let ran = std::process::Command::new("sh").args(["-c", &printed]).output().unwrap();
            assert_eq!(String::from_utf8(ran.stdout).unwrap(), word);
        }
    }
}
