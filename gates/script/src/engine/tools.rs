//! Tools that a script can call: the caller's tools, without those of this gate.

use std::cell::OnceCell;

use gatehouse_sdk::{
    Fault,
    catalog::{self, Entry},
    context,
};
use serde_json::{Map, Value, json};

use crate::{cut, declare};

/// Returns the tool of the proxy gate that calls unlisted tools.
///
/// It is known by its names, because entries of the catalog lack `_meta`, which marks tools that forward calls. A tool
/// `call_tool` of a server does not count: it would get the arguments of calls of other servers.
pub(crate) fn forwarding_tool(entries: &[Entry]) -> Option<&Entry> {
    entries.iter().find(|entry| entry.source == "proxy" && entry.tool == "call_tool")
}

/// The tool list, fetched when a script first needs it.
#[derive(Default)]
pub(crate) struct ScriptTools(OnceCell<ToolTable>);

struct ToolTable {
    entries: Vec<Entry>,
    fault: Option<Fault>,
    proxy: Option<String>,
}

pub(crate) fn entries() -> Result<Vec<Entry>, Fault> {
    let own_name = context::exposed_name(crate::run::NAME);
    let entries = catalog::tools()?;
    let own_source = own_name
        .and_then(|name| entries.iter().find(|entry| entry.name == name).map(|entry| entry.source.clone()));
    Ok(entries.into_iter().filter(|entry| Some(&entry.source) != own_source.as_ref()).collect())
}

impl ScriptTools {
    fn table(&self) -> &ToolTable {
        self.0.get_or_init(|| {
            let (entries, fault) = match entries() {
                Ok(entries) => (entries, None),
                Err(fault) => (Vec::new(), Some(fault)),
            };
            let proxy = forwarding_tool(&entries).map(|entry| entry.name.clone());
            ToolTable { entries, fault, proxy }
        })
    }

    pub(super) fn sources(&self) -> String {
        let mut sources: Vec<(&str, Vec<&str>)> = Vec::new();
        for entry in &self.table().entries {
            match sources.iter_mut().find(|(source, _)| *source == entry.source) {
                Some((_, tools)) => tools.push(&entry.tool),
                None => sources.push((&entry.source, vec![&entry.tool])),
            }
        }
        let json = sources.into_iter().map(|(source, tools)| json!({"source": source, "tools": tools}));
        Value::from_iter(json).to_string()
    }

    /// Resolves a tool to the caller's name for it and the arguments, or to an error.
    pub(super) fn resolve(
        &self,
        source: &str,
        tool: &str,
        arguments: String,
    ) -> Result<(String, String), Value> {
        let listed = self.table();
        if let Some(fault) = &listed.fault {
            return Err(json!({
                "message": fault.message, "type": "denied", "suggestion": fault.hint, "tool": tool,
            }));
        }
        let Ok(Value::Object(object)) = serde_json::from_str(&arguments) else {
            return Err(json!({
                "message": format!("{source}.{tool} takes one object with its arguments"),
                "type": "invalid-arguments", "tool": tool,
            }));
        };
        let named = |entry: &&Entry| {
            is_same_name(&entry.source, source)
                && (entry.tool == tool || entry.name == tool || is_same_name(&entry.tool, tool))
        };
        if let Some(entry) = listed.entries.iter().find(named) {
            check(entry, &object)?;
            return Ok((entry.name.clone(), arguments));
        }
        let is_known = listed.entries.iter().any(|entry| is_same_name(&entry.source, source));
        match &listed.proxy {
            Some(proxy) if !is_known && is_name(source) && is_name(tool) => {
                let wrapped = json!({"server": source, "tool": tool, "arguments": object});
                Ok((proxy.clone(), wrapped.to_string()))
            }
            _ => Err(self.unknown(source, tool, is_known)),
        }
    }

    fn unknown(&self, source: &str, tool: &str, is_known: bool) -> Value {
        let entries = &self.table().entries;
        let mut names: Vec<&str> = match is_known {
            true => {
                let source_entries = entries.iter().filter(|entry| is_same_name(&entry.source, source));
                source_entries.map(|entry| &*entry.tool).collect()
            }
            false => entries.iter().map(|entry| &*entry.source).collect(),
        };
        names.dedup();
        let (message, label) = match is_known {
            true => (format!("{source} has no tool {:?} for scripts", cut(tool)), "Its tools"),
            false => (format!("unknown tool source {:?}", cut(source)), "The sources"),
        };
        let suggestion = match names.is_empty() {
            true => "This preset has no tools for scripts.".to_owned(),
            false => format!("{label}: {}.", names.join(", ")),
        };
        json!({"message": message, "type": "not-found", "suggestion": suggestion, "tool": cut(tool)})
    }

    pub(super) fn error_from_reply(&self, text: &str) -> Value {
        let first = text.lines().next().unwrap_or_default();
        if let Ok(Value::Object(report)) =
            serde_json::from_str::<Value>(text).or_else(|_| serde_json::from_str(first))
            && let (Some(error), Some(code)) = (report.get("error"), report.get("error_code"))
        {
            return json!({
                "message": error, "type": code, "suggestion": report.get("hint"), "tool": report.get("tool"),
            });
        }
        json!({"message": &text[..text.floor_char_boundary(4_000)], "type": "tool-error"})
    }
}

/// Compares names; `_` matches characters that are not valid in identifiers.
pub(crate) fn is_same_name(name: &str, requested: &str) -> bool {
    name == requested
        || (name.len() == requested.len()
            && name
                .chars()
                .zip(requested.chars())
                .all(|(c, other)| c == other || (other == '_' && matches!(c, '-' | '.' | '/'))))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= 128 && text.chars().all(|c| c.is_ascii_graphic())
}

/// Checks arguments before the call leaves: missing, unknown and wrongly typed members.
fn check(entry: &Entry, arguments: &Map<String, Value>) -> Result<(), Value> {
    let Ok(Value::Object(schema)) = catalog::schema(&entry.name).map(|json| parse_json(&json)) else {
        return Ok(());
    };
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let mut wrong = Vec::new();
    let missing = declare::names(schema.get("required")).filter(|name| !arguments.contains_key(*name));
    wrong.extend(missing.map(|name| format!("'{name}' is missing")));
    for (name, value) in arguments {
        match properties.get(name) {
            None if schema.get("additionalProperties") == Some(&Value::Bool(false)) => {
                wrong.push(format!("'{}' is unknown", cut(name)));
            }
            Some(property) if value.get("$artifact").is_none() && !value.is_null() => {
                if let Some(kind) = property.get("type").and_then(Value::as_str)
                    && !fits(kind, value)
                {
                    wrong.push(format!("'{name}' is not of type {kind}"));
                }
            }
            _ => {}
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(json!({
        "message": format!("invalid arguments of {}.{}: {}", entry.source, entry.tool, wrong.join(", ")),
        "type": "invalid-arguments",
        "suggestion": format!("Expected: {}", declare::signature(entry, &Value::Object(schema))),
        "tool": entry.name,
    }))
}

fn fits(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

pub(crate) fn parse_json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}
