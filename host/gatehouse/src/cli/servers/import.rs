//! `gatehouse servers import`: imports servers from the files of other clients.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::{Args, ValueEnum as _};
use serde_json::{Value, json};

use super::{
    CommandError, CommandResult, GlobalArgs, OutputFormat, list_new_servers, note_missing_variables,
};
use crate::{
    config::{Env, added::FileServerStore, edit, environment_file, locate},
    import::{ImportClient, ImportContext as Source, ImportOutcome, ServerImporter},
    out,
};

const MAX_PROJECTS: usize = 10;

#[derive(Args)]
pub(in crate::cli) struct Arguments {
    /// Files of clients [default: those in the home directory]
    files: Vec<PathBuf>,
    /// Client whose files are read, also in this directory, or the format of the named files [default: all, by name]
    #[arg(long, value_enum)]
    from: Option<ImportClient>,
    /// Write the servers into presets.toml; with the built-in configuration, into the data directory like `servers add`
    #[arg(long)]
    write: bool,
    /// Also write the secrets of the files into the file `environment` of the configuration directory
    #[arg(long, requires = "write")]
    with_secrets: bool,
    #[command(flatten)]
    output: OutputFormat,
}

pub(super) async fn run(arguments: &Arguments, global: &GlobalArgs, env: &Env) -> CommandResult {
    let located_config = global.locate_config(env)?;
    let config = Arc::new(global.config(env)?);
    let added = FileServerStore::new(Arc::clone(&config), env.clone());
    let files = files(arguments)?;
    let present = added.snapshot();
    present.problems.iter().for_each(out::error);
    let mut import = ServerImporter::new(&config, &present.servers, env);
    let (home, project) = (locate::home(), locate::project());
    for (client, file) in &files {
        let display_path = file.display();
        let text = locate::read_bounded(file)
            .map_err(|error| CommandError::failed(format!("{display_path} cannot be read: {error}")))?;
        let text = String::from_utf8(text)
            .map_err(|_| CommandError::failed(format!("{display_path} is not text")))?;
        let source = Source { file, home: home.as_deref(), project: &project };
        import
            .import_file(*client, &source, &text)
            .map_err(|reason| CommandError::failed(format!("{display_path} {reason}")))?;
    }
    let mut imported = import.finish();
    if arguments.write && !imported.servers.is_empty() {
        let servers: BTreeMap<&str, _> =
            imported.servers.iter().map(|server| (server.name.as_str(), &server.definition)).collect();
        match located_config.text.file {
            Some(_) => edit::add_servers(&located_config.text, &servers, env)?.write_trusted(&config)?,
            None => added.store_all(&servers)?,
        }
    }
    if arguments.with_secrets && !imported.secrets.is_empty() {
        // A variable that is set may belong to another server.
        imported.secrets.retain(|name, _| env.secret(name).is_none());
        let values = imported.secrets.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned()));
        let file = environment_file::write(&values.collect())?;
        imported.variables.retain(|(name, _)| !imported.secrets.contains_key(name));
        out::note(format!("wrote {} secrets into {}", imported.secrets.len(), file.display()));
    }
    let target = || {
        located_config.text.file.as_ref().map_or_else(|| added.file_name(), |file| file.display().to_string())
    };
    let written = arguments.write.then(target);
    let report = to_json(&imported, written.as_deref());
    arguments.output.print(&report, || print_imported(&imported, &files, written.as_deref()));
    if arguments.write {
        let names: Vec<&str> = imported.servers.iter().map(|server| server.name.as_str()).collect();
        list_new_servers(&names, &[], global, &Env::read()?, arguments.output).await?;
    }
    Ok(())
}

/// Returns the files to read with their clients. Files in the working directory are read only if the user names them or
/// their client.
fn files(arguments: &Arguments) -> CommandResult<Vec<(ImportClient, PathBuf)>> {
    let absolute = |file: &Path| std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
    if !arguments.files.is_empty() {
        let files = arguments.files.iter().map(|file| absolute(file));
        let with_client = |file: PathBuf| (arguments.from.unwrap_or(ImportClient::from_file(&file)), file);
        return Ok(files.map(with_client).collect());
    }
    let clients = arguments.from.map_or(ImportClient::value_variants().to_vec(), |client| vec![client]);
    let mut files = Vec::new();
    for client in clients {
        let local = client.in_project().map(|name| absolute(Path::new(name)));
        match (local.filter(|file| file.is_file()), arguments.from) {
            (Some(local), Some(_)) => files.push((client, local)),
            (Some(local), None) => {
                out::note(format!("{} is skipped; name it to import it", local.display()));
            }
            (None, _) => {}
        }
        let home = locate::home().map(|home| client.in_home(&home)).unwrap_or_default();
        files.extend(home.into_iter().filter(|file| file.is_file()).map(|file| (client, file)));
    }
    if files.is_empty() {
        return Err(CommandError::failed("no client configuration found; name a file"));
    }
    Ok(files)
}

fn to_json(imported: &ImportOutcome, written: Option<&str>) -> Value {
    let ImportOutcome { servers, left_out, variables, elsewhere, secrets: _ } = imported;
    let path = |path: &PathBuf| path.display().to_string();
    let left_out = left_out
        .iter()
        .map(|(file, name, reason)| json!({"file": path(file), "name": name, "reason": reason}));
    let elsewhere = elsewhere
        .iter()
        .map(|(file, directory, servers)| json!({"file": path(file), "directory": path(directory), "servers": servers}));
    let variables = variables.iter().map(|(name, stands)| json!({"name": name, "value_is": stands}));
    json!({
        "servers": servers,
        "left_out": left_out.collect::<Value>(),
        "variables": variables.collect::<Value>(),
        "other_projects": elsewhere.collect::<Value>(),
        "written": written,
    })
}

/// Prints blocks to standard output, and notes to standard error.
fn print_imported(imported: &ImportOutcome, files: &[(ImportClient, PathBuf)], written: Option<&str>) {
    for server in &imported.servers {
        match &written {
            Some(file) => out::line(format!("wrote server '{}' into {file}", server.name)),
            None => out::line(edit::server_block(&server.name, &server.definition)),
        }
        server.notes.iter().for_each(|note| out::note(format!("{}: {note}", server.name)));
    }
    for (file, name, reason) in &imported.left_out {
        out::note(format!("'{name}' of {} is left out: {reason}", file.display()));
    }
    for (file, projects) in other_projects(imported) {
        let file = file.display();
        out::note(format!(
            "{file} has servers of other projects: {projects}. To import them, run this command in that directory."
        ));
    }
    note_missing_variables(&imported.variables);
    if imported.servers.is_empty() {
        let files: Vec<String> = files.iter().map(|(_, file)| file.display().to_string()).collect();
        out::note(format!("Nothing to import in {}.", files.join(", ")));
    }
}

fn other_projects(imported: &ImportOutcome) -> BTreeMap<&Path, String> {
    let mut by_file: BTreeMap<&Path, Vec<String>> = BTreeMap::new();
    for (file, directory, servers) in &imported.elsewhere {
        by_file.entry(file).or_default().push(format!("{} ({servers})", directory.display()));
    }
    let project_list = |projects: Vec<String>| match projects.len().checked_sub(MAX_PROJECTS) {
        None | Some(0) => projects.join(", "),
        Some(more) => format!("{} and {more} more", projects[..MAX_PROJECTS].join(", ")),
    };
    by_file.into_iter().map(|(file, projects)| (file, project_list(projects))).collect()
}
