//! What a request is about: a tool of the preset, or of a server behind the host.

use gatehouse_sdk::{
    Effect, Fault, FaultKind, Reply,
    catalog::{self, Entry},
    servers,
};
use serde_json::{Map, Value};

use super::{NAME, Time, Way, answer::Refusal, envelope::Isolation};

/// Names that a refusal lists; more of them nobody reads.
const MOST_LISTED: usize = 60;

/// A tool that was found.
pub(super) struct Target {
    /// The gate or server.
    source: String,
    /// As it is called: the name that the client would use, or the server's own.
    tool: String,
    pub(super) effect: Effect,
    idempotent: bool,
    dry_run: Option<String>,
    /// Whether it is a server's, by that server's name for it.
    of_server: bool,
    isolation: Isolation,
    /// Whether the server is started for this call alone.
    apart: bool,
    /// Why, where the request did not say how it is to be, or it cannot be as it says.
    reason: Option<String>,
}

impl Target {
    /// Finds it by its name in the preset, or as `server/tool`.
    pub(super) fn find(action: &str, isolation: Isolation) -> Result<Self, Refusal> {
        let entries = catalog::tools().map_err(Refusal::of)?;
        if let Some(entry) = entries.iter().find(|entry| entry.name == action) {
            if is_request(entry)? {
                return Err(Refusal::wrong(
                    "A request cannot be about itself.".into(),
                    "Name the tool that is to run.".into(),
                ));
            }
            return Ok(Self {
                source: entry.source.clone(),
                tool: entry.name.clone(),
                effect: entry.effect,
                idempotent: entry.idempotent,
                dry_run: entry.dry_run.clone(),
                of_server: false,
                isolation,
                apart: false,
                reason: (isolation != Isolation::Agent)
                    .then(|| "a gate has an instance of its own for each call anyway".into()),
            });
        }
        let Some((server, tool)) = action.split_once('/') else { return Err(unknown(action, &entries)) };
        let (apart, reason) = match isolation {
            Isolation::Agent => (false, None),
            Isolation::Subprocess => (true, None),
            Isolation::Auto => {
                let advice = servers::advise(server).map_err(Refusal::of)?;
                (advice.apart, Some(advice.reason))
            }
        };
        if apart {
            servers::learn(server).map_err(Refusal::of)?;
        }
        let found = servers::tool(server, tool).map_err(Refusal::of)?;
        Ok(Self {
            source: found.server,
            tool: found.name,
            effect: found.effect,
            idempotent: found.idempotent,
            dry_run: schema(&found.input_schema)["x-dry-run"].as_str().map(str::to_owned),
            of_server: true,
            isolation,
            apart,
            reason,
        })
    }

    /// How a call of it goes.
    pub(super) fn way(&self) -> Way {
        Way { source: Some(self.source.clone()), apart: self.apart, reason: self.reason.clone() }
    }

    /// Whether doing it twice does no more than doing it once.
    pub(super) fn may_repeat(&self) -> bool {
        self.effect == Effect::ReadOnly || self.idempotent
    }

    /// Makes a rehearsal of the call.
    pub(super) fn rehearse(&self, params: &mut Map<String, Value>) -> Result<(), Refusal> {
        let Some(argument) = &self.dry_run else {
            let why = format!("'{}' has no rehearsal, so constraints.dry_run cannot be kept.", self.tool);
            let next = "Leave dry_run out, or use a tool that has one. For a server's tool, presets.toml names the argument: \
                        dry_run under [servers.SERVER.tools.TOOL].";
            return Err(Refusal::wrong(why, next.into()));
        };
        params.insert(argument.clone(), true.into());
        Ok(())
    }

