//! The tool that a request names: a tool of the preset, or of a server behind the host.

use gatehouse_sdk::{
    Effect, Fault, FaultKind, Reply,
    catalog::{self, Entry},
    servers,
};
use serde_json::{Map, Value};

use super::{NAME, RequestDeadline, RequestRoute, answer::RequestError, envelope::Isolation};
use crate::reply_format;

const MAX_LISTED: usize = 60;

const FOR_AUTHOR: &str = "The tool's author has to fix this.";

pub(super) struct RequestTarget {
    source: String,
    pub(super) route: RequestRoute,
    /// The name to call it by: the client's name for it, or the server's own.
    tool: String,
    pub(super) effect: Effect,
    idempotent: bool,
    dry_run: Option<String>,
    /// True for a tool of a server, which is called by the server's name for it.
    is_server_tool: bool,
    isolation: Isolation,
}

impl RequestTarget {
    /// Finds a tool by its name in the preset, or as `server/tool`.
    pub(super) fn find(action: &str, isolation: Isolation) -> Result<Self, RequestError> {
        let entries = catalog::tools()?;
        if let Some(entry) = entries.iter().find(|entry| entry.name == action) {
            if is_request(entry)? {
                let next = "Set action to the tool to run.";
                return Err(RequestError::invalid("'request' cannot run itself", next));
            }
            let reason = (isolation != Isolation::Agent)
                .then(|| "a gate has its own instance for each call anyway".into());
            return Ok(Self {
                source: entry.source.clone(),
                tool: entry.name.clone(),
                effect: entry.effect,
                idempotent: entry.idempotent,
                dry_run: entry.dry_run.clone(),
                is_server_tool: false,
                isolation,
                route: RequestRoute { source: Some(entry.source.clone()), isolated: false, reason },
            });
        }
        let Some((server, tool)) = action.split_once('/') else { return Err(unknown(action, &entries)) };
        let (isolated, reason) = match isolation {
            Isolation::Agent => (false, None),
            Isolation::Subprocess => (true, None),
            Isolation::Auto => {
                let advice = servers::advise(server)?;
                (advice.apart, Some(advice.reason))
            }
        };
        if isolated {
            servers::learn(server)?;
        }
        let server_tool = servers::tool(server, tool)?;
        Ok(Self {
            route: RequestRoute { source: Some(server_tool.server.clone()), isolated, reason },
            source: server_tool.server,
            tool: server_tool.name,
            effect: server_tool.effect,
            idempotent: server_tool.idempotent,
            dry_run: parse_schema(&server_tool.input_schema)["x-dry-run"].as_str().map(str::to_owned),
            is_server_tool: true,
            isolation,
        })
    }

    /// Returns whether a repeated call has no further effect.
    pub(super) fn may_repeat(&self) -> bool {
        self.effect == Effect::ReadOnly || self.idempotent
    }

    pub(super) fn set_dry_run(&self, params: &mut Map<String, Value>) -> Result<(), RequestError> {
        let Some(argument) = &self.dry_run else {
            let reason = format!("'{}' does not support constraints.dry_run", self.tool);
            let next = "Omit dry_run, or use a tool that supports it. For a server's tool, presets.toml names the \
            argument: dry_run under [servers.SERVER.tools.TOOL].";
            return Err(RequestError::invalid(reason, next));
        };
        params.insert(argument.clone(), true.into());
        Ok(())
    }

