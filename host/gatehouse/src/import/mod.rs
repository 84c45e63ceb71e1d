//! Imports servers from the configuration files of other clients, in the form of `presets.toml`.
//!
//! Literal secrets are replaced by variables. Entries that cannot be converted are reported with the reason.

mod client;
mod entry;
pub(crate) mod registry_entry;
#[cfg(test)]
mod tests;
mod variables;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use gatehouse_core::http::Secret;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

pub(crate) use client::ImportClient;
pub(crate) use variables::SecretVariables;

use crate::config::{
    self, Config, Env, ServerConfig,
    servers::{MAX_SERVER_NAME, is_server_name},
};
use crate::plain_error::PlainError;

#[derive(Debug, Default)]
pub(crate) struct ImportOutcome {
    /// Importable servers, in the order of the files.
    pub(crate) servers: Vec<ImportedServer>,
    /// Skipped entries: file, name and reason.
    pub(crate) left_out: Vec<(PathBuf, String, PlainError)>,
    /// Variables to set, each with the location of its current value.
    pub(crate) variables: Vec<(String, String)>,
    /// Values of these variables. Never shown.
    pub(crate) secrets: BTreeMap<String, Secret>,
    /// Other projects with servers in a file: file, directory and number of servers.
    pub(crate) elsewhere: Vec<(PathBuf, PathBuf, usize)>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ImportedServer {
    pub(crate) name: String,
    /// Keys of `[servers.NAME]`, in output order.
    pub(crate) definition: Map<String, Value>,
    #[serde(serialize_with = "serialize_path")]
    pub(crate) file: PathBuf,
    /// Changes made by the conversion, one sentence each.
    pub(crate) notes: Vec<String>,
}

/// Serializes a path as it is printed; one that is not UTF-8 would be an error otherwise.
fn serialize_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

pub(crate) struct ImportContext<'a> {
    pub(crate) file: &'a Path,
    pub(crate) home: Option<&'a Path>,
    /// The working directory and its ancestors up to the repository root, nearest first.
    pub(crate) project: &'a [PathBuf],
}

impl ImportContext<'_> {
    /// Returns the workspace in the client's sense: the parent of `.vscode`, `.cursor` or `.roo`, else the file's
    /// directory.
    fn workspace(&self) -> &Path {
        let folder = self.file.parent().unwrap_or(Path::new("/"));
        let hidden = [".vscode", ".cursor", ".roo"];
        let hidden = folder.file_name().is_some_and(|name| hidden.iter().any(|hidden| name == *hidden));
        if hidden { folder.parent().unwrap_or(folder) } else { folder }
    }
}

pub(crate) struct ServerImporter<'a> {
    config: &'a Config,
    env: &'a Env,
    /// Existing servers, with the origin that messages name.
    present: BTreeMap<String, (String, ServerConfig)>,
    /// Imported entries before secrets are replaced, to recognize duplicates.
    taken: BTreeMap<String, Map<String, Value>>,
    imported: ImportOutcome,
    secrets: SecretVariables,
}

impl<'a> ServerImporter<'a> {
    /// Creates an importer that leaves declared and added servers unchanged.
    pub(crate) fn new(config: &'a Config, added: &BTreeMap<String, ServerConfig>, env: &'a Env) -> Self {
        let declared = config.servers.declared.iter().map(|server| (server, "presets.toml already has"));
        let present = added.iter().map(|server| (server, "`servers add` already added")).chain(declared);
        let present = present.map(|((name, server), by)| (name.clone(), (by.to_owned(), server.clone())));
        Self {
            config,
            env,
            present: present.collect(),
            taken: BTreeMap::new(),
            imported: ImportOutcome::default(),
            secrets: SecretVariables::default(),
        }
    }