    /// Checks a call before anything is changed, as the tool's schema asks for it: `x-precheck` names a tool that reads
    /// and that has to find the value of the parameter `x-target`, or the tool itself, which then makes a dry run.
    pub(super) fn precheck(&self, params: &Map<String, Value>, time: &Time) -> Result<(), Refusal> {
        let schema = self.schema()?;
        let Some(check) = schema["x-precheck"].as_str() else { return Ok(()) };
        let entries = if self.of_server { Vec::new() } else { catalog::tools().map_err(Refusal::of)? };
        // Of the same gate or server, which alone knows its own things.
        let name = if self.of_server {
            Some(check)
        } else {
            let own = entries.iter().find(|entry| entry.source == self.source && entry.tool == check);
            own.map(|entry| &*entry.name)
        };
        let Some(name) = name else {
            let why = format!("'{}' is checked by '{check}', which this preset does not have.", self.tool);
            return Err(Refusal::wrong(why, format!("Allow '{check}' in the preset.")));
        };
        if name == self.tool {
            let mut params = params.clone();
            self.rehearse(&mut params)?;
            return passed(self.call(&Value::Object(params).to_string(), time.left()?), "The dry run failed");
        }
        let Some((target, value)) = schema["x-target"].as_str().and_then(|key| params.get_key_value(key))
        else {
            return Ok(());
        };
        let action = if self.of_server { format!("{}/{name}", self.source) } else { name.to_owned() };
        let checker = Self::find(&action, self.isolation).map_err(|refusal| {
            let line = || format!("Correct precheck under [servers.{}.tools.{}].", self.source, self.tool);
            refusal.of_check(&self.tool, check, self.of_server.then(line))
        })?;
        if checker.effect != Effect::ReadOnly {
            let why = format!("'{check}', which is to check '{}', does more than read.", self.tool);
            let next = if self.of_server {
                format!(
                    "Write effect = \"read-only\" under [servers.{}.tools.{check}] if it only reads.",
                    self.source
                )
            } else {
                "This is a mistake of the tool's author.".into()
            };
            return Err(Refusal::wrong(why, next));
        }
        let Some(argument) = argument_for(&checker.schema()?, target) else {
            let why = format!(
                "'{check}' has neither a parameter '{target}' nor exactly one required parameter, so it cannot check '{}'.",
                self.tool
            );
            return Err(Refusal::wrong(why, "This is a mistake of the tool's author.".into()));
        };
        let arguments = Value::Object(Map::from_iter([(argument, value.clone())])).to_string();
        passed(
            checker.call(&arguments, time.left()?),
            &format!("{target} {} did not pass '{check}'", crate::named::line(&value.to_string(), 300)),
        )
    }

    fn schema(&self) -> Result<Value, Refusal> {
        let schema = if self.of_server {
            servers::tool(&self.source, &self.tool).map(|tool| tool.input_schema)
        } else {
            catalog::schema(&self.tool)
        };
        Ok(self::schema(&schema.map_err(Refusal::of)?))
    }

    pub(super) fn call(&self, arguments: &str, timeout_ms: u64) -> Result<Reply, Fault> {
        if self.apart {
            servers::call_apart(&self.source, &self.tool, arguments, timeout_ms)
        } else if self.of_server {
            servers::call_within(&self.source, &self.tool, arguments, timeout_ms)
        } else {
            catalog::call_within(&self.tool, arguments, timeout_ms)
        }
    }
}

/// True for the tool `request`, whatever its gate and the tool are called in this preset.
fn is_request(entry: &Entry) -> Result<bool, Refusal> {
    if entry.tool != NAME {
        return Ok(false);
    }
    let own = catalog::schema(&entry.name).map_err(Refusal::of)?;
    Ok(schema(&own)["properties"] == super::shape()["properties"])
}

fn schema(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_default()
}

/// The parameter of a checking tool that takes the target: the one with the same name, or its only required one.
fn argument_for(schema: &Value, target: &str) -> Option<String> {
    let properties = schema["properties"].as_object();
    // A schema without properties takes any.
    if properties.is_none_or(|properties| properties.contains_key(target)) {
        return Some(target.to_owned());
    }
    match schema["required"].as_array()?.as_slice() {
        [Value::String(only)] => Some(only.clone()),
        _ => None,
    }
}

/// Success if the check succeeded; otherwise a refusal that begins with `failed`.
fn passed(done: Result<Reply, Fault>, failed: &str) -> Result<(), Refusal> {
    let (why, hint) = match done {
        Ok(reply) if !reply.is_error => return Ok(()),
        Ok(reply) => (reply.text(), None),
        Err(fault) if matches!(fault.kind, FaultKind::NotFound | FaultKind::InvalidArguments) => {
            (fault.message, fault.hint)
        }
        Err(fault) => return Err(Refusal::of(fault)),
    };
    let next = hint.unwrap_or_else(|| "Name something that exists.".into());
    Err(Refusal::wrong(
        format!("{failed}: {}", crate::named::line(&why, 300)),
        format!("Nothing was changed. {next}"),
    ))
}

fn unknown(action: &str, entries: &[Entry]) -> Refusal {
    let names: Vec<&str> =
        entries.iter().filter(|entry| entry.tool != NAME).map(|entry| &*entry.name).collect();
    let mut listed = names[..names.len().min(MOST_LISTED)].join(", ");
    if names.len() > MOST_LISTED {
        listed.push_str(", …");
    }
    Refusal::wrong(
        format!("There is no action '{}'.", crate::named::line(action, 64)),
        format!("Actions: {listed}; or server/tool for a tool of an MCP server."),
    )
}
