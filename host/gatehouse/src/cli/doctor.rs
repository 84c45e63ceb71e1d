//! `gatehouse doctor`: checks the configuration and everything that it uses.

mod servers;

use std::{path::Path, sync::Arc};

use clap::Args;
use gatehouse_core::Fault;
use gatehouse_models::config::ProviderName;
use gatehouse_sandbox::format_bytes;
use gatehouse_stores::DataFile;
use serde_json::{Value, json};

use super::{CommandError, GlobalArgs};
use crate::{
    compose::Composition,
    config::{Config, Env, added::FileServerStore, env::VARIABLES, unused},
    out::{self, TerminalColor},
};

#[derive(Args)]
pub(super) struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

struct DoctorCheck {
    subject: String,
    result: Result<String, String>,
    /// True if the user should look at it, although it works.
    warning: bool,
}

impl DoctorCheck {
    fn new(subject: impl Into<String>, result: Result<String, String>) -> Self {
        Self { subject: subject.into(), result, warning: false }
    }

    fn warning(subject: impl Into<String>, found: String) -> Self {
        Self { subject: subject.into(), result: Ok(found), warning: true }
    }

    fn is_problem(&self) -> bool {
        self.warning || self.result.is_err()
    }
}

pub(super) async fn run(
    arguments: &Arguments,
    verbose: bool,
    global: &GlobalArgs,
    env: &Env,
) -> Result<(), CommandError> {
    let checks = match global.compose(env) {
        Ok(composition) => examine(&composition, env).await?,
        Err(error) => vec![DoctorCheck::new("configuration", Err(error.to_string()))],
    };
    let broken = checks.iter().filter(|check| check.result.is_err()).count();
    if arguments.json {
        let reports: Vec<Value> = checks
            .iter()
            .map(|check| match &check.result {
                Ok(found) if check.warning => json!({"check": check.subject, "ok": true, "warning": found}),
                Ok(found) => json!({"check": check.subject, "ok": true, "found": found}),
                Err(why) => json!({"check": check.subject, "ok": false, "error": why}),
            })
            .collect();
        out::json(&reports);
    } else {
        print(&checks, verbose.then_some(env));
    }
    if broken == 0 {
        Ok(())
    } else {
        Err(CommandError::Failed(format!("{broken} of {} checks failed", checks.len())))
    }
}

/// Prints successful checks first, then warnings and failures, which stay visible at the end.
fn print(checks: &[DoctorCheck], environment: Option<&Env>) {
    if let Some(env) = environment {
        out::line("environment");
        let width = VARIABLES.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        for (name, meaning) in VARIABLES {
            let set = if env.is_set(name) { "set" } else { "-" };
            out::line(format!("  {name:<width$} {set:<4} {meaning}"));
        }
        out::line("");
    }
    for DoctorCheck { subject, result, .. } in checks.iter().filter(|check| !check.is_problem()) {
        let found = result.as_deref().unwrap_or_default();
        out::verdict("ok", TerminalColor::Green, &format!("    {subject}: {found}"));
    }
    let problems = || checks.iter().filter(|check| check.is_problem());
    if problems().next().is_some() {
        out::line("");
    }
    for DoctorCheck { subject, result, .. } in problems() {
        if let Ok(found) = result {
            out::verdict("warn", TerminalColor::Yellow, &format!("  {subject}: {found}"));
        }
    }
    for DoctorCheck { subject, result, .. } in problems() {
        if let Err(why) = result {
            out::verdict("FAIL", TerminalColor::Red, &format!("  {subject}: {why}"));
        }
    }
}