    /// Imports the servers of a file. The error is the reason that the file is not valid for this client.
    pub(crate) fn import_file(
        &mut self,
        client: ImportClient,
        context: &ImportContext<'_>,
        text: &str,
    ) -> Result<(), PlainError> {
        let entries = client.entries(text, context.project)?;
        let elsewhere = entries.elsewhere.into_iter();
        let file = || context.file.to_path_buf();
        self.imported.elsewhere.extend(elsewhere.map(|(directory, servers)| (file(), directory, servers)));
        for (name, entry) in entries.servers {
            if let Err(reason) = self.import_server(client, context, &name, &entry) {
                self.imported.left_out.push((context.file.to_path_buf(), name, reason));
            }
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> ImportOutcome {
        let secrets = self.secrets.values();
        ImportOutcome { variables: self.secrets.into_variables(), secrets, ..self.imported }
    }

    fn import_server(
        &mut self,
        client: ImportClient,
        context: &ImportContext<'_>,
        name: &str,
        entry: &Value,
    ) -> Result<(), PlainError> {
        let mut notes = Vec::new();
        let mut definition = entry::definition(client, context, entry, &mut notes)?;
        if is_gatehouse(&definition) {
            return Err("it is Gatehouse itself".into());
        }
        let valid_name = self.free_name(name, &definition);
        if valid_name != name {
            notes.push(format!("its original name is '{name}'"));
        }
        if let Some(twin) = self.imported.servers.iter().find(|server| server.name == valid_name) {
            let same = if self.taken.get(&valid_name) == Some(&definition) { "the same" } else { "another" };
            bail!("{same} '{valid_name}' comes from {}", twin.file.display());
        }
        let described = format!("server '{name}' of {}", context.file.display());
        if let Some((by, present)) = self.present.get(&valid_name) {
            let is_same = self.is_same(&valid_name, present, &definition);
            bail!("{by} {} '{valid_name}'", if is_same { "the same" } else { "another" });
        }
        self.taken.insert(valid_name.clone(), definition.clone());
        self.secrets.extract(&valid_name, &described, &mut definition);
        config::from_json(self.config, &valid_name, &definition, self.env)?;
        let file = context.file.to_path_buf();
        self.imported.servers.push(ImportedServer { name: valid_name, definition, file, notes });
        Ok(())
    }
}

impl ServerImporter<'_> {
    /// Returns a valid name for a server. A changed name that is taken by another server gets a number.
    fn free_name(&self, name: &str, definition: &Map<String, Value>) -> String {
        let valid_name = server_name(name).unwrap_or_else(|| "server".to_owned());
        let is_taken = |candidate: &str| {
            self.present
                .get(candidate)
                .is_some_and(|(_, present)| !self.is_same(candidate, present, definition))
                || self.taken.get(candidate).is_some_and(|other_definition| other_definition != definition)
        };
        if valid_name == name || !is_taken(&valid_name) {
            return valid_name;
        }
        let mut numbered = (2..).map(|number| {
            let suffix = format!("-{number}");
            let end = valid_name.len().min(MAX_SERVER_NAME - suffix.len());
            format!("{}{suffix}", &valid_name[..end])
        });
        numbered.find(|candidate| !is_taken(candidate)).unwrap_or(valid_name.clone())
    }

    /// Returns whether a definition, without its secrets, is that of a known server.
    fn is_same(&self, name: &str, known: &ServerConfig, definition: &Map<String, Value>) -> bool {
        let mut definition = definition.clone();
        SecretVariables::default().extract(name, "", &mut definition);
        config::from_json(self.config, name, &definition, self.env).as_ref() == Ok(known)
    }
}

/// Returns the keys of `[servers.NAME]` that have a value.
pub(crate) fn set_keys<const N: usize>(keys: [(&str, Value); N]) -> Map<String, Value> {
    let is_set = |value: &Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(pairs) => !pairs.is_empty(),
        _ => true,
    };
    let set = keys.into_iter().filter(|(_, value)| is_set(value));
    set.map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Returns whether an entry starts this program, which must not connect to itself.
fn is_gatehouse(definition: &Map<String, Value>) -> bool {
    let command = definition.get("command").and_then(Value::as_str).map(Path::new);
    command.and_then(Path::file_stem).is_some_and(|stem| stem == "gatehouse")
}

/// Converts a name to a valid server name. Invalid characters become hyphens. `None` if nothing valid remains.
fn server_name(name: &str) -> Option<String> {
    if is_server_name(name) {
        return Some(name.to_owned());
    }
    let fitting = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let words: String = name.chars().map(fitting).collect();
    let words = words.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
    let mut valid_name = words.trim_matches(['_', '-']).to_owned();
    while valid_name.contains("__") {
        valid_name = valid_name.replace("__", "_");
    }
    valid_name.truncate(MAX_SERVER_NAME);
    let valid_name = valid_name.trim_end_matches(['_', '-']).to_owned();
    is_server_name(&valid_name).then_some(valid_name)
}
