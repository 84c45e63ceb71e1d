//! The event loop of a script: runs jobs, then tool calls, then timers, until the script has a value.

use std::collections::BTreeMap;

use gatehouse_sdk::{Content, Fault, FaultKind, Reply, ResourceBody, replies::ReplyData};
use rquickjs::{
    CatchResultExt, CaughtError, Ctx, Function, Object, Promise, Value, context::EvalOptions,
    promise::PromiseState,
};
use serde_json::{Map, json, value::RawValue};

use super::{
    MAX_VALUE_BYTES, RunState, ScriptError, big_int,
    failure::{self, FILE},
    json::{is_deep, well_formed},
};
use crate::typescript::CompiledScript;

const JOBS_PER_CHECK: usize = 64;

struct ScriptDriver<'a, 'js> {
    ctx: &'a Ctx<'js>,
    run: &'a RunState,
    prelude: Object<'js>,
    script: &'a CompiledScript,
    source: &'a str,
}

type CaughtResult<'js, T> = Result<T, CaughtError<'js>>;

pub(super) fn drive<'js>(
    ctx: &Ctx<'js>,
    run: &RunState,
    prelude: Object<'js>,
    script: &CompiledScript,
    source: &str,
) -> Result<Option<String>, ScriptError> {
    if let Some(input) = &run.input {
        if is_deep(input) {
            return Err(ScriptError::from_message("input is nested too deeply"));
        }
        let read = prelude.get("read");
        let value = read.and_then(|read: Function| read.call::<_, Value>(with_integers(input.clone())));
        let set = value.and_then(|input| ctx.globals().set("input", input));
        set.catch(ctx).map_err(|error| ScriptError::from_message(format!("cannot read input: {error}")))?;
    }
    let driver = ScriptDriver { ctx, run, prelude, script, source };
    let promise = driver.begin().map_err(|error| driver.failure(error))?;
    while promise.state() == PromiseState::Pending {
        if !driver.step()? {
            return Err(ScriptError::from_message("the script waits for a promise that never settles"));
        }
    }
    // Calls without `await` are still sent.
    while !run.queue.is_empty() && !run.clock.is_expired() {
        run.queue.unawaited.set(run.queue.unawaited.get() + driver.send()?);
        driver.jobs();
    }
    let value: Value = match promise.result::<Value>() {
        Some(value) => value.catch(ctx).map_err(|error| driver.failure(error))?,
        None => return Err(ScriptError::from_message("the script ended without a value")),
    };
    driver.serialize(value)
}

impl<'js> ScriptDriver<'_, 'js> {
    fn begin(&self) -> CaughtResult<'js, Promise<'js>> {
        let mut options = EvalOptions::default();
        options.strict = false;
        options.filename = Some(FILE.to_owned());
        self.ctx.eval_with_options(self.script.javascript.as_str(), options).catch(self.ctx)
    }

    /// Runs the next step. Returns `false` if there was nothing to do.
    fn step(&self) -> Result<bool, ScriptError> {
        if self.run.clock.is_expired() {
            // `start` replaces this message by one with the limit.
            return Err(ScriptError::from_message("the time limit was reached"));
        }
        if self.jobs() {
            return Ok(true);
        }
        if !self.run.queue.is_empty() {
            self.send()?;
            return Ok(true);
        }
        let due: f64 = self.prelude_call("due", ())?;
        if due < 0.0 {
            return Ok(false);
        }
        self.run.clock.wait_until(due as u64);
        if !self.run.clock.is_expired() {
            self.prelude_call::<_, ()>("fire", ())?;
        }
        Ok(true)
    }

    /// Runs some pending jobs. Returns `false` if there were none.
    fn jobs(&self) -> bool {
        let mut any = false;
        for _ in 0..JOBS_PER_CHECK {
            if !self.ctx.execute_pending_job() {
                break;
            }
            any = true;
        }
        any
    }

    /// Sends the pending calls and settles their promises. Returns their number.
    fn send(&self) -> Result<u32, ScriptError> {
        let outcomes = self.run.queue.send();
        let count = outcomes.len() as u32;
        for (id, outcome) in outcomes {
            let (kind, rendered) = render_outcome(&self.run.tools, outcome);
            self.prelude_call::<_, ()>("settle", (id, kind, rendered))?;
        }
        Ok(count)
    }

    fn prelude_call<A, T>(&self, name: &str, arguments: A) -> Result<T, ScriptError>
    where
        A: rquickjs::function::IntoArgs<'js>,
        T: rquickjs::FromJs<'js>,
    {
        let answer = self.prelude.get(name).and_then(|function: Function| function.call(arguments));
        answer.catch(self.ctx).map_err(|error| self.failure(error))
    }

    fn serialize(&self, value: Value<'js>) -> Result<Option<String>, ScriptError> {
        let json: Option<String> = self.prelude_call("serialize", (value,))?;
        match json {
            Some(json) if json.len() > MAX_VALUE_BYTES => Err(ScriptError::from_message(format!(
                "the script returned {} bytes of JSON; the limit is {MAX_VALUE_BYTES}. Return less.",
                json.len()
            ))),
            json => Ok(json.map(well_formed)),
        }
    }

    fn failure(&self, error: CaughtError<'js>) -> ScriptError {
        let value = match error {
            CaughtError::Error(error) => return ScriptError::from_message(error.to_string()),
            CaughtError::Exception(exception) => exception.into_object().into_value(),
            CaughtError::Value(value) => value,
        };
        let describe =
            self.prelude.get("describe").and_then(|describe: Function| describe.call::<_, String>((value,)));
        match describe.catch(self.ctx) {
            Ok(json) => failure::from_description(&json, self.script, self.source),
            Err(_) => ScriptError::from_message("the script threw a value that cannot be shown"),
        }
    }
}

