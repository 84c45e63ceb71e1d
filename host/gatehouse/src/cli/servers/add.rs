//! `gatehouse servers add` and `remove`: change a block in `presets.toml`. With the built-in configuration, they change
//! the added servers in the data directory. `gatehouse servers search`: finds servers in an MCP registry.

use std::{collections::BTreeMap, sync::Arc};

use clap::{Args, ValueEnum};
use gatehouse_core::{effect_rule::EffectRule, names::quoted};
use gatehouse_wire::mcp_registry::{DEFAULT_MCP_REGISTRY, McpRegistry, RegistryEntry};
use serde_json::{Map, Value, json};

use super::{
    CommandError, CommandResult, GlobalArgs, OutputFormat, PlainError, confirm, list_new_servers,
    note_missing_variables, with_header,
};
use crate::{
    config::{Config, Env, added::FileServerStore, edit},
    import::{
        self,
        registry_entry::{self, EntryDefinition},
        set_keys,
    },
    out,
};

#[derive(Args)]
pub(in crate::cli) struct AddServerArgs {
    /// Name of the server
    name: String,
    /// URL of a server that is not a program
    #[arg(long, value_name = "URL", conflicts_with_all = ["command", "env", "cwd"])]
    url: Option<String>,
    /// Transport of the URL [default: http]
    #[arg(long, value_enum, requires = "url")]
    transport: Option<UrlTransport>,
    /// Header to send; write secrets as '${NAME}'
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = pair, requires = "url")]
    headers: Vec<(String, String)>,
    /// Variable for the program; write secrets as '${NAME}'
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    env: Vec<(String, String)>,
    /// Working directory of the program, relative to presets.toml
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// Tag of the server
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Declare what its tools may do: 'find_*,list_*=read-only'
    #[arg(long = "effect", value_name = "GLOB=EFFECT")]
    effects: Vec<EffectRule>,
    /// Maximum duration of a call, for example "60 s"
    #[arg(long, value_name = "TIME")]
    timeout: Option<String>,
    /// Name in an MCP registry, with a version [default: the latest, which is then pinned]
    #[arg(long, value_name = "NAME[@VERSION]", conflicts_with_all = ["url", "env", "cwd", "command"])]
    from: Option<String>,
    /// URL of the registry
    #[arg(long, value_name = "URL", default_value = DEFAULT_MCP_REGISTRY, requires = "from")]
    registry: String,
    /// Value that the server of the registry needs
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = pair, requires = "from")]
    values: Vec<(String, String)>,
    /// Connect to the address in the registry instead of running a package here
    #[arg(long, requires = "from")]
    remote: bool,
    /// Do not ask for confirmation
    #[arg(long, requires = "from")]
    yes: bool,
    /// Print JSON; with --from, it requires --yes
    #[arg(long)]
    json: bool,
    /// Program and its arguments
    #[arg(last = true, value_name = "COMMAND", required_unless_present_any = ["url", "from"])]
    command: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum UrlTransport {
    Http,
    Sse,
}

fn pair(text: &str) -> Result<(String, String), PlainError> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

pub(super) async fn add(mut arguments: AddServerArgs, global: &GlobalArgs, env: &Env) -> CommandResult {
    let located_config = global.locate_config(env)?;
    let config = global.config(env)?;
    let (name, json) = (arguments.name.clone(), arguments.json);
    let is_shown = arguments.from.is_some();
    let effects = std::mem::take(&mut arguments.effects);
    let EntryDefinition { mut definition, variables: needed } = match arguments.from.take() {
        Some(from) => from_registry(&from, &mut arguments).await?,
        None => EntryDefinition { definition: definition(arguments), variables: Vec::new() },
    };
    let mut secrets = import::SecretVariables::default();
    secrets.extract(&name, "the command line", &mut definition);
    crate::config::from_json(&config, &name, &definition, env).map_err(CommandError::usage)?;
    let file = if located_config.text.file.is_some() {
        let change =
            edit::add_servers(&located_config.text, &BTreeMap::from([(name.as_str(), &definition)]), env)?;
        change.write_trusted(&config)?;
        located_config.text.name()
    } else {
        let added = added_servers(config, env);
        if added.snapshot().servers.contains_key(&name) {
            return Err(CommandError::usage(format!("server '{name}' already exists")));
        }
        added.store(&name, &definition)?;
        added.file_name()
    };
    OutputFormat { json }.print(&json!({"name": name, "file": file, "definition": definition}), || {
        out::line(format!("added server '{name}' in {file}"));
        if !is_shown {
            out::line(edit::server_block(&name, &definition).trim_end());
        }
    });
    note_missing_variables(&secrets.into_variables());
    for (variable, about) in needed {
        let about = if about.is_empty() { String::new() } else { format!(": {about}") };
        out::note(format!("Run `gatehouse servers env set {variable}`{about}"));
    }
    list_new_servers(&[&name], &effects, global, env, OutputFormat { json }).await
}

