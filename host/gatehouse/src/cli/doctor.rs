//! `gatehouse doctor`: checks the configuration and everything that it uses. Starts and contacts no MCP server.

mod files;
mod servers;

use std::{collections::BTreeMap, sync::Arc};

use clap::Args;
use gatehouse_core::Fault;
use gatehouse_models::config::ProviderName;
use gatehouse_sandbox::format_bytes;
use gatehouse_stores::StoreHealth;
use serde_json::{Value, json};

use super::{CommandError, CommandResult, GlobalArgs, OutputFormat, PlainError};
use crate::{
    check::{CheckLine, CheckStatus},
    compose::Composition,
    config::{Config, ConfigError, Env, added::FileServerStore, env::VARIABLES, locate, unused},
    control, data_owner,
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
    let checks = match global.compose_without_servers(env) {
        Ok(composition) => examine(&composition, env).await?,
        Err(error) => examine_without_config(&error, global, env).await,
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

/// Checks everything that does not depend on the configuration.
async fn examine_without_config(error: &ConfigError, global: &GlobalArgs, env: &Env) -> Vec<CheckLine> {
    let state = locate::data_folder(global.config.as_deref(), env);
    let mut checks = vec![CheckLine::failed("configuration", error.to_string())];
    // The checks write, which another user must not do.
    if data_owner::check(&state, None).is_ok() {
        checks.extend(files::check_folders(&state, &locate::cache_home()));
        checks.extend(files::databases(&state).await);
        checks.extend(
            control::running(&state).await.iter().map(|host| CheckLine::ok("host", host.to_string())),
        );
    }
    checks
}

async fn examine(composition: &Composition, env: &Env) -> CommandResult<Vec<CheckLine>> {
    let config = &composition.config;
    let file = config.file.as_ref().map_or_else(|| "built in".into(), |file| file.display().to_string());
    let mut checks = vec![CheckLine::ok("configuration", file)];
    checks.extend(files::check_folders(&config.state, &config.cache));
    let hosts = control::running(&config.state).await;
    let host_warnings = hosts.iter().filter_map(|host| host.other_config(config));
    checks.extend(host_warnings.map(|warning| CheckLine::warning("hosts", warning)));
    if let Some(ignored) = &config.choice.ignored {
        checks.push(CheckLine::warning("configuration", ignored.to_string()));
    }
    let mut broken_gates = BTreeMap::new();
    for name in composition.gates.names() {
        let result = composition.gates.get(&name).await.map(|gate| format!("sha256 {}", gate.info().digest));
        checks.push(CheckLine::from_result(format!("gate {name}"), result.clone()));
        broken_gates.extend(result.err().map(|reason| (reason.to_string(), name)));
    }
    let gate_problems =
        composition.gates.misnamed().into_iter().chain(composition.gates.blocks_without_gate());
    checks.extend(gate_problems.map(|problem| CheckLine::warning("gates", problem)));
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
    checks.extend(unnamed.map(|warning| CheckLine::warning("chosen preset", warning)));
    let mut warnings = composition.preset_warnings(&catalogs).await;
    let mut failures = PresetFailures::default();
    for (name, catalog) in catalogs {
        match catalog {
            Ok(catalog) => {
                checks.push(CheckLine::ok(
                    format!("preset {name}"),
                    format!("{} tools", catalog.entries().len()),
                ));
            }
            Err(reason) => failures.add(name, reason.to_string(), &broken_gates),
        }
        let warnings = warnings.remove(name).unwrap_or_default();
        checks.extend(
            warnings.into_iter().map(|warning| CheckLine::warning(format!("preset {name}"), warning)),
        );
    }
    checks.extend(failures.into_checks());
    checks.extend(composition.unmet_grants().await.into_iter().map(|lack| CheckLine::warning("gates", lack)));
    checks.extend(keyless(config, env));
    checks.extend(unused(config, env).into_iter().map(|warning| CheckLine::warning("environment", warning)));
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
    checks.extend(files::databases(&config.state).await);
    Ok(checks)
}

/// Presets that cannot be served, by the reason, so that each reason is reported once.
#[derive(Default)]
struct PresetFailures<'a>(BTreeMap<String, FailedPresets<'a>>);

struct FailedPresets<'a> {
    names: Vec<&'a str>,
    /// Error of the first, with its place in the file.
    error: String,
}

impl<'a> PresetFailures<'a> {
    /// `broken_gates` has the names of gates by the reason that was reported for them.
    fn add(&mut self, name: &'a str, error: String, broken_gates: &BTreeMap<String, String>) {
        let reason = error.split_once(&format!("preset '{name}': ")).map_or(&*error, |(_, reason)| reason);
        let (reason, error) = match broken_gates.get(reason) {
            Some(gate) => (reason.to_owned(), format!("cannot be served without gate {gate}")),
            None => (reason.to_owned(), error),
        };
        self.0.entry(reason).or_insert(FailedPresets { names: Vec::new(), error }).names.push(name);
    }

    fn into_checks(self) -> impl Iterator<Item = CheckLine> {
        self.0.into_values().map(|FailedPresets { names, error }| {
            let plural = if names.len() == 1 { "" } else { "s" };
            CheckLine::failed(format!("preset{plural} {}", names.join(", ")), error)
        })
    }
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
