//! `gatehouse request`: runs a request envelope. The response is always one JSON object, also on failure.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use clap::Args;
use gatehouse_core::{Catalog, Fault, envelope, workflow};
use serde_json::Value;

use super::{CommandError, CommandResult, GlobalArgs, PlainError, call};
use crate::{
    config::{ConfigError, Env},
    out,
};

#[derive(Args)]
pub(super) struct Arguments {
    /// File with the request, a JSON object; - reads standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    file: PathBuf,
    /// Preset with the tool `request`
    #[arg(long, default_value = "gateway")]
    preset: String,
}

pub(super) async fn run(arguments: Arguments, global: &GlobalArgs, env: &Env) -> CommandResult {
    let answer = run_request(&arguments, global, env).await.unwrap_or_else(|fault| {
        envelope::fault_response(&fault, &envelope::echoed_members(&Value::Null), Duration::ZERO)
    });
    out::json(&answer);
    // The object has the details; the exit code only signals the failure.
    if answer["ok"] == true { Ok(()) } else { Err(CommandError::failed("the request was not served")) }
}

/// Returns the gate's response, or the reason why the gate could not be called.
async fn run_request(arguments: &Arguments, global: &GlobalArgs, env: &Env) -> Result<Value, Fault> {
    let request = read(&arguments.file).map_err(Fault::invalid)?;
    let wrong = |error: ConfigError| Fault::invalid(error.to_string());
    let composition = global.compose(env).map_err(wrong)?;
    let compiled = composition.config.select(Some(&arguments.preset), env).map_err(wrong)?;
    let catalog = Arc::new(composition.catalog(&compiled).await.map_err(Fault::unavailable)?);
    let tool = name(&catalog).ok_or_else(|| {
        let preset = &arguments.preset;
        let reason = format!("preset '{preset}' has no tool 'request'");
        Fault::invalid(reason).hint("Give it `gates.proxy = { request = true }`, or use --preset gateway.")
    })?;
    let reply = call::run_tool(&composition, catalog, &tool, request).await?;
    let text = reply.content.iter().find_map(call::text_of);
    let response = text.and_then(|text| serde_json::from_str(text).ok());
    response.ok_or_else(|| Fault::internal("the gate did not answer with JSON"))
}

pub(super) fn name(catalog: &Catalog) -> Option<String> {
    let mut entries = catalog.entries().iter();
    let request_tool = entries.find(|entry| workflow::takes_requests(entry));
    request_tool.map(|entry| entry.name.to_string())
}

fn read(file: &Path) -> Result<Value, PlainError> {
    let text = match file.to_str() {
        Some("-") => call::read_text(io::stdin().lock()),
        _ => File::open(file).and_then(call::read_text),
    };
    let text = text
        .map_err(|error| format!("the request cannot be read from {}: {error}", file.display()))?
        .ok_or_else(|| format!("the request is longer than {} MiB", call::MAX_TEXT >> 20))?;
    let request: Value =
        serde_json::from_str(&text).map_err(|error| format!("the request is not JSON: {error}"))?;
    if request.is_object() { Ok(request) } else { Err("the request is not a JSON object".into()) }
}
