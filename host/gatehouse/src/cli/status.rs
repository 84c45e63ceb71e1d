//! `gatehouse status`

use clap::Args;
use serde_json::{Value, json};

use super::{Failure, Place};
use crate::{config::Env, out};

#[derive(Args)]
pub(super) struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, place: &Place, env: &Env) -> Result<(), Failure> {
    let composition = place.compose(env)?;
    let config = &composition.config;
    let mut presets = serde_json::Map::new();
    for (name, catalog) in composition.catalogs().await {
        let state = match catalog {
            Ok(catalog) => json!({"ok": true, "tools": catalog.entries().len()}),
            Err(why) => json!({"ok": false, "error": why}),
        };
        presets.insert(name.to_owned(), state);
    }
    let knowledge = match composition.knowledge.health().await {
        Ok(health) => {
            json!({"ok": true, "engine": health.engine, "address": health.address, "pages": health.pages})
        }
        Err(fault) => json!({"ok": false, "error": crate::compose::said(&fault)}),
    };
    let told = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "config": config.file,
        "state": config.state,
        "gate_folders": config.gate_folders,
        "gates": composition.gate_names(),
        "default_preset": config.default_preset,
        "presets": presets,
        "knowledge": knowledge,
    });
    if arguments.json {
        out::json(&told)
    } else {
        print(&told)
    }
    Ok(())
}

fn print(told: &Value) {
    let text = |value: &Value| value.as_str().unwrap_or("built in").to_owned();
    let list = |value: &Value| {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
    };
    out::line(format!("gatehouse {}", text(&told["version"])));
    out::line(format!("config     {}", text(&told["config"])));
    out::line(format!("state      {}", text(&told["state"])));
    out::line(format!("gates      {} (in {})", list(&told["gates"]), list(&told["gate_folders"])));
    let knowledge = &told["knowledge"];
    match knowledge["error"].as_str() {
        Some(why) => out::line(format!("knowledge  down: {why}")),
        None => out::line(format!(
            "knowledge  {}: {} pages in {}",
            text(&knowledge["engine"]),
            knowledge["pages"],
            text(&knowledge["address"])
        )),
    }
    for (name, preset) in told["presets"].as_object().into_iter().flatten() {
        let mark = if told["default_preset"] == *name { " (default)" } else { "" };
        match preset["error"].as_str() {
            Some(why) => out::line(format!("preset     {name}{mark}: broken: {why}")),
            None => out::line(format!("preset     {name}{mark}: {} tools", preset["tools"])),
        }
    }
}
