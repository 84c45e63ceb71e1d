//! `gatehouse gates list`: lists the gates with their tools.

use std::path::Path;

use serde_json::{Value, json};

use super::{
    CommandError,
    inspect::{component_location, inspect, strings},
};
use crate::{compose::Composition, out};

pub(super) async fn run(json: bool, composition: &Composition) -> Result<(), CommandError> {
    let mut rows =
        vec![vec!["GATE".into(), "VERSION".into(), "TOOLS".into(), "GRANTS".into(), "FILE".into()]];
    let mut listed = Vec::new();
    let mut broken = false;
    for name in composition.gate_names() {
        match composition.gate(&name).await {
            Ok(gate) => {
                let told = inspect(&gate).await;
                broken |= told.get("error").is_some();
                rows.push(row(&told));
                listed.push(told);
            }
            Err(why) => {
                broken = true;
                rows.push(vec![name.clone(), "broken".into(), String::new(), String::new(), why.clone()]);
                listed.push(json!({"name": name, "error": why}));
            }
        }
    }
    if json {
        out::json(&listed)
    } else {
        out::table(&rows)
    }
    composition.gates.misnamed().iter().for_each(out::note);
    if broken { Err(CommandError::Failed("a gate cannot be loaded".into())) } else { Ok(()) }
}

fn row(told: &Value) -> Vec<String> {
    let text = |key: &str| told[key].as_str().unwrap_or("-").to_owned();
    let tools = match told["error"].as_str() {
        Some(why) => format!("broken: {why}"),
        None => names(&told["tools"]),
    };
    vec![
        text("name"),
        text("version"),
        tools,
        strings(&told["granted"]),
        relative_to_cwd(component_location(told)),
    ]
}

fn relative_to_cwd(place: String) -> String {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| Some(Path::new(&place).strip_prefix(here).ok()?.display().to_string()));
    below.unwrap_or(place)
}

fn names(tools: &Value) -> String {
    let names = tools.as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
    names.collect::<Vec<_>>().join(", ")
}
