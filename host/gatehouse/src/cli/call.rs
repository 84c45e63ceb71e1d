//! `gatehouse call`: calls a tool of a preset, through the same pipeline as a client's call.

use std::{
    io::{self, Read},
    sync::Arc,
};

use clap::Args;
use gatehouse_core::{Call, CallContext, Catalog, ContentPart, Outcome, Reply, names};
use gatehouse_wire::serve;
use serde_json::Value;

use super::{CommandError, CommandResult, GlobalArgs};
use crate::{
    compose::{AnonymousCallers, Composition},
    config::Env,
    out,
};

/// Maximum size of arguments and requests, in bytes.
pub(super) const MAX_TEXT: u64 = 16 << 20;

#[derive(Args)]
pub(super) struct Arguments {
    /// Name of the tool, as clients of the preset see it
    tool: String,
    /// Arguments of the tool, a JSON object; - reads standard input
    #[arg(default_value = "{}", value_name = "JSON")]
    arguments: String,
    /// Preset [default: the one that `serve` would choose]
    #[arg(long)]
    preset: Option<String>,
    /// Print the result as JSON, as a client gets it
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: Arguments, global: &GlobalArgs, env: &Env) -> CommandResult {
    let tool_arguments = self::arguments(&arguments.arguments)?;
    let composition = global.compose(env)?;
    let compiled = composition.config.select(arguments.preset.as_deref(), env)?;
    let catalog = Arc::new(composition.catalog(&compiled).await?);
    if catalog.get(&arguments.tool).is_none() && !arguments.json {
        let (tool, preset) = (names::quoted(&arguments.tool, 64), &compiled.preset);
        let suggestion = names::did_you_mean(&arguments.tool, catalog.names());
        return Err(CommandError::failed(format!(
            "preset '{preset}' has no tool '{tool}'.{suggestion} `gatehouse presets show {preset}` lists its tools"
        )));
    }
    call(&composition, catalog, &arguments.tool, tool_arguments, arguments.json).await
}

/// Parses arguments from the command line, or from standard input for `-`.
pub(super) fn arguments(given: &str) -> CommandResult<Value> {
    let failed = |reason: String| CommandError::usage(format!("the arguments {reason}"));
    let text = match given {
        "-" => read_text(io::stdin().lock())
            .map_err(|error| failed(format!("cannot be read: {error}")))?
            .ok_or_else(|| failed(format!("are longer than {} MiB", MAX_TEXT >> 20)))?,
        _ => given.to_owned(),
    };
    serde_json::from_str(&text).map_err(|error| failed(format!("are not JSON: {error}")))
}

/// Reads a text of at most [`MAX_TEXT`] bytes. `None` if it is longer.
pub(super) fn read_text(source: impl Read) -> io::Result<Option<String>> {
    let mut text = String::new();
    tokio::task::block_in_place(|| source.take(MAX_TEXT + 1).read_to_string(&mut text))?;
    Ok(Some(text).filter(|text| text.len() as u64 <= MAX_TEXT))
}

pub(super) async fn call(
    composition: &Composition,
    catalog: Arc<Catalog>,
    tool: &str,
    arguments: Value,
    json: bool,
) -> CommandResult {
    let data = serve::StructuredMode::for_programs(&catalog);
    let outcome = run_tool(composition, catalog, tool, arguments).await;
    if json {
        let failed = !matches!(&outcome, Ok(reply) if !reply.is_error);
        out::json(&serve::call_result(outcome, data));
        return if failed { Err(CommandError::failed(format!("{tool} failed"))) } else { Ok(()) };
    }
    print_outcome(tool, outcome)
}

/// Calls a tool as a shell command does, in its working directory.
pub(crate) async fn run_tool(
    composition: &Composition,
    catalog: Arc<Catalog>,
    tool: &str,
    arguments: Value,
) -> Outcome {
    composition.list_servers_for(&catalog, tool, &arguments).await;
    let pipeline = Arc::new(composition.stages(&AnonymousCallers::Commands, Arc::default()));
    let mut context = CallContext::new(&pipeline, catalog, tool);
    context.working_directory = std::env::current_dir().ok();
    context.for_program = true;
    Call::new(context, arguments).run().await
}

pub(super) fn text_of(part: &ContentPart) -> Option<&str> {
    match part {
        ContentPart::Text(text) => Some(text),
        _ => None,
    }
}

fn print_outcome(tool: &str, outcome: Outcome) -> CommandResult {
    let Reply { content, structured, is_error, meta: _ } = outcome?;
    if let Some(data) = structured.filter(|_| content.is_empty()) {
        out::json(&data);
    }
    for block in content {
        let bytes = block.bytes();
        out::line(match block {
            ContentPart::Text(text) => text,
            ContentPart::Image(media) | ContentPart::Audio(media) => {
                format!("[{}, {bytes} bytes; --json prints it]", media.mime_type)
            }
            ContentPart::Link(link) => format!("[{}]", link.uri),
            ContentPart::Embedded(resource) => format!("[{}, {bytes} bytes; --json prints it]", resource.uri),
            ContentPart::Other(block) => Value::Object(block).to_string(),
        });
    }
    if is_error { Err(CommandError::failed(format!("{tool} reported an error"))) } else { Ok(()) }
}
