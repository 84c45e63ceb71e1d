//! Conformance checks of a gate: its declarations, and its replies to any arguments that its schemas allow.
//!
//! Calls are made without grants, so nothing outside the sandbox changes. Traps and exceeded limits are failures.

mod instances;
pub(crate) mod providers;

use gatehouse_core::{
    FaultKind, Source,
    conversion::{DocumentFormat, SourceFile},
    names::quoted,
    outcome::Reply,
    ports::DocumentConverter as _,
    schema::{self, Schema},
    source::Listing,
    tool::ToolSpec,
};
use gatehouse_sandbox::{Gate, ProbeOutcome, ProbeReport};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::plain_error::PlainError;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CheckStatus {
    Ok,
    Failed,
    /// Passed, but the gate will not work with every client.
    Warning,
    /// The check could not run.
    Skipped,
}

#[derive(Debug, Serialize)]
pub(crate) struct CheckLine {
    pub(crate) check: String,
    pub(crate) verdict: CheckStatus,
    /// Details, or an empty text.
    pub(crate) said: String,
}

impl CheckLine {
    fn new(verdict: CheckStatus, check: impl Into<String>, said: impl Into<String>) -> Self {
        Self { check: check.into(), verdict, said: said.into() }
    }

    pub(crate) fn ok(check: impl Into<String>, said: impl Into<String>) -> Self {
        Self::new(CheckStatus::Ok, check, said)
    }

    pub(crate) fn warning(check: impl Into<String>, said: impl Into<String>) -> Self {
        Self::new(CheckStatus::Warning, check, said)
    }

    pub(crate) fn failed(check: impl Into<String>, said: impl Into<String>) -> Self {
        Self::new(CheckStatus::Failed, check, said)
    }

    pub(crate) fn count_failed(lines: &[Self]) -> usize {
        lines.iter().filter(|line| line.verdict == CheckStatus::Failed).count()
    }

    pub(crate) fn from_result(
        check: impl Into<String>,
        found: Result<String, impl Into<PlainError>>,
    ) -> Self {
        match found {
            Ok(said) => Self::ok(check, said),
            Err(reason) => Self::failed(check, Into::<PlainError>::into(reason)),
        }
    }
}

/// The first check. All others need a loaded gate.
pub(crate) const IS_A_GATE: &str = "is a component of the contract gatehouse:gate@0.1.0";

pub(crate) async fn run(gate: &Gate) -> Vec<CheckLine> {
    let mut lines = vec![CheckLine::ok(IS_A_GATE, "")];
    let listing = match gate.describe(&Map::new()).await {
        Ok(listing) => listing,
        Err(fault) => {
            lines.push(CheckLine::failed("describes itself", fault.in_one_line()));
            return lines;
        }
    };
    lines.push(CheckLine::ok("describes itself", format!("{} {}", listing.name, listing.version)));
    let sound = listing.check().map_err(|error| error.to_string());
    let whole = sound.is_ok();
    lines.push(CheckLine::from_result(
        "names, schemas and sizes are valid",
        sound.map(|()| tool_summary(&listing)),
    ));
    lines.push(CheckLine::from_result("describe is repeatable", describe_again(gate, &listing).await));
    lines.push(CheckLine::from_result(
        "every parameter has a default that matches its omission",
        defaults(gate, &listing).await,
    ));
    lines.push(CheckLine::from_result("an unknown parameter is refused", unknown_parameter(gate).await));
    if !whole {
        return lines;
    }
    let params = schema::with_defaults(&listing.params_schema, &Map::new());
    let params = Value::Object(params).to_string();
    let mut peak = 0;
    for tool in &listing.tools {
        lines.extend(providers_take(tool));
        lines.push(check_tool(gate, tool, &params, &mut peak).await);
    }
    for format in &listing.formats {
        lines.push(check_format(gate, format).await);
    }
    lines.push(CheckLine::from_result("an unknown tool is not found", unknown_tool(gate, &params).await));
    let limit = gate.limits().memory >> 20;
    let peak = peak as f64 / f64::from(1 << 20);
    lines.push(CheckLine::ok(
        "memory stays within the limit",
        format!("at most {peak:.1} of {limit} MiB in one call"),
    ));
    lines
}

fn tool_summary(listing: &Listing) -> String {
    if listing.tools.is_empty() && !listing.formats.is_empty() {
        let names: Vec<&str> = listing.formats.iter().map(|format| &*format.name).collect();
        return format!("no tools; converts {}", names.join(", "));
    }
    let names: Vec<&str> = listing.tools.iter().map(|tool| &*tool.name).collect();
    format!("{} tool{}: {}", names.len(), if names.len() == 1 { "" } else { "s" }, names.join(", "))
}

/// Files that no converter may fail on: without content, of another format, and cut in the middle.
const HOSTILE_FILES: [&[u8]; 4] = [b"", b"\0\xff\xfe\x80garbage", b"PK\x03\x04\x14\0\0\0", &[b'('; 100_000]];

/// Checks that a converter answers for files that it cannot read.
async fn check_format(gate: &Gate, format: &DocumentFormat) -> CheckLine {
    let check = format!("damaged files of format '{}' have a reason", quoted(&format.name, 40));
    let name = format!("check.{}", format.endings[0]);
    let mut reason = String::new();
    for bytes in HOSTILE_FILES {
        let (name, media_type) = (name.clone(), format.media_type.clone());
        match gate.convert(SourceFile { name, media_type, bytes: bytes.to_vec() }).await {
            Ok(_) => {}
            Err(fault) if fault.kind == FaultKind::InvalidArguments => reason = fault.message,
            Err(fault) => return CheckLine::failed(check, fault.in_one_line()),
        }
    }
    CheckLine::ok(check, quoted(&reason, 80))
}

