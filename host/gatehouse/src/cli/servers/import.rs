//! `gatehouse servers import`

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::{Value, json};

use super::{Failure, Place, say_what_to_set, write};
use crate::{
    config::{Env, edit, locate},
    import::{Client, Import, Imported, Place as Source},
    out,
};

#[derive(Args)]
pub(in crate::cli) struct Arguments {
    /// Files of clients [default: those in the home folder]
    files: Vec<PathBuf>,
    /// The client whose files are read, in this folder too, or whose kind the named files are [default: all, by name]
    #[arg(long, value_enum)]
    from: Option<Client>,
    /// Write the servers into presets.toml
    #[arg(long)]
    write: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, place: &Place, env: &Env) -> Result<(), Failure> {
    let found = place.found(env)?;
    let config = place.config(env)?;
    if arguments.write && found.text.file.is_none() {
        return Err(Failure::Usage(
            "there is no presets.toml to write into; without --write the blocks are printed, so that one can be made of them".into(),
        ));
    }
    let files = files(arguments)?;
    let mut import = Import::new(&config, env);
    let home = locate::home();
    for (client, file) in &files {
        let shown = file.display();
        let text = locate::bounded(file)
            .map_err(|error| Failure::Failed(format!("{shown} cannot be read: {error}")))?;
        let text = String::from_utf8(text).map_err(|_| Failure::Failed(format!("{shown} is not text")))?;
        let source = Source { file, home: home.as_deref() };
        import.take(*client, &source, &text).map_err(|why| Failure::Failed(format!("{shown} {why}")))?;
    }
    let imported = import.done();
    if arguments.write && !imported.servers.is_empty() {
        let servers: BTreeMap<&str, _> =
            imported.servers.iter().map(|server| (server.name.as_str(), &server.definition)).collect();
        let change = edit::add_servers(&found.text, &servers, env)?;
        write(&config, &found.text, change)?;
    }
    let written = arguments.write.then(|| found.text.name());
    if arguments.json {
        out::json(&told(&imported, written))
    } else {
        tell(&imported, &files, written)
    }
    Ok(())
}

/// The files to read, each with whose it is. What lies in the working folder is read only where somebody names it.
fn files(arguments: &Arguments) -> Result<Vec<(Client, PathBuf)>, Failure> {
    let absolute = |file: &Path| std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
    if !arguments.files.is_empty() {
        let files = arguments.files.iter().map(|file| absolute(file));
        return Ok(files.map(|file| (arguments.from.unwrap_or(Client::of_file(&file)), file)).collect());
    }
    let clients = arguments.from.map_or(Client::ALL.to_vec(), |client| vec![client]);
    let mut files = Vec::new();
    for client in clients {
        if let Some(local) =
            client.in_project().map(|name| absolute(Path::new(name))).filter(|file| file.is_file())
        {
            match arguments.from {
                Some(_) => files.push((client, local)),
                None => out::note(format!("{} is not read: to import it, name it", local.display())),
            }
        }
        let home = locate::home().map(|home| client.in_home(&home)).unwrap_or_default();
        files.extend(home.into_iter().filter(|file| file.is_file()).map(|file| (client, file)));
    }
    if files.is_empty() {
        return Err(Failure::Failed("no file of a client was found; name one".into()));
    }
    Ok(files)
}

fn told(imported: &Imported, written: Option<String>) -> Value {
    let servers = imported.servers.iter().map(|server| {
        json!({"name": server.name, "definition": server.definition, "file": server.file, "notes": server.notes})
    });
    let left_out =
        imported.left_out.iter().map(|(file, name, why)| json!({"file": file, "name": name, "why": why}));
    let variables = imported.variables.iter().map(|(name, stands)| json!({"name": name, "value_is": stands}));
    json!({
        "servers": servers.collect::<Vec<_>>(),
        "left_out": left_out.collect::<Vec<_>>(),
        "variables": variables.collect::<Vec<_>>(),
        "written": written,
    })
}

/// Blocks on standard output, all else on standard error.
fn tell(imported: &Imported, files: &[(Client, PathBuf)], written: Option<String>) {
    for server in &imported.servers {
        match &written {
            Some(file) => out::line(format!("wrote server '{}' into {file}", server.name)),
            None => out::line(edit::server_block(&server.name, &server.definition)),
        }
        server.notes.iter().for_each(|note| out::note(format!("{}: {note}", server.name)));
    }
    for (file, name, why) in &imported.left_out {
        out::note(format!("'{name}' of {} is left out: {why}", file.display()));
    }
    say_what_to_set(&imported.variables);
    if imported.servers.is_empty() {
        let files: Vec<String> = files.iter().map(|(_, file)| file.display().to_string()).collect();
        out::note(format!("Nothing to import in {}.", files.join(", ")));
    }
}
