//! Servers added at run time: `servers/added.json` in the data directory, with the keys of `[servers.NAME]`.
//! Declarations in `presets.toml` take precedence and are never changed.

use std::{
    collections::BTreeMap,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use gatehouse_core::{
    Fault, lock,
    ports::servers::{ServerDefinition, ServerDefinitionStore},
};
use gatehouse_files::{Durability, write_private};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Config, Env, ServerConfig, locate, lock::locked, servers};

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

    pub(crate) fn place(&self) -> String {
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
            Err(why) => {
                now.problems.push(why);
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
                Ok(server) => drop(now.servers.insert(name, server)),
                Err(why) => now.problems.push(format!("{file}: server '{name}': {why}")),
            }
        }
        now
    }

    pub(crate) fn store(&self, name: &str, definition: &Map<String, Value>) -> Result<ServerConfig, Fault> {
        let checked = self.checked(name, definition)?;
        self.change(|servers| insert(servers, name, definition).map(|()| true))?;
        Ok(checked)
    }

    /// Stores all of these servers, or none. Blocking.
    pub(crate) fn store_all(&self, added: &BTreeMap<&str, &Map<String, Value>>) -> Result<(), Fault> {
        for (name, definition) in added {
            self.checked(name, definition)?;
        }
        self.change(|servers| {
            added.iter().try_for_each(|(name, definition)| insert(servers, name, definition)).map(|()| true)
        })?;
        Ok(())
    }

    fn checked(&self, name: &str, definition: &Map<String, Value>) -> Result<ServerConfig, Fault> {
        self.not_declared(name)?;
        let checked = servers::from_json(&self.config(), name, definition, &self.env);
        checked.map_err(|why| Fault::invalid(format!("{why}.")))
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
        let _lock = locked(&self.file).map_err(failed)?;
        let mut added = read(&self.file).map_err(|why| Fault::unavailable(format!("{why}.")))?;
        if !edit(&mut added.servers)? {
            return Ok(false);
        }
        let text = serde_json::to_vec_pretty(&added).map_err(|error| failed(error.into()))?;
        write_private(&self.file, &text, Durability::Synced).map_err(failed)?;
        Ok(true)
    }
}

fn insert(
    servers: &mut BTreeMap<String, Map<String, Value>>,
    name: &str,
    definition: &Map<String, Value>,
) -> Result<(), Fault> {
    if servers.len() >= MAX_ADDED && !servers.contains_key(name) {
        let why = format!("cannot add a server: the limit of {MAX_ADDED} added servers is reached");
        return Err(Fault::exhausted(why).hint("Remove a server that is not needed."));
    }
    servers.insert(name.to_owned(), definition.clone());
    Ok(())
}

fn read(file: &Path) -> Result<AddedFile, String> {
    let shown = file.display();
    match fs::exists(file) {
        Ok(false) => return Ok(AddedFile::default()),
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(format!("{shown} cannot be read: {error}"));
        }
        _ => {}
    }
    let bytes = locate::read_bounded(file).map_err(|error| format!("{shown} cannot be read: {error}"))?;
    serde_json::from_slice(&bytes).map_err(|error| format!("{shown} is damaged ({error}); fix or delete it"))
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
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::ConfigText;

    fn added(state: &Path, content: &str) -> FileServerStore {
        let text = ConfigText { file: Some(state.join("presets.toml")), content: content.into() };
        let config = Config::from_text(&text, None, Some(state), &Env::default()).expect("valid");
        FileServerStore::new(Arc::new(config), Env::default())
    }

    fn definition(value: Value) -> Map<String, Value> {
        value.as_object().cloned().expect("an object")
    }

    #[test]
    fn what_is_added_is_kept_for_this_user_alone_until_it_is_removed() {
        let state = tempfile::tempdir().expect("a folder");
        let servers = added(state.path(), "");
        assert!(servers.snapshot().servers.is_empty() && servers.snapshot().problems.is_empty());
        let git = definition(
            json!({"command": "git-mcp", "env": {"TOKEN": "${GATEHOUSE_TEST_NONE}"}, "timeout": 5}),
        );
        let kept = servers.store("git", &git).expect("kept");
        assert_eq!(kept.definition.missing, ["GATEHOUSE_TEST_NONE"]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(file(state.path())).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let another_host = added(state.path(), "");
        another_host.store("web", &definition(json!({"url": "https://a.example/mcp"}))).expect("kept");
        assert_eq!(servers.snapshot().servers.keys().collect::<Vec<_>>(), ["git", "web"]);
        assert_eq!(servers.snapshot().servers["git"], kept);
        assert_eq!((servers.forget("git"), servers.forget("git")), (Ok(true), Ok(false)));
        assert_eq!(another_host.snapshot().servers.keys().collect::<Vec<_>>(), ["web"]);
    }

    #[test]
    fn what_presets_toml_declares_is_not_changed_and_wins() {
        let state = tempfile::tempdir().expect("a folder");
        let free = added(state.path(), "");
        free.store("git", &definition(json!({"command": "mine"}))).expect("kept");
        let servers = added(state.path(), "[servers.git]\ncommand = \"theirs\"\n");
        let refused = servers.store("git", &definition(json!({"command": "x"}))).expect_err("refused");
        assert_eq!(refused.kind, gatehouse_core::FaultKind::Denied);
        assert!(servers.forget("git").is_err());
        let now = servers.snapshot();
        assert!(now.servers.is_empty());
        assert!(
            now.problems[0].ends_with("server 'git' is ignored: presets.toml declares it"),
            "{:?}",
            now.problems
        );
    }

    #[test]
    fn a_definition_that_would_not_do_is_refused_by_its_key() {
        let state = tempfile::tempdir().expect("a folder");
        let servers = added(state.path(), "");
        for (name, bad, wanted) in [
            ("git", json!({"comand": "x"}), "unknown key 'comand'. Did you mean 'command'?"),
            ("git", json!({"command": null}), "'command' is null"),
            ("git", json!({}), "needs a command (a program) or a url"),
            ("git", json!({"command": "x", "env": {"A": null}}), "contains null"),
            ("git", json!({"command": "x", "args": ["y".repeat(70_000)]}), "is longer than 64 KiB"),
            ("a/b", json!({"command": "x"}), "'a/b' cannot be the name of a server"),
        ] {
            let fault = servers.store(name, &definition(bad)).expect_err(wanted);
            assert_eq!(fault.kind, gatehouse_core::FaultKind::InvalidArguments);
            assert!(fault.message.contains(wanted), "{}", fault.message);
        }
        fs::create_dir_all(state.path().join("servers")).expect("made");
        fs::write(file(state.path()), "{\"servers\": {}, \"x\": 1}").expect("written");
        assert!(servers.snapshot().problems[0].contains("is damaged"));
        assert!(
            servers.store("git", &definition(json!({"command": "x"}))).is_err(),
            "what is there is not lost"
        );
    }
}
