//! `gatehouse doctor`: checks the configuration and everything that it uses. Starts and contacts no MCP server.

mod servers;

use std::{path::Path, sync::Arc};

use clap::Args;
use gatehouse_core::Fault;
use gatehouse_models::config::ProviderName;
use gatehouse_sandbox::format_bytes;
use gatehouse_stores::{DataFile, StoreHealth};
use serde_json::{Value, json};

use super::{CommandError, CommandResult, GlobalArgs, OutputFormat, PlainError};
use crate::{
    check::{CheckLine, CheckStatus},
    compose::Composition,
    config::{Config, Env, added::FileServerStore, env::VARIABLES, unused},
    out::{self, TerminalColor},
    presence,
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
    let checks = match global.compose_without_servers(env) {
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
    let hosts = presence::running(&config.state);
    let host_warnings = hosts.iter().filter_map(|host| host.other_config(config));
    checks.extend(host_warnings.map(|warning| CheckLine::warning("hosts", warning)));
    if let Some(ignored) = &config.choice.ignored {
        checks.push(CheckLine::warning("configuration", ignored.to_string()));
    }
    for name in composition.gates.names() {
        let result = composition.gates.get(&name).await.map(|gate| format!("sha256 {}", gate.info().digest));
        checks.push(CheckLine::from_result(format!("gate {name}"), result));
    }
    let gate_problems =
        composition.gates.misnamed().into_iter().chain(composition.gates.blocks_without_gate());
    checks.extend(gate_problems.map(|reason| CheckLine::warning("gates", reason)));
    checks.extend(missing_folders(config));
    checks.extend(missing_variables(config));
    let added = FileServerStore::new(Arc::clone(config), env.clone()).snapshot();
    checks.extend(servers::check_servers(&config.servers, &added));
    let catalogs = composition.catalogs().await;
    if catalogs.is_empty() {
        let reason =
            "the configuration has no preset, so nothing can be served; write a block [presets.NAME]";
        checks.push(CheckLine::failed("presets", reason));
    }
    let chosen = config.select(None, env);
    checks.push(CheckLine::from_result("chosen preset", chosen.map(|compiled| compiled.preset)));
    let unnamed = config.unnamed_default();
    checks.extend(unnamed.map(|reason| CheckLine::warning("chosen preset", reason)));
    let mut warnings = composition.preset_warnings(&catalogs).await;
    for (name, catalog) in catalogs {
        let result = catalog.map(|catalog| format!("{} tools", catalog.entries().len()));
        checks.push(CheckLine::from_result(format!("preset {name}"), result));
        let warnings = warnings.remove(name).unwrap_or_default();
        checks
            .extend(warnings.into_iter().map(|reason| CheckLine::warning(format!("preset {name}"), reason)));
    }
    checks.extend(composition.unmet_grants().await.into_iter().map(|lack| CheckLine::warning("gates", lack)));
    checks.extend(keyless(config, env));
    checks.extend(unused(config, env).into_iter().map(|reason| CheckLine::warning("environment", reason)));
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
        checks.extend(failing.map(|reason| {
            CheckLine::warning(format!("{name} by meaning"), format!("{reason}{without_vectors}"))
        }));
        // Other stores report theirs in the results of searches.
        let notes = health.notes.iter().filter(|_| name == "documents");
        checks.extend(notes.map(|note| CheckLine::warning(name, note)));
    }
    let summary = health.map(|health| format!("{}: {} {}", health.engine, contents(&health), health.address));
    checks.push(CheckLine::from_result(name, summary));
    checks
}

async fn databases(state: &Path) -> Vec<CheckLine> {
    let state = state.to_owned();
    let to_check_line = |(file, result): (DataFile, Result<i64, Fault>)| {
        let result = result.map(|schema| format!("intact, schema {schema}"));
        CheckLine::from_result(format!("database {}", file.file()), result)
    };
    match tokio::task::spawn_blocking(move || gatehouse_stores::check_all(&state)).await {
        Ok(checked) => checked.into_iter().map(to_check_line).collect(),
        Err(error) => vec![CheckLine::failed("databases", format!("the check ended early: {error}"))],
    }
}

fn keyless(config: &Config, env: &Env) -> Vec<CheckLine> {
    let is_keyless =
        |name: &ProviderName| config.models.settings(*name).keyless && env.is_set(name.variable());
    let check = |name: ProviderName| {
        let variable = name.variable();
        let reason = format!(
            "no key is sent, because the file has base_url but no api_key; to send {variable}, write api_key = \
            \"${{{variable}}}\""
        );
        CheckLine::warning(format!("[models.{}]", name.id()), reason)
    };
    ProviderName::ALL.into_iter().filter(is_keyless).map(check).collect()
}

/// Finds headers that use an unset variable. Requests with such a header fail.
fn missing_variables(config: &Config) -> Vec<CheckLine> {
    let mut checks = Vec::new();
    for rules in config.gates.values().filter_map(|gate| gate.settings.http.as_ref()) {
        let gate = format!("gate {}", rules.gate());
        checks.extend(rules.problems().into_iter().map(|reason| CheckLine::warning(&gate, reason)));
    }
    checks
}

fn missing_folders(config: &Config) -> Vec<CheckLine> {
    let mut checks = Vec::new();
    for (gate, given) in &config.gates {
        let folders = given.settings.folders.iter();
        checks.extend(folders.filter(|folder| !folder.private && !folder.host.is_dir()).map(|folder| {
            let host = folder.host.display();
            let reason = format!("{host} is not a directory; calls of the gate fail until it exists");
            CheckLine::warning(format!("gate {gate}, folder {}", folder.guest), reason)
        }));
    }
    checks
}

/// Returns whether the directory can be written, or the nearest existing ancestor, without changing either.
fn writable(folder: &Path) -> Result<String, PlainError> {
    let existing = folder.ancestors().find(|path| path.exists()).unwrap_or(folder);
    let display_path = folder.display().to_string();
    match tempfile::NamedTempFile::new_in(existing) {
        Ok(_) if existing == folder => Ok(display_path),
        Ok(_) => Ok(format!("{display_path} (created on first use)")),
        Err(error) => Err(format!("{display_path} cannot be written: {error}").into()),
    }
}
