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

    /// Where the tool names a parameter that has to exist (`x-target`) and a tool that says whether it does (`x-precheck`):
    /// asks it before anything is changed.
    pub(super) fn precheck(&self, params: &Map<String, Value>, time: &Time) -> Result<(), Refusal> {
        let schema = if self.of_server {
            servers::tool(&self.source, &self.tool).map(|tool| tool.input_schema)
        } else {
            catalog::schema(&self.tool)
        };
        let schema = self::schema(&schema.map_err(Refusal::of)?);
        let (Some(target), Some(check)) = (schema["x-target"].as_str(), schema["x-precheck"].as_str()) else {
            return Ok(());
        };
        let Some(value) = params.get(target) else { return Ok(()) };
        let checker = if self.of_server {
            Self::find(&format!("{}/{check}", self.source), self.isolation)?
        } else {
            // Of the same gate: what is looked up is nobody else's business.
            let entries = catalog::tools().map_err(Refusal::of)?;
            let own = entries.iter().find(|entry| entry.source == self.source && entry.tool == check);
            Self::find(own.map_or(check, |entry| &entry.name), self.isolation)?
        };
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
        let arguments = Value::Object(Map::from_iter([(target.to_owned(), value.clone())])).to_string();
        let why = match checker.call(&arguments, time.left()?) {
            Ok(reply) if !reply.is_error => return Ok(()),
            Ok(reply) => reply.text(),
            Err(fault) if matches!(fault.kind, FaultKind::NotFound | FaultKind::InvalidArguments) => {
                fault.message
            }
            Err(fault) => return Err(Refusal::of(fault)),
        };
        let told = crate::named::line(&why, 300);
        Err(Refusal::wrong(
            format!("{target} {value} did not pass '{check}': {told}"),
            "Nothing was changed. Name something that exists.".into(),
        ))
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
