//! `gatehouse scripts`: manages the scripts that callers of a preset saved. It uses the gate's own tools, so it can do
//! no more than those callers.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::{Args, Subcommand};
use gatehouse_core::{Call, CallContext, Caller, Catalog, Reply, hidden_chars::is_hidden};
use serde_json::{Value, json};

use super::{CommandError, CommandResult, GlobalArgs, call, write_file};
use crate::{
    compose::{AnonymousCallers, Composition},
    config::Env,
    out,
};

#[derive(Subcommand)]
pub(super) enum Command {
    /// List saved scripts with their versions, runs and missing tools
    List {
        #[command(flatten)]
        owner: ScriptOwnerArgs,
    },
    /// Print a script in the format of `export`
    Show {
        /// Name of the script
        name: String,
        #[command(flatten)]
        owner: ScriptOwnerArgs,
    },
    /// Run a script, as its caller would
    Run {
        /// Name of the script
        name: String,
        /// Input, a JSON object; - reads standard input
        #[arg(default_value = "{}", value_name = "JSON")]
        input: String,
        /// Older version to run
        #[arg(long)]
        version: Option<u32>,
        #[command(flatten)]
        owner: ScriptOwnerArgs,
    },
    /// Remove a script with all its versions
    Remove {
        /// Name of the script
        name: String,
        #[command(flatten)]
        owner: ScriptOwnerArgs,
    },
    /// Write a script into a file, which a preset can turn into a tool
    Export {
        /// Name of the script
        name: String,
        /// Directory, preferably next to presets.toml
        #[arg(long, value_name = "DIR", default_value = "scripts")]
        to: PathBuf,
        /// Overwrite a file with other content
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        owner: ScriptOwnerArgs,
    },
}

/// Selects the owner of the scripts.
#[derive(Args)]
pub(super) struct ScriptOwnerArgs {
    /// Preset of the scripts [default: the one that `serve` would choose]
    #[arg(long)]
    preset: Option<String>,
    /// Owner of the scripts: the name of a credential [default: clients over stdio and on this machine]
    #[arg(long, value_name = "NAME")]
    caller: Option<String>,
}

pub(super) async fn run(command: Command, global: &GlobalArgs, env: &Env) -> CommandResult {
    let open = async |owner: &ScriptOwnerArgs| ScriptStore::open(owner, global, env).await;
    match command {
        Command::List { owner } => {
            out::line(open(&owner).await?.text("list_scripts", json!({})).await?);
        }
        Command::Show { name, owner } => out::line(open(&owner).await?.file(&name).await?.trim_end()),
        Command::Run { name, input, version, owner } => {
            let mut arguments = json!({"name": name, "args": call::arguments(&input)?});
            if let Some(version) = version {
                arguments["version"] = version.into();
            }
            out::line(open(&owner).await?.text("run_script", arguments).await?);
        }
        Command::Remove { name, owner } => {
            out::line(open(&owner).await?.text("remove_script", json!({"name": name})).await?);
        }
        Command::Export { name, to, force, owner } => {
            let text = open(&owner).await?.file(&name).await?;
            check_visible(&name, &text)?;
            let file = to.join(format!("{name}.ts"));
            export(&file, &text, force)?;
            let folder = to.file_name().map_or_else(|| ".".into(), |folder| folder.to_string_lossy());
            out::line(format!(
                "wrote {}; to make it a tool of a preset, add:\n\
                gates.script = {{ scripts = [{{ \"$file\" = \"{folder}/{name}.ts\" }}] }}",
                file.display()
            ));
        }
    }
    Ok(())
}

struct ScriptStore {
    composition: Composition,
    catalog: Arc<Catalog>,
    caller: Arc<Caller>,
}

impl ScriptStore {
    async fn open(owner: &ScriptOwnerArgs, global: &GlobalArgs, env: &Env) -> CommandResult<Self> {
        let composition = global.compose(env)?;
        let compiled = composition.config.select(owner.preset.as_deref(), env)?;
        let catalog = Arc::new(composition.catalog(&compiled).await?);
        let caller = owner.caller.as_deref().map_or_else(Caller::local, Caller::named);
        Ok(Self { composition, catalog, caller })
    }

    /// Calls one of the gate's tools by its declared name, and returns the text of the reply.
    async fn text(&self, tool: &str, arguments: Value) -> CommandResult<String> {
        let is_it = |id: &gatehouse_core::ToolId| &**id.source.name() == "script" && *id.name == *tool;
        let entry = self.catalog.entries().iter().find(|entry| is_it(&entry.id)).ok_or_else(|| {
            let preset = &self.catalog.preset;
            CommandError::usage(format!(
                "preset '{preset}' stores no scripts; give it gates.script = {{ store = true }}, and the gate the \
                grant kv, or name another with --preset"
            ))
        })?;
        let pipeline = Arc::new(self.composition.stages(&AnonymousCallers::Commands, Arc::default()));
        let mut context = CallContext::new(&pipeline, Arc::clone(&self.catalog), entry.name.to_string());
        context.caller = Arc::clone(&self.caller);
        let Reply { content, is_error, .. } = Call::new(context, arguments).run().await?;
        let text = content.iter().filter_map(call::text_of).collect::<Vec<_>>().join("\n");
        if is_error { Err(CommandError::failed(text)) } else { Ok(text) }
    }

    async fn file(&self, name: &str) -> CommandResult<String> {
        let list = self.text("list_scripts", json!({"name": name})).await?;
        let block = list.split_once("\n```ts\n").and_then(|(_, block)| block.strip_suffix("```"));
        let shortened = || {
            format!("a filter of the preset shortens script '{name}'; remove list_scripts from the filter")
        };
        block.map(str::to_owned).ok_or_else(shortened).map_err(CommandError::failed)
    }
}

/// Checks that the file has no hidden characters: users review it before they turn it into a tool.
fn check_visible(name: &str, text: &str) -> CommandResult {
    let hidden = |c: char| is_hidden(c) || (c.is_control() && !matches!(c, '\n' | '\t' | '\r'));
    for (at, line) in text.lines().enumerate() {
        if let Some(c) = line.chars().find(|c| hidden(*c)) {
            let (number, code) = (at + 1, u32::from(c));
            bail!(
                "script '{name}' has U+{code:04X} at line {number} of its file, which is invisible; save it again \
                without it, or with the escape \\u{{{code:x}}} in a string"
            );
        }
    }
    Ok(())
}

fn export(file: &Path, text: &str, force: bool) -> CommandResult {
    match fs::read(file) {
        Ok(there) if there != text.as_bytes() && !force => {
            let reason = format!("{} has other content; --force overwrites it", file.display());
            Err(CommandError::usage(reason))
        }
        _ => write_file(file, text),
    }
}
