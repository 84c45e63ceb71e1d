//! `gatehouse doctor`: checks the configuration and everything that it uses. Starts and contacts no MCP server.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use gatehouse_core::{
    Fault, names,
    ports::servers::{ServerDefinition, ServerTransport},
};
use gatehouse_models::config::ProviderName;
use gatehouse_sandbox::format_bytes;
use gatehouse_stores::{DataFile, StoreHealth};
use gatehouse_wire::downstream::WithheldVariable;
use serde_json::{Value, json};

use super::{CommandError, CommandResult, GlobalArgs, OutputFormat, PlainError};
use crate::{
    check::{CheckLine, CheckStatus},
    compose::Composition,
    config::{
        Config, Env, ServerConfig, ServersConfig,
        added::{AddedSnapshot, FileServerStore},
        env::VARIABLES,
        unused,
    },
    out::{self, TerminalColor},
};

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    output: OutputFormat,
}

pub(super) async fn run(
    arguments: &Arguments,
    verbose: bool,
    global: &GlobalArgs,
    env: &Env,
) -> CommandResult {
    let checks = match global.compose(env) {
        Ok(composition) => examine(&composition, env).await?,
        Err(error) => vec![CheckLine::failed("configuration", error.to_string())],
    };
    let report = |CheckLine { check, verdict, said }: &CheckLine| {
        let key = match verdict {
            CheckStatus::Warning => "warning",
            CheckStatus::Failed => "error",
            CheckStatus::Ok | CheckStatus::Skipped => "found",
        };
        json!({"check": check, "ok": *verdict != CheckStatus::Failed, key: said})
    };
    let reports: Vec<Value> = checks.iter().map(report).collect();
    arguments.output.print(&reports, || print(&checks, verbose.then_some(env)));
    match CheckLine::count_failed(&checks) {
        0 => Ok(()),
        failed => Err(CommandError::failed(format!("{failed} of {} checks failed", checks.len()))),
    }
}

/// Prints successful checks first, then warnings and failures, which stay visible at the end.
fn print(checks: &[CheckLine], environment: Option<&Env>) {
    if let Some(env) = environment {
        out::line("environment");
        let width = VARIABLES.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        for (name, meaning) in VARIABLES {
            let set = if env.is_set(name) { "set" } else { "-" };
            out::line(format!("  {name:<width$} {set:<4} {meaning}"));
        }
        out::line("");
    }
    let print = |status: CheckStatus, word: &str, color: TerminalColor| {
        for CheckLine { check, said, .. } in checks.iter().filter(|line| line.verdict == status) {
            out::verdict(word, color, &format!("{}{check}: {said}", " ".repeat(6 - word.len())));
        }
    };
    print(CheckStatus::Ok, "ok", TerminalColor::Green);
    if checks.iter().any(|line| line.verdict != CheckStatus::Ok) {
        out::line("");
    }
    print(CheckStatus::Warning, "warn", TerminalColor::Yellow);
    print(CheckStatus::Failed, "FAIL", TerminalColor::Red);
}

