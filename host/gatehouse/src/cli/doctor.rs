//! `gatehouse doctor`

use std::path::Path;

use clap::Args;
use serde_json::{Value, json};

use super::{Failure, Place};
use crate::{
    compose::Composition,
    config::{Env, env::VARIABLES},
    out,
};

#[derive(Args)]
pub(super) struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

struct Check {
    what: String,
    result: Result<String, String>,
}

pub(super) async fn run(arguments: &Arguments, place: &Place, env: &Env) -> Result<(), Failure> {
    let (checks, warnings) = match place.compose(env) {
        Ok(composition) => (examine(&composition).await?, warnings(&composition)),
        Err(error) => {
            (vec![Check { what: "configuration".into(), result: Err(error.to_string()) }], Vec::new())
        }
    };
    let broken = checks.iter().filter(|check| check.result.is_err()).count();
    if arguments.json {
        let checks = checks.iter().map(|check| match &check.result {
            Ok(found) => json!({"check": check.what, "ok": true, "found": found}),
            Err(why) => json!({"check": check.what, "ok": false, "error": why}),
        });
        let warnings = warnings.iter().map(|(what, why)| json!({"check": what, "ok": true, "warning": why}));
        let told: Vec<Value> = checks.chain(warnings).collect();
        out::json(&told);
    } else {
        for check in &checks {
            match &check.result {
                Ok(found) => out::line(format!("ok    {}: {found}", check.what)),
                Err(why) => out::line(format!("FAIL  {}: {why}", check.what)),
            }
        }
        for (what, why) in &warnings {
            out::line(format!("warn  {what}: {why}"));
        }
        out::line("\nenvironment");
        for variable in &VARIABLES {
            let set = if env.is_set(variable.name) { "set" } else { "-" };
            out::line(format!("  {:<18} {set:<4} {}", variable.name, variable.meaning));
        }
    }
    if broken == 0 {
        Ok(())
    } else {
        Err(Failure::Failed(format!("{broken} of {} checks failed", checks.len())))
    }
}

async fn examine(composition: &Composition) -> Result<Vec<Check>, Failure> {
    let config = &composition.config;
    let file = config.file.as_ref().map_or_else(|| "built in".into(), |file| file.display().to_string());
    let mut checks = vec![
        Check { what: "configuration".into(), result: Ok(file) },
        Check { what: "data folder".into(), result: writable(&config.state) },
    ];
    for name in composition.gate_names() {
        let result = composition.gate(&name).await.map(|gate| format!("sha256 {}", gate.info().digest));
        checks.push(Check { what: format!("gate {name}"), result });
    }
    for (name, catalog) in composition.catalogs().await {
        let result = catalog.map(|catalog| format!("{} tools", catalog.entries().len()));
        checks.push(Check { what: format!("preset {name}"), result });
    }
    let health = composition.knowledge.health().await;
    let result = health.map(|health| format!("{} pages in {}", health.pages, health.address));
    checks.push(Check {
        what: "knowledge".into(),
        result: result.map_err(|fault| crate::compose::said(&fault)),
    });
    Ok(checks)
}

/// What works, and will not do what its owner means: (what, why).
fn warnings(composition: &Composition) -> Vec<(String, String)> {
    let rules = composition.config.gates.values().filter_map(|gate| gate.settings.http.as_ref());
    let complaints = rules.flat_map(|rules| {
        let gate = format!("gate {}", rules.gate());
        rules.complaints().into_iter().map(move |why| (gate.clone(), why))
    });
    complaints.collect()
}

/// Whether the folder can be written, or the nearest one that exists, in which it would be made. Changes
/// nothing.
fn writable(folder: &Path) -> Result<String, String> {
    let existing = folder.ancestors().find(|path| path.exists()).unwrap_or(folder);
    let shown = folder.display().to_string();
    match tempfile::NamedTempFile::new_in(existing) {
        Ok(_) if existing == folder => Ok(shown),
        Ok(_) => Ok(format!("{shown} (made on first use)")),
        Err(error) => Err(format!("{shown} cannot be written: {error}")),
    }
}