/// Returns the definition of a server in a registry, once the user agrees to what it runs.
async fn from_registry(from: &str, arguments: &mut AddServerArgs) -> CommandResult<EntryDefinition> {
    let (server, version) =
        from.split_once('@').map_or((from, None), |(server, version)| (server, Some(version)));
    let registry = McpRegistry::new(&arguments.registry).map_err(CommandError::usage)?;
    let entry = registry.entry(server, version).await?;
    let quoted_name = quoted(&entry.name, 200);
    match entry.status.as_deref() {
        Some("deleted") => bail!("'{quoted_name}' was deleted from the registry"),
        Some("deprecated") => out::warn(format!("'{quoted_name}' is deprecated")),
        _ => {}
    }
    let values = std::mem::take(&mut arguments.values).into_iter().collect();
    let mut entry_definition = registry_entry::definition(&entry, arguments.remote, values, &arguments.name)
        .map_err(|reason| CommandError::failed(format!("cannot add '{quoted_name}': {reason}")))?;
    let tags = std::mem::take(&mut arguments.tags);
    entry_definition
        .definition
        .extend(set_keys([("tags", tags.into()), ("timeout", arguments.timeout.take().into())]));
    if !arguments.json {
        out::line(format!(
            "{quoted_name} {}: {}\n",
            quoted(&entry.version, 64),
            quoted(&entry.description, 300)
        ));
        out::line(edit::server_block(&arguments.name, &entry_definition.definition).trim_end());
    }
    let question = "\nAnybody can publish in a registry, and the server has your rights. Add it? [y/N] ";
    if confirm(arguments.yes, arguments.json, question).await? {
        return Ok(entry_definition);
    }
    Err(CommandError::usage("nothing was added; add --yes to add it"))
}

fn definition(arguments: AddServerArgs) -> Map<String, Value> {
    let pairs = |pairs: Vec<(String, String)>| -> Map<String, Value> {
        pairs.into_iter().map(|(name, value)| (name, value.into())).collect()
    };
    let mut command = arguments.command.into_iter();
    let sse = matches!(arguments.transport, Some(UrlTransport::Sse)).then_some("sse");
    set_keys([
        ("command", command.next().into()),
        ("args", command.collect::<Vec<_>>().into()),
        ("env", pairs(arguments.env).into()),
        ("cwd", arguments.cwd.into()),
        ("url", arguments.url.into()),
        ("headers", pairs(arguments.headers).into()),
        ("transport", sse.into()),
        ("tags", arguments.tags.into()),
        ("timeout", arguments.timeout.into()),
    ])
}

pub(super) fn remove(server: &str, global: &GlobalArgs, env: &Env, output: OutputFormat) -> CommandResult {
    let located_config = global.locate_config(env)?;
    let config = global.config(env)?;
    let file = if config.servers.declared.contains_key(server) {
        let change = edit::remove_server(&located_config.text, server, env)?;
        change.write_trusted(&config)?;
        located_config.text.name()
    } else {
        let declared_names: Vec<String> = config.servers.declared.keys().cloned().collect();
        let added = added_servers(config, env);
        if !added.forget(server)? {
            let now = added.snapshot();
            let server_names: Vec<&str> =
                declared_names.iter().chain(now.servers.keys()).map(String::as_str).collect();
            let suggestion = gatehouse_core::names::did_you_mean(server, server_names.iter().copied());
            return Err(CommandError::usage(format!("there is no server '{server}'.{suggestion}")));
        }
        added.file_name()
    };
    output.print(&json!({"name": server, "file": file, "removed": true}), || {
        out::line(format!("removed server '{server}' from {file}"));
    });
    Ok(())
}

fn added_servers(config: Config, env: &Env) -> FileServerStore {
    FileServerStore::new(Arc::new(config), env.clone())
}

const MAX_DESCRIPTION: usize = 100;

#[derive(Args)]
pub(in crate::cli) struct ServerSearchArgs {
    /// Part of the name of a server
    query: String,
    /// URL of the registry
    #[arg(long, value_name = "URL", default_value = DEFAULT_MCP_REGISTRY)]
    registry: String,
    /// Maximum number of servers
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
    #[command(flatten)]
    output: OutputFormat,
}

pub(super) async fn search(arguments: &ServerSearchArgs) -> CommandResult {
    let registry = McpRegistry::new(&arguments.registry).map_err(CommandError::usage)?;
    let entries = registry.search(&arguments.query, arguments.limit).await?;
    arguments.output.print(&entries.iter().map(to_json).collect::<Vec<_>>(), || {
        if entries.is_empty() {
            return out::line(format!("no server matches '{}'", quoted(&arguments.query, 100)));
        }
        let row = |entry: &RegistryEntry| {
            let about = quoted(&entry.description, MAX_DESCRIPTION);
            vec![quoted(&entry.name, 200), quoted(&entry.version, 32), kinds(entry).join(", "), about]
        };
        let header = ["NAME", "VERSION", "RUNS AS", "DESCRIPTION"];
        out::table(&with_header(header, entries.iter().map(row)));
        out::note(
            "Anybody can publish there. To add one: gatehouse servers add NAME --from NAME_IN_REGISTRY",
        );
    });
    Ok(())
}

/// Returns the ways to run a server, and its state if it is not active.
fn kinds(entry: &RegistryEntry) -> Vec<String> {
    let packages = entry.packages.iter().map(|package| quoted(&package.registry_type, 16));
    let remotes = entry.remotes.iter().map(|remote| quoted(&remote.kind, 16));
    let status = entry.status.iter().filter(|status| **status != "active").map(|status| quoted(status, 16));
    let mut kinds: Vec<String> = packages.chain(remotes).chain(status).collect();
    kinds.dedup();
    kinds
}

fn to_json(entry: &RegistryEntry) -> serde_json::Value {
    json!({
        "name": entry.name, "version": entry.version, "description": entry.description, "status": entry.status,
        "packages": entry.packages.iter().map(|package| &package.registry_type).collect::<Vec<_>>(),
        "remotes": entry.remotes.iter().map(|remote| &remote.url).collect::<Vec<_>>(),
    })
}