async fn examine(composition: &Composition, env: &Env) -> CommandResult<Vec<CheckLine>> {
    let config = &composition.config;
    let file = config.file.as_ref().map_or_else(|| "built in".into(), |file| file.display().to_string());
    let mut checks = vec![
        CheckLine::ok("configuration", file),
        CheckLine::from_result("data directory", writable(&config.state)),
    ];
    if let Some(ignored) = &config.choice.ignored {
        checks.push(CheckLine::warning("configuration", ignored.to_string()));
    }
    for name in composition.gates.names() {
        let result = composition.gates.get(&name).await.map(|gate| format!("sha256 {}", gate.info().digest));
        checks.push(CheckLine::from_result(format!("gate {name}"), result));
    }
    let gate_problems =
        composition.gates.misnamed().into_iter().chain(composition.gates.blocks_without_gate());
    checks.extend(gate_problems.map(|why| CheckLine::warning("gates", why)));
    checks.extend(missing_folders(config));
    checks.extend(missing_variables(config));
    let added = FileServerStore::new(Arc::clone(config), env.clone()).snapshot();
    checks.extend(check_servers(&config.servers, &added));
    let catalogs = composition.catalogs().await;
    if catalogs.is_empty() {
        let why = "the configuration has no preset, so nothing can be served; write a block [presets.NAME]";
        checks.push(CheckLine::failed("presets", why));
    }
    let chosen = config.select(None, env);
    checks.push(CheckLine::from_result("chosen preset", chosen.map(|compiled| compiled.preset)));
    checks.extend(config.unnamed_default().map(|why| CheckLine::warning("chosen preset", why)));
    let mut warnings = composition.preset_warnings(&catalogs).await;
    for (name, catalog) in catalogs {
        let result = catalog.map(|catalog| format!("{} tools", catalog.entries().len()));
        checks.push(CheckLine::from_result(format!("preset {name}"), result));
        let warnings = warnings.remove(name).unwrap_or_default();
        checks.extend(warnings.into_iter().map(|why| CheckLine::warning(format!("preset {name}"), why)));
    }
    checks.extend(composition.unmet_grants().await.into_iter().map(|lack| CheckLine::warning("gates", lack)));
    checks.extend(keyless(config, env));
    checks.extend(unused(config, env).into_iter().map(|why| CheckLine::warning("environment", why)));
    let stores = &composition.stores;
    checks.extend(store(
        "knowledge",
        "; until then, search uses only words",
        stores.knowledge.health().await,
        |store| format!("{} pages in", store.items),
    ));
    checks.extend(store("documents", "", stores.documents.health().await, |store| {
        format!("{} documents of {} repositories in", store.items, store.repositories)
    }));
    checks.extend(store("artifacts", "", stores.artifacts.health().await, |store| {
        format!("{} artifacts, {}, in", store.items, format_bytes(store.bytes))
    }));
    checks.extend(databases(&config.state).await);
    Ok(checks)
}

/// Checks a store. `without_vectors` is the consequence if it cannot search by meaning.
fn store(
    name: &str,
    without_vectors: &str,
    health: Result<StoreHealth, Fault>,
    contents: impl FnOnce(&StoreHealth) -> String,
) -> Vec<CheckLine> {
    let mut checks = Vec::new();
    if let Ok(health) = &health {
        let failing = health.embedding.as_ref().and_then(|embedding| embedding.failing.as_ref());
        checks.extend(
            failing.map(|why| {
                CheckLine::warning(format!("{name} by meaning"), format!("{why}{without_vectors}"))
            }),
        );
        // Other stores report theirs in the results of searches.
        let notes = health.notes.iter().filter(|_| name == "documents");
        checks.extend(notes.map(|note| CheckLine::warning(name, note)));
    }
    let found = health.map(|health| format!("{}: {} {}", health.engine, contents(&health), health.address));
    checks.push(CheckLine::from_result(name, found));
    checks
}

async fn databases(state: &Path) -> Vec<CheckLine> {
    let state = state.to_owned();
    let one = |(file, result): (DataFile, Result<i64, Fault>)| {
        let result = result.map(|schema| format!("intact, schema {schema}"));
        CheckLine::from_result(format!("database {}", file.file()), result)
    };
    match tokio::task::spawn_blocking(move || gatehouse_stores::check_all(&state)).await {
        Ok(checked) => checked.into_iter().map(one).collect(),
        Err(error) => vec![CheckLine::failed("databases", format!("the check ended early: {error}"))],
    }
}

fn keyless(config: &Config, env: &Env) -> Vec<CheckLine> {
    let is_keyless =
        |name: &ProviderName| config.models.settings(*name).keyless && env.is_set(name.variable());
    let check = |name: ProviderName| {
        let variable = name.variable();
        let why = format!(
            "no key is sent, because the file has base_url but no api_key; to send {variable}, write api_key = \
            \"${{{variable}}}\""
        );
        CheckLine::warning(format!("[models.{}]", name.id()), why)
    };
    ProviderName::ALL.into_iter().filter(is_keyless).map(check).collect()
}

/// Finds headers that use an unset variable. Requests with such a header fail.
fn missing_variables(config: &Config) -> Vec<CheckLine> {
    let mut checks = Vec::new();
    for rules in config.gates.values().filter_map(|gate| gate.settings.http.as_ref()) {
        let gate = format!("gate {}", rules.gate());
        checks.extend(rules.problems().into_iter().map(|why| CheckLine::warning(&gate, why)));
    }
    checks
}

