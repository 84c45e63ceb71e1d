//! Checks of one tool with generated arguments.

use gatehouse_core::{FaultKind, names::quoted, outcome::Reply, schema::Schema, tool::ToolSpec};
use gatehouse_sandbox::{Gate, ProbeOutcome, ProbeReport};

use super::{CheckLine, instances};

/// Calls a tool with each instance of its schema. Raises `peak` to the highest memory use of a call, in bytes.
pub(super) async fn check(gate: &Gate, tool: &ToolSpec, params: &str, peak: &mut usize) -> CheckLine {
    let what = format!("tool '{}' answers all arguments that its schema allows", tool.name);
    if tool.description.trim().is_empty() {
        return CheckLine::failed(what, "it has no description, so a model cannot choose it");
    }
    let tried = instances::generate(&tool.input_schema);
    if tried.is_empty() {
        return CheckLine::skipped(what, "found no arguments that match its schema; test it manually");
    }
    let (mut replies, mut faults) = (0, 0);
    for instance in &tried {
        let ProbeReport { outcome, memory } =
            gate.try_out(&tool.name, &instance.value.to_string(), params).await;
        *peak = (*peak).max(memory);
        let wrong = match outcome {
            ProbeOutcome::Replied(reply) => {
                replies += 1;
                structured(tool, &reply).err()
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
        if let Some(why) = wrong {
            return CheckLine::failed(what, format!("{}: {why}", instance.label));
        }
    }
    CheckLine::ok(what, format!("{} calls: {replies} replies, {faults} faults", tried.len()))
}

/// Checks the structured data of a reply against the output schema of the tool.
fn structured(tool: &ToolSpec, reply: &Reply) -> Result<(), String> {
    let Some(schema) = tool.output_schema.as_ref().filter(|_| !reply.is_error) else { return Ok(()) };
    let Some(data) = &reply.structured else {
        return Err("it declares an output schema, but its reply has no structured data".into());
    };
    let checked = Schema::new(schema.clone()).check(data, "member");
    checked.map_err(|why| format!("its structured data does not match its output schema: {why}"))
}

/// Checks the call of an unknown tool, which happens if an older version of the gate had it.
pub(super) async fn unknown(gate: &Gate, params: &str) -> Result<String, String> {
    match gate.try_out("no_such_tool", "{}", params).await.outcome {
        ProbeOutcome::Faulted(fault) if fault.kind == FaultKind::NotFound => Ok(quoted(&fault.message, 120)),
        ProbeOutcome::Faulted(fault) => Err(format!("but as another kind of fault: {}", fault.message)),
        ProbeOutcome::Replied(_) => Err("it replies instead of failing".into()),
        ProbeOutcome::Failed(fault) => Err(fault.message),
    }
}
