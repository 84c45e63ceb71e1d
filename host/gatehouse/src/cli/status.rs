//! `gatehouse status`

use clap::Args;
use serde_json::{Value, json};

use super::{Failure, Place, cache};
use crate::{
    config::{ConfigError, Env, locate},
    out, presence,
};

#[derive(Args)]
pub(super) struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, place: &Place, env: &Env) -> Result<(), Failure> {
    let composition = match place.compose(env) {
        Ok(composition) => composition,
        // Where the file cannot be read, the hosts that still run on its last good version matter most.
        Err(error) => return broken(arguments, place, env, error),
    };
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
            let meaning = health.embedding.map(|embedding| {
                json!({"model": embedding.model, "waiting": embedding.waiting, "failing": embedding.failing})
            });
            json!({"ok": true, "engine": health.engine, "address": health.address, "pages": health.pages,
                "waiting": health.waiting, "meaning": meaning})
        }
        Err(fault) => json!({"ok": false, "error": crate::compose::said(&fault)}),
    };
    let models = &composition.models;
    let models = json!({"llm": models.llm.model(), "web_search": models.llm.web_model(),
        "embedding": models.embedder.model()});
    let passed_over = config.choice.passed_over.as_ref().map(|file| file.file.clone());
    let told = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "config": config.file,
        "config_passed_over": passed_over,
        "state": config.state,
        "cache": cache::told(config),
        "gate_folders": config.gate_folders,
        "gates": composition.gate_names(),
        "default_preset": config.default_preset,
        "presets": presets,
        "knowledge": knowledge,
        "models": models,
        "lacks": composition.lacks().await,
        "hosts": presence::running(&config.state),
    });
    if arguments.json {
        out::json(&told)
    } else {
        print(&told)
    }
    Ok(())
}

/// What can be told without a configuration.
fn broken(arguments: &Arguments, place: &Place, env: &Env, error: ConfigError) -> Result<(), Failure> {
    let hosts = presence::running(&locate::data_folder(place.config.as_deref(), env));
    if arguments.json {
        out::json(&json!({"version": env!("CARGO_PKG_VERSION"), "error": error.to_string(), "hosts": hosts}));
    } else {
        let hosts = json!(hosts);
        hosts.as_array().into_iter().flatten().for_each(print_host);
    }
    Err(error.into())
}

fn print(told: &Value) {
    let text = |value: &Value| value.as_str().unwrap_or("built in").to_owned();
    let list = |value: &Value| {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
    };
    out::line(format!("gatehouse {}", text(&told["version"])));
    out::line(format!("config     {}", text(&told["config"])));
    out::line(format!("state      {}", text(&told["state"])));
    out::line(format!("cache      {}", cache::line(&told["cache"])));
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
    if let Some(pages @ 1..) = knowledge["waiting"].as_u64() {
        out::line(format!("           {pages} of them wait to be found by search"));
    }
    let meaning = &knowledge["meaning"];
    if let Some(model) = meaning["model"].as_str() {
        let waiting = match meaning["waiting"].as_u64() {
            Some(0) | None => "every page has its vector".to_owned(),
            Some(pages) => format!("{pages} pages wait for their vectors"),
        };
        let why = meaning["failing"].as_str().map(|why| format!(": {why}")).unwrap_or_default();
        out::line(format!("           by meaning with {model}; {waiting}{why}"));
    }
    let models = &told["models"];
    let serves = |key: &str| models[key].as_str().unwrap_or("nobody").to_owned();
    let [llm, web, embedding] = ["llm", "web_search", "embedding"].map(serves);
    out::line(format!("models     answers: {llm}; searches the web: {web}; makes vectors: {embedding}"));
    for lack in told["lacks"].as_array().into_iter().flatten() {
        out::line(format!("           {}", text(lack)));
    }
    for (name, preset) in told["presets"].as_object().into_iter().flatten() {
        let mark = if told["default_preset"] == *name { " (default)" } else { "" };
        match preset["error"].as_str() {
            Some(why) => out::line(format!("preset     {name}{mark}: broken: {why}")),
            None => out::line(format!("preset     {name}{mark}: {} tools", preset["tools"])),
        }
    }
    let hosts = told["hosts"].as_array().into_iter().flatten();
    hosts.for_each(print_host);
}

fn print_host(host: &Value) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let place = host["address"].as_str().map_or("stdio".into(), |address| format!("http://{address}/mcp"));
    out::line(format!("host       process {}: preset {} over {place}", host["pid"], text(&host["preset"])));
    let health = &host["health"];
    if let Some(why) = health["configuration"].as_str() {
        out::line(format!("           the last edit of presets.toml is not in force: {why}"));
    }
    if let Some(keys) = health["restart"].as_str() {
        out::line(format!("           takes effect at the next start: {keys}"));
    }
    for (gate, why) in health["gates"].as_object().into_iter().flatten() {
        out::line(format!("           gate {gate}: {}", text(why)));
    }
    for client in host["clients"].as_array().into_iter().flatten() {
        let news = match (client["told_at"].is_null(), client["up_to_date"] == true) {
            (true, _) => "knows the tools it was given",
            (false, true) => "was told of new tools and has listed since",
            (false, false) => "was told of new tools and has not listed since",
        };
        let (name, version) = (text(&client["name"]), text(&client["version"]));
        out::line(format!("  client   {name} {version} ({}): {news}", text(&client["protocol"])));
    }
}