fn missing_folders(config: &Config) -> Vec<CheckLine> {
    let mut checks = Vec::new();
    for (gate, given) in &config.gates {
        let folders = given.settings.folders.iter();
        checks.extend(folders.filter(|folder| !folder.private && !folder.host.is_dir()).map(|folder| {
            let host = folder.host.display();
            let why = format!("{host} is not a directory; calls of the gate fail until it exists");
            CheckLine::warning(format!("gate {gate}, folder {}", folder.guest), why)
        }));
    }
    checks
}

/// Returns whether the directory can be written, or the nearest existing ancestor, without changing either.
fn writable(folder: &Path) -> Result<String, PlainError> {
    let existing = folder.ancestors().find(|path| path.exists()).unwrap_or(folder);
    let shown = folder.display().to_string();
    match tempfile::NamedTempFile::new_in(existing) {
        Ok(_) if existing == folder => Ok(shown),
        Ok(_) => Ok(format!("{shown} (created on first use)")),
        Err(error) => Err(format!("{shown} cannot be written: {error}").into()),
    }
}

fn check_servers(servers: &ServersConfig, added: &AddedSnapshot) -> Vec<CheckLine> {
    let all = servers.declared.iter().chain(&added.servers).filter(|(_, server)| server.enabled);
    let mut checks: Vec<CheckLine> =
        all.clone().flat_map(|(name, server)| check_server(name, server)).collect();
    checks.extend(withheld_variables(&all.map(|(_, server)| &server.definition).collect::<Vec<_>>()));
    checks.extend(added.problems.iter().map(|why| CheckLine::warning("servers", why.clone())));
    checks
}

fn check_server(name: &str, server: &ServerConfig) -> Vec<CheckLine> {
    let (what, definition) = (format!("server {name}"), &server.definition);
    let mut checks = vec![match find_program(definition) {
        Ok(found) => CheckLine::ok(&what, found),
        Err(why) => CheckLine::warning(&what, why),
    }];
    if !definition.missing.is_empty() {
        let missing = definition.missing.join(", ");
        let why = format!(
            "it needs the environment variable {missing}, which is not set; set it to connect the server"
        );
        checks.push(CheckLine::warning(&what, why));
    }
    checks.extend(server.literals.iter().map(|name| {
        let why = format!("the file contains the value of {name}; write \"${{NAME}}\" and set the variable");
        CheckLine::warning(&what, why)
    }));
    checks
}

fn withheld_variables(servers: &[&ServerDefinition]) -> Vec<CheckLine> {
    let lacks = |server: &ServerDefinition, variable: &str| match &server.transport {
        ServerTransport::Stdio { env, .. } => env.iter().all(|(name, _)| name != variable),
        ServerTransport::Http { .. } | ServerTransport::Sse { .. } => false,
    };
    let check = |WithheldVariable { name, reason }| {
        let lacking: Vec<&str> =
            servers.iter().filter(|server| lacks(server, &name)).map(|server| &*server.name).collect();
        let (name, lacking) = (names::quoted(&name, 64), lacking.join(", "));
        (!lacking.is_empty()).then(|| {
            let why = format!(
                "{name} is set, but not passed on to {lacking}: {reason}; to pass it to a server, add it to `env` of \
                that server"
            );
            CheckLine::warning("servers", why)
        })
    };
    Env::inherited().withheld.into_iter().filter_map(check).collect()
}

/// Returns the program or the address of a server, or an error if the program is missing.
fn find_program(definition: &ServerDefinition) -> Result<String, PlainError> {
    let ServerTransport::Stdio { command, cwd, .. } = &definition.transport else {
        return Ok(format!("{}, not contacted", definition.transport.as_str()));
    };
    if let Some(cwd) = cwd.as_ref().filter(|cwd| !cwd.is_dir()) {
        bail!("its working directory {} does not exist", cwd.display());
    }
    match program(command) {
        Some(program) => Ok(format!("{}, not started", program.display())),
        None => Err(format!("program '{command}' not found; install it, or write its full path").into()),
    }
}

fn program(command: &str) -> Option<PathBuf> {
    if command.contains(['/', '\\']) {
        return Some(PathBuf::from(command)).filter(|file| file.is_file());
    }
    let named = |folder: PathBuf| {
        [command.to_owned(), format!("{command}.exe"), format!("{command}.cmd")].map(|name| folder.join(name))
    };
    Env::program_folders().into_iter().flat_map(named).find(|file| file.is_file())
}