/// Returns a warning if a model provider would refuse the tool.
fn providers_take(tool: &ToolSpec) -> Option<CheckLine> {
    let names = providers::refused_name(&tool.name).into_iter();
    let problems: Vec<String> = names.chain(providers::refused_keywords(&tool.input_schema)).collect();
    let label = format!("tool '{}' is accepted by every model provider", tool.name);
    (!problems.is_empty()).then(|| CheckLine::warning(label, problems.join("; ")))
}

async fn describe_again(gate: &Gate, first: &Listing) -> Result<String, PlainError> {
    match gate.describe(&Map::new()).await {
        Ok(again) if again == *first => Ok(String::new()),
        Ok(_) => {
            Err("two calls with the same parameters returned different results; describe must not depend on time, \
            randomness or hash order"
                .into())
        }
        Err(fault) => Err(format!("the second time: {}", fault.in_one_line()).into()),
    }
}

/// Checks that explicit default parameters mean the same as omitted ones.
async fn defaults(gate: &Gate, listing: &Listing) -> Result<String, PlainError> {
    let properties = listing.params_schema.get("properties").and_then(Value::as_object);
    let without = properties.into_iter().flatten().find(|(_, member)| member.get("default").is_none());
    if let Some((name, _)) = without {
        bail!("parameter '{}' has no default in the params-schema", quoted(name, 64));
    }
    let written = schema::with_defaults(&listing.params_schema, &Map::new());
    // `list` also validates the parameters, so it refuses defaults that the schema does not allow.
    gate.list(&written).await.map_err(|fault| format!("its own defaults: {}", fault.in_one_line()))?;
    match gate.describe(&written).await {
        Ok(same) if same == *listing => Ok(Value::Object(written).to_string()),
        Ok(_) => Err("describe returns different results if the defaults are written out".into()),
        Err(fault) => Err(format!("its own defaults: {}", fault.in_one_line()).into()),
    }
}

async fn unknown_parameter(gate: &Gate) -> Result<String, PlainError> {
    let params = Map::from_iter([("no_such_parameter".to_owned(), Value::Bool(true))]);
    match gate.list(&params).await {
        Err(fault) if fault.kind == FaultKind::InvalidArguments => Ok(quoted(&fault.message, 120)),
        Err(fault) => Err(format!("but not as an invalid argument: {}", fault.in_one_line()).into()),
        Ok(_) => Err("it is accepted; add \"additionalProperties\": false to the params-schema".into()),
    }
}

/// Calls a tool with each instance of its schema. Raises `peak` to the highest memory use of a call, in bytes.
async fn check_tool(gate: &Gate, tool: &ToolSpec, params: &str, peak: &mut usize) -> CheckLine {
    let label = format!("tool '{}' answers all arguments that its schema allows", tool.name);
    if tool.description.trim().is_empty() {
        return CheckLine::failed(label, "it has no description, so a model cannot choose it");
    }
    let tried = instances::generate(&tool.input_schema);
    if tried.is_empty() {
        let reason = "found no arguments that match its schema; test it manually";
        return CheckLine::new(CheckStatus::Skipped, label, reason);
    }
    let (mut replies, mut faults) = (0, 0);
    for instance in &tried {
        let ProbeReport { outcome, memory } =
            gate.try_out(&tool.name, &instance.value.to_string(), params).await;
        *peak = (*peak).max(memory);
        let wrong = match outcome {
            ProbeOutcome::Replied(reply) => {
                replies += 1;
                structured(tool, &reply).err().map(String::from)
            }
            ProbeOutcome::Faulted(fault) if fault.message.trim().is_empty() => {
                Some("a fault without a message".into())
            }
            // The gate reports a bug of its own. Templates convert uncaught exceptions to this fault.
            ProbeOutcome::Faulted(fault) if fault.kind == FaultKind::Internal => Some(fault.message),
            ProbeOutcome::Faulted(_) => {
                faults += 1;
                None
            }
            ProbeOutcome::Failed(fault) => Some(fault.message),
        };
        if let Some(reason) = wrong {
            return CheckLine::failed(label, format!("{}: {reason}", instance.label));
        }
    }
    CheckLine::ok(label, format!("{} calls: {replies} replies, {faults} faults", tried.len()))
}

/// Checks the structured data of a reply against the output schema of the tool.
fn structured(tool: &ToolSpec, reply: &Reply) -> Result<(), PlainError> {
    let Some(schema) = tool.output_schema.as_ref().filter(|_| !reply.is_error) else { return Ok(()) };
    let Some(data) = &reply.structured else {
        return Err("it declares an output schema, but its reply has no structured data".into());
    };
    let checked = Schema::new(schema.clone()).check(data, "member");
    checked.map_err(|reason| format!("its structured data does not match its output schema: {reason}").into())
}

/// Checks the call of an unknown tool, which happens if an older version of the gate had it.
async fn unknown_tool(gate: &Gate, params: &str) -> Result<String, PlainError> {
    match gate.try_out("no_such_tool", "{}", params).await.outcome {
        ProbeOutcome::Faulted(fault) if fault.kind == FaultKind::NotFound => Ok(quoted(&fault.message, 120)),
        ProbeOutcome::Faulted(fault) => {
            Err(format!("but as another kind of fault: {}", fault.message).into())
        }
        ProbeOutcome::Replied(_) => Err("it replies instead of failing".into()),
        ProbeOutcome::Failed(fault) => Err(fault.message.into()),
    }
}
