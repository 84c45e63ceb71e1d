//! `request`: any tool of the preset by one uniform request, with an answer that is always one JSON object. What an intent
//! means is one table, in `envelope`; what becomes of the reply is `artifact`'s. It goes through the same calls as any other
//! way to the tool, so it can do nothing that a direct call could not.

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
    answer::{Answer, Refusal},
    envelope::Envelope,
    target::Target,
};
use crate::Params;

const NAME: &str = "request";

/// Whatever was sent: what is wrong with it is told in the envelope, and not by whoever checks schemas.
#[derive(Deserialize, JsonSchema)]
struct Sent(Map<String, Value>);

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Sent>(NAME)
        .description(|_| {
            "Run any tool of this gateway: `action` is its name, or `server/tool` for one of an MCP server. `search_tools` with \
             params {query} finds those; an action that does not exist is answered with what there is. Answers one JSON object: \
             ok, result or error, meta."
        })
        .schema(|_, schema| *schema = shape())
        .intent(Intent::Execute)
        .effect(Effect::ExternalExec)
        .open_world()
        .forwards()
        .only_if(|params| params.request)
        .run(run)
}

/// What a request has, said and not enforced.
pub(crate) fn shape() -> Value {
    json!({
        "type": "object",
        "properties": {
            "intent": {"description": "QUERY, ANALYZE, GENERATE (only read), MODIFY or EXECUTE"},
            "action": {"description": "the tool"},
            "params": {"description": "its arguments, an object"},
            "effect": {"description": "the most that may happen, where not as the intent says: READ_ONLY, MUTATING, EXTERNAL_EXEC"},
            "artifact": {"description": "what the result has to be: TEXT, JSON, CODE_PY, CODE_TS, PATCH, BINARY"},
            "constraints": {"description": "timeout_ms, retry_count, dry_run, isolation: agent, subprocess (a server for this alone), auto"},
            "context": {"description": "caller, project_root"},
        },
    })
}

fn run(_: &Call<Params>, Sent(sent): Sent) -> Result<Reply, Fault> {
    let started = context::now();
    let mut way = Way::default();
    let answer = match Envelope::read(&sent) {
        Ok(envelope) => served(&envelope, started, &mut way).map_or_else(
            |refusal| Answer::refused(&sent, Some(&envelope), refusal),
            |result| Answer::done(&envelope, result),
        ),
        Err(why) => Answer::refused(&sent, None, Refusal::wrong(why, envelope::example())),
    };
    Ok(answer.reply(&way, context::now().saturating_sub(started)))
}

/// The time of a request: one for all that it causes, tries among it.
struct Time {
    /// Milliseconds since 1970.
    until: u64,
    asked: u64,
}

/// Milliseconds of a call that are kept for the answer: who runs out of time answers nothing.
const FOR_THE_ANSWER: u64 = 500;

impl Time {
    /// Milliseconds that the next call may take.
    fn left(&self) -> Result<u64, Refusal> {
        let own = self.until.saturating_sub(context::now());
        let outer = context::remaining().saturating_sub(FOR_THE_ANSWER);
        match own.min(outer) {
            0 => Err(Refusal::late(self.asked)),
            left => Ok(left),
        }
    }
}

/// How a request went on its way, as far as it came.
#[derive(Default)]
struct Way {
    /// The gate or server.
    source: Option<String>,
    /// Whether its server was started for it alone.
    apart: bool,
    /// Why, where the request left that open, or asked for what cannot be.
    reason: Option<String>,
}

fn served(envelope: &Envelope, started: u64, way: &mut Way) -> Result<artifact::Artifact, Refusal> {
    let time = Time { until: started.saturating_add(envelope.timeout_ms), asked: envelope.timeout_ms };
    let target = Target::find(&envelope.action, envelope.isolation)?;
    *way = target.way();
    if target.effect > envelope.effect {
        return Err(Refusal::too_strong(envelope, target.effect));
    }
    let mut params = envelope.params.clone();
    if envelope.dry_run {
        target.rehearse(&mut params)?;
    } else if target.effect != Effect::ReadOnly {
        target.precheck(&params, &time)?;
    }
    let arguments = Value::Object(params).to_string();
    let mut tries = 0;
    loop {
        match target.call(&arguments, time.left()?) {
            Ok(reply) => return artifact::of(reply, envelope),
            // What may have happened is not made to happen twice.
            Err(fault) if fault.retryable && target.may_repeat() && tries < envelope.retries => tries += 1,
            Err(fault) => return Err(Refusal::of(fault)),
        }
    }
}
