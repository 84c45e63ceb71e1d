//! `run_code`: runs a script and returns its result.

use gatehouse_sdk::{Call, Content, Count, Fault, Intent, Reply, Tool, context};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Params,
    engine::{self, RunLimits, RunOutcome},
    types,
};

pub(crate) const NAME: &str = "run_code";

const DEFAULT_TIME_MS: u32 = 20_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// TypeScript, with top-level await and return.
    #[schemars(length(min = 1))]
    pub(crate) code: String,
    pub(crate) timeout_ms: Option<Count>,
    /// Value of `input` in the script.
    pub(crate) input: Option<serde_json::Value>,
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Args>(NAME)
        .title("Run a script")
        .description(|_| {
            let types = context::exposed_name(types::NAME);
            let types = types.map(|name| format!(" {name} shows their types.")).unwrap_or_default();
            format!(
                "Run TypeScript that calls this server's tools: await tools.<source>.<tool>(args) or \
                callMCPTool(server, tool, args); Promise.all runs calls together. Replies with its return value. For \
                several calls, or to filter large results.{types}"
            )
        })
        .intent(Intent::Execute)
        .effect_from(Params::effect)
        .open_world()
        .runs_code()
        .run(run)
}

fn run(call: &Call<Params>, args: Args) -> Result<Reply, Fault> {
    Ok(run_text(call, &args.code, args.input.as_ref(), args.timeout_ms))
}

pub(crate) fn run_text(
    call: &Call<Params>,
    code: &str,
    input: Option<&serde_json::Value>,
    timeout_ms: Option<Count>,
) -> Reply {
    let limits = RunLimits {
        time: timeout_ms.map_or(DEFAULT_TIME_MS, |time| time.at_most(u32::MAX)).into(),
        calls: call.params.max_calls.at_most(1_000),
        parallel: call.params.max_parallel.at_most(8),
    };
    render(engine::run(code, input, limits), code)
}

/// Renders the value or error in its own block: a text as it is, another value as JSON. Console and call counts follow in
/// a second block.
fn render(outcome: RunOutcome, source: &str) -> Reply {
    let failed = outcome.value.is_err();
    let value = match &outcome.value {
        // A text is a text, not JSON with escapes, unless nothing would be left of it.
        Ok(Some(json)) => match serde_json::from_str::<String>(json) {
            Ok(text) if !text.is_empty() => text,
            _ => json.clone(),
        },
        Ok(None) => "undefined (end the script with `return value`)".to_owned(),
        Err(error) => error.render(source),
    };
    let mut notes = Vec::new();
    if !outcome.console.is_empty() {
        notes.push(format!("Console:\n{}", outcome.console.join("\n")));
    }
    if outcome.calls > 0 {
        let (calls, batches) =
            (plural(outcome.calls, "call", "calls"), plural(outcome.batches, "batch", "batches"));
        let unawaited = match outcome.unawaited {
            0 => String::new(),
            unawaited => format!("; {unawaited} not awaited"),
        };
        notes.push(format!("{calls} in {batches}{unawaited}"));
    }
    let mut reply = Reply { is_error: failed, ..Reply::markdown(value) };
    if !notes.is_empty() {
        reply = reply.with(Content::Text(notes.join("\n\n")));
    }
    reply
}

fn plural(number: u32, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