fn render_outcome(tools: &super::ScriptTools, outcome: Result<Reply, Fault>) -> (&'static str, String) {
    match outcome {
        Ok(reply) if reply.is_error => ("fault", tools.error_from_reply(&reply.text()).to_string()),
        Ok(mut reply) => match data(&mut reply) {
            Ok(Some(json)) if !is_deep(&json) => with_integers(json),
            Ok(_) => ("text", text(reply.content)),
            Err(fault) => render_fault(fault),
        },
        Err(fault) => render_fault(fault),
    }
}

fn render_fault(fault: Fault) -> (&'static str, String) {
    let suggestion = fault.hint.unwrap_or_default();
    let kind = kind(fault.kind);
    ("fault", json!({"message": fault.message, "type": kind, "suggestion": suggestion}).to_string())
}

/// Returns JSON with its kind for the prelude: `integers` if integers beyond 2^53 are marked in it.
fn with_integers(json: String) -> (&'static str, String) {
    match big_int::marked(&json) {
        Some(marked) => ("integers", marked),
        None => ("json", json),
    }
}

/// Maximum characters next to the data of a text. A longer text is a document with data in it.
const MAX_BESIDE_CHARS: usize = 500;

/// Returns the data of a reply as a script gets it: structured data as the tool declared it, or an object or a list in
/// the text.
fn data(reply: &mut Reply) -> Result<Option<String>, Fault> {
    if let Some(json) = reply.structured.take() {
        return Ok(Some(unwrapped(reply, &json).unwrap_or(json)));
    }
    let is_script_value = |data: &ReplyData| {
        let is_value = data.json.trim_start().starts_with(['{', '[']);
        is_value && data.pointer.is_none() && data.beside.chars().count() <= MAX_BESIDE_CHARS
    };
    Ok(reply.view()?.data.filter(is_script_value).map(|data| data.json))
}

/// Returns the value in `{"result": …}`, if the library of the server added the wrapper.
fn unwrapped(reply: &Reply, json: &str) -> Option<String> {
    const SERVER_DATA_KEY: &str = "gatehouse/server-data";
    let meta: Map<String, serde_json::Value> = serde_json::from_str(reply.meta.as_deref()?).ok()?;
    let wrapper: BTreeMap<String, Box<RawValue>> =
        (meta.get(SERVER_DATA_KEY)? == "wrapped").then(|| serde_json::from_str(json).ok())??;
    Some(wrapper.get("result")?.get().to_owned())
}

fn text(content: Vec<Content>) -> String {
    let blocks = content.into_iter().map(|block| match block {
        Content::Text(text) => text,
        Content::Image(media) => format!("[image, {}, {} bytes]", media.mime_type, media.data.len()),
        Content::Audio(media) => format!("[audio, {}, {} bytes]", media.mime_type, media.data.len()),
        Content::Link(link) => link.uri,
        Content::Embedded(resource) => match resource.body {
            ResourceBody::Text(text) => text,
            ResourceBody::Blob(bytes) => format!("[{}, {} bytes]", resource.uri, bytes.len()),
        },
        Content::Other(json) => json,
    });
    blocks.collect::<Vec<_>>().join("\n")
}

fn kind(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::InvalidArguments => "invalid-arguments",
        FaultKind::NotFound => "not-found",
        FaultKind::Denied => "denied",
        FaultKind::Unavailable => "unavailable",
        FaultKind::TimedOut => "timed-out",
        FaultKind::Exhausted => "exhausted",
        FaultKind::Internal => "internal",
    }
}
