//! `request`: runs any tool of the preset through a uniform request whose answer is always one JSON object. `envelope`
//! defines the intents, and `artifact` converts the reply. It uses the same calls as direct access, so it cannot do
//! more than a direct call.

mod answer;
mod artifact;
mod envelope;
mod patch;
mod target;

use gatehouse_sdk::{Call, Effect, Fault, Intent, Reply, Tool, context};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::{
    answer::RequestError,
    envelope::{EXAMPLE, RequestEnvelope},
    target::RequestTarget,
};
use crate::Params;

const NAME: &str = "request";

/// Any object: the gate, not the schema check, reports errors in the request envelope.
#[derive(Deserialize, JsonSchema)]
struct RawRequest(Map<String, Value>);

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, RawRequest>(NAME)
        .description(|_| {
            "Run any tool of this gateway: `action` is its name, or `server/tool` for one of an MCP server. \
            `search_tools` with params {query} finds those; an unknown action returns the list of actions. Returns \
            one JSON object: ok, result or error, meta."
        })
        .schema(|_, schema| *schema = request_schema())
        .intent(Intent::Execute)
        .effect(Effect::ExternalExec)
        .open_world()
        .forwards()
        .only_if(|params| params.request)
        .run(run)
}

/// Builds the schema of a request, which is documentation only.
pub(crate) fn request_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "intent": {"description": "QUERY, ANALYZE, GENERATE (only read), MODIFY or EXECUTE"},
            "action": {"description": "the tool"},
            "params": {"description": "its arguments, an object"},
            "effect": {"description": "maximum effect, if not the intent's default: READ_ONLY, MUTATING, \
            EXTERNAL_EXEC"},
            "artifact": {"description": "required result type: TEXT, JSON, CODE_PY, CODE_TS, PATCH, BINARY"},
            "constraints": {"description": "timeout_ms, retry_count, dry_run, isolation: agent, subprocess (own \
            server process), auto"},
            "context": {"description": "caller, project_root"},
        },
    })
}

fn run(_: &Call<Params>, RawRequest(sent): RawRequest) -> Result<Reply, Fault> {
    let started = context::now();
    let mut route = RequestRoute::default();
    let answer = match RequestEnvelope::read(&sent) {
        Ok(envelope) => serve(&envelope, started, &mut route).map_or_else(
            |error| answer::failure(&sent, Some(&envelope), error),
            |result| answer::success(&envelope, result),
        ),
        Err(message) => answer::failure(&sent, None, RequestError::invalid(message, EXAMPLE)),
    };
    Ok(answer::reply(answer, &route, context::now().saturating_sub(started)))
}

/// Deadline of a request, shared by all calls it makes, including retries.
struct RequestDeadline {
    /// Milliseconds since 1970.
    until: u64,
    requested_ms: u64,
}

/// Milliseconds reserved for the answer, because a gate that runs out of time returns nothing.
const ANSWER_RESERVE_MS: u64 = 500;

impl RequestDeadline {
    fn remaining_ms(&self) -> Result<u64, RequestError> {
        let remaining = self.until.saturating_sub(context::now());
        let call_remaining = context::remaining().saturating_sub(ANSWER_RESERVE_MS);
        match remaining.min(call_remaining) {
            0 => Err(RequestError::deadline_exceeded(self.requested_ms)),
            left => Ok(left),
        }
    }
}

#[derive(Clone, Default)]
struct RequestRoute {
    /// Gate or server. `None` before the tool is found.
    source: Option<String>,
    /// True if its server was started for this request alone.
    isolated: bool,
    /// Reason for the isolation, if it is not as requested.
    reason: Option<String>,
}

fn serve(
    envelope: &RequestEnvelope,
    started: u64,
    route: &mut RequestRoute,
) -> Result<artifact::RequestArtifact, RequestError> {
    let requested_ms = envelope.timeout_ms;
    let time = RequestDeadline { until: started.saturating_add(requested_ms), requested_ms };
    let target = RequestTarget::find(&envelope.action, envelope.isolation)?;
    *route = target.route.clone();
    if target.effect > envelope.effect {
        return Err(RequestError::effect_too_strong(envelope, target.effect));
    }
    let mut params = envelope.params.clone();
    if envelope.dry_run {
        target.set_dry_run(&mut params)?;
    } else if target.effect != Effect::ReadOnly {
        target.precheck(&params, &time)?;
    }
    let arguments = Value::Object(params).to_string();
    let mut tries = 0;
    loop {
        match target.call(&arguments, time.remaining_ms()?) {
            Ok(reply) => return artifact::from_reply(reply, envelope),
            // A call that may have had an effect is not repeated.
            Err(fault) if fault.retryable && target.may_repeat() && tries < envelope.retries => tries += 1,
            Err(fault) => return Err(fault.into()),
        }
    }
}
