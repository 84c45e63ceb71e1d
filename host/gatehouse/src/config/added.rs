//! Servers added at run time: `servers/added.json` in the data directory, with the keys of `[servers.NAME]`.
//! Declarations in `presets.toml` take precedence and are never changed.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use gatehouse_core::{
    Fault, lock,
    ports::servers::{ServerDefinition, ServerDefinitionStore},
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Config, Env, PlainError, ServerConfig, locked_files, servers};

const MAX_ADDED: usize = 256;

/// Content of the file. Unknown keys are refused, so that no program is started by mistake.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AddedFile {
    servers: BTreeMap<String, Map<String, Value>>,
}

/// The added servers of a data directory, validated against the current configuration.
pub(crate) struct FileServerStore {
    file: PathBuf,
    config: Mutex<Arc<Config>>,
    env: Env,
}

/// Added servers at one point in time.
#[derive(Debug, Default)]
pub(crate) struct AddedSnapshot {
    pub(crate) servers: BTreeMap<String, ServerConfig>,
    /// Reasons why other servers are not used.
    pub(crate) problems: Vec<String>,
}

/// Returns the directory of the added servers.
///
/// Hosts watch it. It also contains a file that is rewritten when tools are approved.
pub(crate) fn folder(state: &Path) -> PathBuf {
    state.join("servers")
}

fn file(state: &Path) -> PathBuf {
    folder(state).join("added.json")
}

impl FileServerStore {
    pub(crate) fn new(config: Arc<Config>, env: Env) -> Self {
        Self { file: file(&config.state), config: Mutex::new(config), env }
    }

    pub(crate) fn file_name(&self) -> String {
        self.file.display().to_string()
    }

    /// Replaces the configuration whose declarations take precedence.
    pub(crate) fn follow(&self, config: &Arc<Config>) {
        *lock(&self.config) = Arc::clone(config);
    }

    pub(crate) fn config(&self) -> Arc<Config> {
        Arc::clone(&lock(&self.config))
    }

    /// Reads the added servers. Blocking.
    pub(crate) fn snapshot(&self) -> AddedSnapshot {
        let mut now = AddedSnapshot::default();
        let config = self.config();
        let added = match read(&self.file) {
            Ok(added) => added,
            Err(reason) => {
                now.problems.push(reason.into());
                return now;
            }
        };
        for (name, definition) in added.servers {
            let file = self.file.display();
            if config.servers.declared.contains_key(&name) {
                now.problems.push(format!("{file}: server '{name}' is ignored: presets.toml declares it"));
                continue;
            }
            match servers::from_json(&config, &name, &definition, &self.env) {
                Ok(mut server) => {
                    if let Some(rules) = config.servers.tools_of_added.get(&name) {
                        server.definition.tools.clone_from(rules);
                    }
                    now.servers.insert(name, server);
                }
                Err(reason) => now.problems.push(format!("{file}: server '{name}': {reason}")),
            }
        }
        for name in config.servers.tools_of_added.keys().filter(|name| !now.servers.contains_key(*name)) {
            now.problems.push(format!(
                "[servers.{name}.tools] is not used: the block has no `command` or `url`, and no server '{name}' was added"
            ));
        }
        now
    }

    /// Returns every declared and added server, including disabled ones. Blocking.
    pub(crate) fn configured(&self) -> BTreeMap<String, ServerConfig> {
        let mut servers = self.snapshot().servers;
        servers.extend(self.config().servers.declared.clone());
        servers
    }

    pub(crate) fn store(&self, name: &str, definition: &Map<String, Value>) -> Result<ServerConfig, Fault> {
        let checked = self.validate(name, definition)?;
        self.change(|servers| insert(servers, name, definition).map(|()| true))?;
        Ok(checked)
    }

    /// Stores all of these servers, or none. Blocking.
    pub(crate) fn store_all(&self, added: &BTreeMap<&str, &Map<String, Value>>) -> Result<(), Fault> {
        for (name, definition) in added {
            self.validate(name, definition)?;
        }
        self.change(|servers| {
            added.iter().try_for_each(|(name, definition)| insert(servers, name, definition)).map(|()| true)
        })?;
        Ok(())
    }

    fn validate(&self, name: &str, definition: &Map<String, Value>) -> Result<ServerConfig, Fault> {
        self.not_declared(name)?;
        let checked = servers::from_json(&self.config(), name, definition, &self.env);
        checked.map_err(Fault::invalid)
    }

    /// Removes a server. Returns `false` if there was none of this name. Blocking.
    pub(crate) fn forget(&self, name: &str) -> Result<bool, Fault> {
        self.not_declared(name)?;
        self.change(|servers| Ok(servers.remove(name).is_some()))
    }

    fn not_declared(&self, name: &str) -> Result<(), Fault> {
        let config = self.config();
        if !config.servers.declared.contains_key(name) {
            return Ok(());
        }
        let file =
            config.file.as_ref().map_or_else(|| "presets.toml".into(), |file| file.display().to_string());
        Err(Fault::denied(format!("server '{name}' is declared in {file}, which tools cannot change"))
            .hint("The host's operator can edit that file."))
    }

    /// Edits the list under its lock, so that concurrent hosts do not lose changes. Returns whether it changed.
    fn change(
        &self,
        edit: impl FnOnce(&mut BTreeMap<String, Map<String, Value>>) -> Result<bool, Fault>,
    ) -> Result<bool, Fault> {
        let failed = |error: std::io::Error| {
            Fault::unavailable(format!("{} cannot be written: {error}", self.file.display()))
        };
        let read = |file: &Path| read(file).map_err(Fault::unavailable);
        locked_files::edit_json(&self.file, failed, read, |added: &mut AddedFile| edit(&mut added.servers))
    }
}

fn insert(
    servers: &mut BTreeMap<String, Map<String, Value>>,
    name: &str,
    definition: &Map<String, Value>,
) -> Result<(), Fault> {
    if servers.len() >= MAX_ADDED && !servers.contains_key(name) {
        let reason = format!("cannot add a server: the limit of {MAX_ADDED} added servers is reached");
        return Err(Fault::exhausted(reason).hint("Remove a server that is not needed."));
    }
    servers.insert(name.to_owned(), definition.clone());
    Ok(())
}

fn read(file: &Path) -> Result<AddedFile, PlainError> {
    locked_files::read_json(file).map_err(|reason| format!("{} {reason}", file.display()).into())
}

#[async_trait]
impl ServerDefinitionStore for FileServerStore {
    async fn add(&self, server: &str, definition: &Map<String, Value>) -> Result<ServerDefinition, Fault> {
        tokio::task::block_in_place(|| self.store(server, definition)).map(|server| server.definition)
    }

    async fn remove(&self, server: &str) -> Result<bool, Fault> {
        tokio::task::block_in_place(|| self.forget(server))
    }
}

#[cfg(test)]
mod tests;