    /// Runs the check that the tool's schema declares. `x-precheck` names a read-only tool that must find the value of
    /// the parameter `x-target`, or the tool itself, which then makes a dry run.
    pub(super) fn precheck(
        &self,
        params: &Map<String, Value>,
        time: &RequestDeadline,
    ) -> Result<(), RequestError> {
        let schema = self.schema()?;
        let Some(check) = schema["x-precheck"].as_str() else { return Ok(()) };
        // Only the same gate or server knows its own data.
        let name = if self.is_server_tool {
            Some(check.to_owned())
        } else {
            let is_checker = |entry: &Entry| entry.source == self.source && entry.tool == check;
            catalog::tools()?.into_iter().find(is_checker).map(|entry| entry.name)
        };
        let Some(name) = name else {
            let reason = format!("'{}' is checked by '{check}', which is not in this preset", self.tool);
            return Err(RequestError::invalid(reason, format!("Allow '{check}' in the preset.")));
        };
        if name == self.tool {
            let mut params = params.clone();
            self.set_dry_run(&mut params)?;
            let outcome = self.call(&Value::Object(params).to_string(), time.remaining_ms()?);
            return check_passed(outcome, "the dry run failed");
        }
        let Some((target, value)) = schema["x-target"].as_str().and_then(|key| params.get_key_value(key))
        else {
            return Ok(());
        };
        let action = if self.is_server_tool { format!("{}/{name}", self.source) } else { name };
        let checker = Self::find(&action, self.isolation).map_err(|error| {
            let hint = || format!("Correct precheck under [servers.{}.tools.{}].", self.source, self.tool);
            error.for_check(&self.tool, check, self.is_server_tool.then(hint))
        })?;
        if checker.effect != Effect::ReadOnly {
            let reason = format!("'{check}' cannot check '{}': it is not read-only", self.tool);
            let section = format!("[servers.{}.tools.{check}]", self.source);
            let fix = format!("Write effect = \"read-only\" under {section} if it only reads.");
            let next = if self.is_server_tool { fix } else { FOR_AUTHOR.into() };
            return Err(RequestError::invalid(reason, next));
        }
        let Some(argument) = argument_for(&checker.schema()?, target) else {
            let lacks = format!("neither a parameter '{target}' nor exactly one required parameter");
            let reason = format!("'{check}' has {lacks}, so it cannot check '{}'", self.tool);
            return Err(RequestError::invalid(reason, FOR_AUTHOR));
        };
        let arguments = Value::Object(Map::from_iter([(argument, value.clone())])).to_string();
        let outcome = checker.call(&arguments, time.remaining_ms()?);
        let value = reply_format::line(&value.to_string(), 300);
        check_passed(outcome, &format!("{target} {value} did not pass '{check}'"))
    }

    fn schema(&self) -> Result<Value, RequestError> {
        let schema = if self.is_server_tool {
            servers::tool(&self.source, &self.tool).map(|tool| tool.input_schema)
        } else {
            catalog::schema(&self.tool)
        };
        Ok(parse_schema(&schema?))
    }

    pub(super) fn call(&self, arguments: &str, timeout_ms: u64) -> Result<Reply, Fault> {
        if self.route.isolated {
            servers::call_apart(&self.source, &self.tool, arguments, timeout_ms)
        } else if self.is_server_tool {
            servers::call_within(&self.source, &self.tool, arguments, timeout_ms)
        } else {
            catalog::call_within(&self.tool, arguments, timeout_ms)
        }
    }
}

/// Returns whether this is the tool `request`, even if the preset renames it or its gate.
fn is_request(entry: &Entry) -> Result<bool, RequestError> {
    if entry.tool != NAME {
        return Ok(false);
    }
    let schema = catalog::schema(&entry.name)?;
    Ok(parse_schema(&schema)["properties"] == super::request_schema()["properties"])
}

fn parse_schema(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_default()
}

/// Finds the checker's parameter for the target: the one with the same name, or its only required one.
fn argument_for(schema: &Value, target: &str) -> Option<String> {
    let properties = schema["properties"].as_object();
    // A schema without properties accepts any name.
    if properties.is_none_or(|properties| properties.contains_key(target)) {
        return Some(target.to_owned());
    }
    match schema["required"].as_array()?.as_slice() {
        [Value::String(only)] => Some(only.clone()),
        _ => None,
    }
}

/// Succeeds if the check succeeded; otherwise returns an error that begins with `failed`.
fn check_passed(outcome: Result<Reply, Fault>, failed: &str) -> Result<(), RequestError> {
    let (reason, hint) = match outcome {
        Ok(reply) if !reply.is_error => return Ok(()),
        Ok(reply) => (reply.text(), None),
        Err(fault) if matches!(fault.kind, FaultKind::NotFound | FaultKind::InvalidArguments) => {
            (fault.message, fault.hint)
        }
        Err(fault) => return Err(fault.into()),
    };
    let next = hint.unwrap_or_else(|| "Name something that exists.".into());
    Err(RequestError::invalid(
        format!("{failed}: {}", reply_format::line(&reason, 300)),
        format!("Nothing was changed. {next}"),
    ))
}

fn unknown(action: &str, entries: &[Entry]) -> RequestError {
    let names: Vec<&str> =
        entries.iter().filter(|entry| entry.tool != NAME).map(|entry| &*entry.name).collect();
    let mut listed = names[..names.len().min(MAX_LISTED)].join(", ");
    if names.len() > MAX_LISTED {
        listed.push_str(", …");
    }
    RequestError::invalid(
        format!("unknown action '{}'", reply_format::line(action, 64)),
        format!("Actions: {listed}; or server/tool for a tool of an MCP server."),
    )
}
