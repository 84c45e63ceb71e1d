//! Servers out of the files of other clients, as they would stand in presets.toml. Secrets that stand there in clear become
//! names of variables; what cannot be taken is named with the reason, and nothing is guessed.

mod client;
mod entry;
mod jsonc;
mod secrets;
#[cfg(test)]
mod tests;
mod variables;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

pub(crate) use client::ImportClient;
pub(crate) use secrets::SecretVariables;

use crate::config::{
    self, Config, Env, ServerConfig,
    servers::{MAX_SERVER_NAME, is_server_name},
};

/// What files of clients hold.
#[derive(Debug, Default)]
pub(crate) struct ImportOutcome {
    /// Servers that can be taken, in the order of the files.
    pub(crate) servers: Vec<ImportedServer>,
    /// What cannot be taken: the file, the name there, and the reason.
    pub(crate) left_out: Vec<(PathBuf, String, String)>,
    /// Variables to be set, each with where its value stands now.
    pub(crate) variables: Vec<(String, String)>,
    /// Directories of other projects that have servers in a file: the file, the directory, and the number of servers.
    pub(crate) elsewhere: Vec<(PathBuf, PathBuf, usize)>,
}

/// A server as it would stand in presets.toml.
#[derive(Debug)]
pub(crate) struct ImportedServer {
    /// Its name here.
    pub(crate) name: String,
    /// The keys of `[servers.NAME]`, in the order in which they are written.
    pub(crate) definition: Map<String, Value>,
    /// The file it comes from.
    pub(crate) file: PathBuf,
    /// What became different on the way, a sentence each.
    pub(crate) notes: Vec<String>,
}

/// The environment of a client's file.
pub(crate) struct ImportContext<'a> {
    /// The file.
    pub(crate) file: &'a Path,
    /// The home folder of whoever runs this.
    pub(crate) home: Option<&'a Path>,
    /// Directories of the project for which servers are imported: the working directory, and those above it up to the
    /// top of its repository, the nearest first.
    pub(crate) project: &'a [PathBuf],
}

impl ImportContext<'_> {
    /// The folder that clients call the workspace: the one that holds `.vscode` or `.cursor`, else the file's own.
    fn workspace(&self) -> &Path {
        let folder = self.file.parent().unwrap_or(Path::new("/"));
        let hidden = [".vscode", ".cursor", ".roo"];
        let hidden = folder.file_name().is_some_and(|name| hidden.iter().any(|hidden| name == *hidden));
        if hidden { folder.parent().unwrap_or(folder) } else { folder }
    }
}

/// Collects servers of several files.
pub(crate) struct ServerImporter<'a> {
    config: &'a Config,
    env: &'a Env,
    /// Servers that are there already, with what has them.
    present: BTreeMap<String, (String, ServerConfig)>,
    /// What was taken, as the clients' files have it.
    taken: BTreeMap<String, Map<String, Value>>,
    imported: ImportOutcome,
    secrets: SecretVariables,
}

impl<'a> ServerImporter<'a> {
    /// Servers that this configuration declares, or that were added, stay as they are.
    pub(crate) fn new(config: &'a Config, added: &BTreeMap<String, ServerConfig>, env: &'a Env) -> Self {
        let declared = config.servers.declared.iter().map(|server| (server, "presets.toml has"));
        let present = added.iter().map(|server| (server, "`servers add` added")).chain(declared);
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

    /// Takes what a file holds; the error says why it is not the file of a client.
    pub(crate) fn import_file(
        &mut self,
        client: ImportClient,
        place: &ImportContext<'_>,
        text: &str,
    ) -> Result<(), String> {
        let entries = client.entries(text, place.project)?;
        let elsewhere = entries.elsewhere.into_iter();
        let file = || place.file.to_path_buf();
        self.imported.elsewhere.extend(elsewhere.map(|(directory, servers)| (file(), directory, servers)));
        for (name, entry) in entries.servers {
            if let Err(why) = self.import_server(client, place, &name, &entry) {
                self.imported.left_out.push((place.file.to_path_buf(), name, why));
            }
        }
        Ok(())
    }

    /// All that was taken.
    pub(crate) fn finish(self) -> ImportOutcome {
        ImportOutcome { variables: self.secrets.into_variables(), ..self.imported }
    }

    fn import_server(
        &mut self,
        client: ImportClient,
        place: &ImportContext<'_>,
        name: &str,
        entry: &Value,
    ) -> Result<(), String> {
        let mut notes = Vec::new();
        let ours = server_name(name).ok_or("its name has nothing that a name here could have")?;
        if ours != name {
            notes.push(format!("it is called '{name}' there"));
        }
        let mut definition = entry::definition(client, place, entry, &mut notes)?;
        if is_gatehouse(&definition) {
            return Err("it is Gatehouse itself".into());
        }
        if let Some(twin) = self.imported.servers.iter().find(|server| server.name == ours) {
            let same = if self.taken.get(&ours) == Some(&definition) { "the same" } else { "another" };
            return Err(format!("{same} '{ours}' comes from {}", twin.file.display()));
        }
        let described = format!("server '{name}' of {}", place.file.display());
        if let Some((by, present)) = self.present.get(&ours) {
            SecretVariables::default().take_out(&ours, &described, &mut definition);
            let checked = config::from_json(self.config, &ours, &definition, self.env);
            let same = if checked.as_ref() == Ok(present) { "the same" } else { "another" };
            return Err(format!("{by} {same} '{ours}' already"));
        }
        self.taken.insert(ours.clone(), definition.clone());
        self.secrets.take_out(&ours, &described, &mut definition);
        config::from_json(self.config, &ours, &definition, self.env)?;
        let file = place.file.to_path_buf();
        self.imported.servers.push(ImportedServer { name: ours, definition, file, notes });
        Ok(())
    }
}

/// Whether a client's entry starts this program: through itself nothing is to be had.
fn is_gatehouse(definition: &Map<String, Value>) -> bool {
    let command = definition.get("command").and_then(Value::as_str).map(Path::new);
    command.and_then(Path::file_stem).is_some_and(|stem| stem == "gatehouse")
}

/// The name of a server here: what no name may have gives way to a hyphen.
fn server_name(name: &str) -> Option<String> {
    if is_server_name(name) {
        return Some(name.to_owned());
    }
    let fitting = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let words: String = name.chars().map(fitting).collect();
    let words = words.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
    let mut ours = words.trim_matches(['_', '-']).to_owned();
    while ours.contains("__") {
        ours = ours.replace("__", "_");
    }
    ours.truncate(MAX_SERVER_NAME);
    let ours = ours.trim_end_matches(['_', '-']).to_owned();
    is_server_name(&ours).then_some(ours)
}