async fn examine(composition: &Composition, env: &Env) -> Result<Vec<DoctorCheck>, CommandError> {
    let config = &composition.config;
    let file = config.file.as_ref().map_or_else(|| "built in".into(), |file| file.display().to_string());
    let mut checks = vec![
        DoctorCheck::new("configuration", Ok(file)),
        DoctorCheck::new("data directory", writable(&config.state)),
    ];
    if let Some(ignored) = &config.choice.ignored {
        checks.push(DoctorCheck::warning("configuration", ignored.to_string()));
    }
    for name in composition.gates.names() {
        let result = composition.gates.get(&name).await.map(|gate| format!("sha256 {}", gate.info().digest));
        checks.push(DoctorCheck::new(format!("gate {name}"), result));
    }
    checks.extend(composition.gates.misnamed().into_iter().map(|why| DoctorCheck::warning("gates", why)));
    checks.extend(
        composition.gates.blocks_without_gate().into_iter().map(|why| DoctorCheck::warning("gates", why)),
    );
    checks.extend(missing_folders(config));
    checks.extend(missing_variables(config));
    let added = FileServerStore::new(Arc::clone(config), env.clone()).snapshot();
    checks.extend(servers::checks(&config.servers, &added));
    let catalogs = composition.catalogs().await;
    if catalogs.is_empty() {
        let why = "the configuration has no preset, so nothing can be served; write a block [presets.NAME]";
        checks.push(DoctorCheck::new("presets", Err(why.into())));
    }
    let chosen = config.select(None, env);
    checks.push(DoctorCheck::new(
        "chosen preset",
        chosen.map(|compiled| compiled.preset).map_err(|why| why.to_string()),
    ));
    checks.extend(config.unnamed_default().map(|why| DoctorCheck::warning("chosen preset", why)));
    let mut unmatched = composition.unmatched_in_catalogs(&catalogs).await;
    for (name, catalog) in catalogs {
        let result = catalog.map(|catalog| format!("{} tools", catalog.entries().len()));
        checks.push(DoctorCheck::new(format!("preset {name}"), result));
        let warnings = unmatched.remove(name).unwrap_or_default();
        checks.extend(warnings.into_iter().map(|why| DoctorCheck::warning(format!("preset {name}"), why)));
    }
    checks
        .extend(composition.unmet_grants().await.into_iter().map(|lack| DoctorCheck::warning("gates", lack)));
    checks.extend(keyless(config, env));
    checks.extend(unused(config, env).into_iter().map(|why| DoctorCheck::warning("environment", why)));
    let health = composition.knowledge.health().await;
    let failing = health.as_ref().ok().and_then(|health| health.embedding.as_ref()?.failing.clone());
    if let Some(why) = failing {
        checks.push(DoctorCheck::warning(
            "knowledge by meaning",
            format!("{why}; until then, search uses only words"),
        ));
    }
    let result =
        health.map(|health| format!("{}: {} pages in {}", health.engine, health.items, health.address));
    checks.push(DoctorCheck::new("knowledge", result.map_err(|fault| fault.in_one_line())));
    let documents = composition.documents.health().await;
    if let Some(why) = documents.as_ref().ok().and_then(|health| health.embedding.as_ref()?.failing.clone()) {
        checks.push(DoctorCheck::warning("documents by meaning", why));
    }
    let notes = documents.as_ref().map(|health| health.notes.clone()).unwrap_or_default();
    checks.extend(notes.into_iter().map(|note| DoctorCheck::warning("documents", note)));
    let result = documents.map(|health| {
        let (repositories, files) = (health.repositories, health.items);
        format!("{}: {files} documents of {repositories} repositories in {}", health.engine, health.address)
    });
    checks.push(DoctorCheck::new("documents", result.map_err(|fault| fault.in_one_line())));
    checks.extend(artifacts(composition).await);
    checks.extend(databases(&config.state).await);
    Ok(checks)
}

async fn databases(state: &Path) -> Vec<DoctorCheck> {
    let state = state.to_owned();
    let checked = tokio::task::spawn_blocking(move || gatehouse_stores::check_all(&state)).await;
    let one = |(file, result): (DataFile, Result<i64, Fault>)| {
        let result = result.map(|schema| format!("intact, schema {schema}"));
        DoctorCheck::new(format!("database {}", file.file()), result.map_err(|fault| fault.in_one_line()))
    };
    match checked {
        Ok(checked) => checked.into_iter().map(one).collect(),
        Err(error) => vec![DoctorCheck::new("databases", Err(format!("the check ended early: {error}")))],
    }
}

async fn artifacts(composition: &Composition) -> Vec<DoctorCheck> {
    let health = composition.artifacts.health().await;
    let failing = health.as_ref().ok().and_then(|health| health.embedding.as_ref()?.failing.clone());
    let result = health.map(|health| {
        let bytes = format_bytes(health.bytes);
        format!("{}: {} artifacts, {bytes}, in {}", health.engine, health.items, health.address)
    });
    let result = DoctorCheck::new("artifacts", result.map_err(|fault| fault.in_one_line()));
    failing.map(|why| DoctorCheck::warning("artifacts by meaning", why)).into_iter().chain([result]).collect()
}

fn keyless(config: &Config, env: &Env) -> Vec<DoctorCheck> {
    let providers = ProviderName::ALL
        .into_iter()
        .filter(|name| config.models.settings(*name).keyless && env.is_set(name.variable()));
    let checks = providers.map(|name| {
        let (block, variable) = (name.id(), name.variable());
        let why = format!(
            "no key is sent, because the file has base_url but no api_key; to send {variable}, write api_key = \
            \"${{{variable}}}\""
        );
        DoctorCheck::warning(format!("[models.{block}]"), why)
    });
    checks.collect()
}

/// Finds headers that use an unset variable. Requests with such a header fail.
fn missing_variables(config: &Config) -> Vec<DoctorCheck> {
    let rules = config.gates.values().filter_map(|gate| gate.settings.http.as_ref());
    let complaints = rules.flat_map(|rules| {
        let gate = format!("gate {}", rules.gate());
        rules.problems().into_iter().map(move |why| DoctorCheck::warning(gate.clone(), why))
    });
    complaints.collect()
}

fn missing_folders(config: &Config) -> Vec<DoctorCheck> {
    let folders = config
        .gates
        .iter()
        .flat_map(|(gate, given)| given.settings.folders.iter().map(move |folder| (gate, folder)));
    folders
        .filter(|(_, folder)| !folder.private && !folder.host.is_dir())
        .map(|(gate, folder)| {
            let found = format!(
                "{} is not a directory; calls of the gate fail until it exists",
                folder.host.display()
            );
            DoctorCheck::warning(format!("gate {gate}, folder {}", folder.guest), found)
        })
        .collect()
}

/// Returns whether the directory can be written, or the nearest existing ancestor, without changing either.
fn writable(folder: &Path) -> Result<String, String> {
    let existing = folder.ancestors().find(|path| path.exists()).unwrap_or(folder);
    let shown = folder.display().to_string();
    match tempfile::NamedTempFile::new_in(existing) {
        Ok(_) if existing == folder => Ok(shown),
        Ok(_) => Ok(format!("{shown} (created on first use)")),
        Err(error) => Err(format!("{shown} cannot be written: {error}")),
    }
}
