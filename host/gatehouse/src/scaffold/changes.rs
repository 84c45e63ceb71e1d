//! Differences between two listings of a gate, for authors who just changed it.

use gatehouse_core::{source::Listing, tool::ToolSpec};
use serde_json::{Map, Value};

/// Returns one line per change: `+` added, `-` removed, `~` changed.
pub(crate) fn changes(before: &Listing, now: &Listing) -> Vec<String> {
    let mut changes = Vec::new();
    let find = |listing: &Listing, name: &str| listing.tools.iter().find(|tool| &*tool.name == name).cloned();
    for tool in &now.tools {
        match find(before, &tool.name) {
            None => changes.push(format!("+ tool '{}'", tool.name)),
            Some(old) if old == *tool => {}
            Some(old) => changes.push(format!("~ tool '{}': {}", tool.name, fields(&old, tool).join(", "))),
        }
    }
    let removed_tools = before.tools.iter().filter(|tool| find(now, &tool.name).is_none());
    changes.extend(removed_tools.map(|tool| format!("- tool '{}'", tool.name)));
    let members = members(&before.params_schema, &now.params_schema);
    if before.params_schema != now.params_schema {
        changes.push(format!("~ parameters: {}", members.join(", ")));
    }
    for (field, old, new) in [
        ("name", &before.name, &now.name),
        ("version", &before.version, &now.version),
        ("summary", &before.summary, &now.summary),
    ] {
        if old != new {
            changes.push(format!("~ {field}: {new}"));
        }
    }
    if changes.is_empty() && before != now {
        changes.push("~ the order of the tools".into());
    }
    changes
}

fn fields(old: &ToolSpec, new: &ToolSpec) -> Vec<String> {
    let mut fields: Vec<String> = [
        ("title", old.title != new.title),
        ("description", old.description != new.description),
        ("output schema", old.output_schema != new.output_schema),
        ("intent", old.intent != new.intent),
        ("effect", old.effect != new.effect),
        ("idempotent", old.idempotent != new.idempotent),
        ("open-world", old.open_world != new.open_world),
        ("dry-run", old.dry_run != new.dry_run),
        ("additive", old.additive != new.additive),
        ("meta", old.meta != new.meta),
        ("icons", old.icons != new.icons),
    ]
    .into_iter()
    .filter(|(_, differs)| *differs)
    .map(|(name, _)| name.to_owned())
    .collect();
    if old.input_schema != new.input_schema {
        fields.push(format!("arguments ({})", members(&old.input_schema, &new.input_schema).join(", ")));
    }
    fields
}

/// Returns the differing members of two object schemas, or `schema` if only the rest differs.
fn members(old: &Map<String, Value>, new: &Map<String, Value>) -> Vec<String> {
    let of = |schema: &Map<String, Value>| {
        schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default()
    };
    let (old, new) = (of(old), of(new));
    let mut members = Vec::new();
    for (name, schema) in &new {
        match old.get(name) {
            None => members.push(format!("+{name}")),
            Some(before) if before == schema => {}
            Some(_) => members.push(format!("~{name}")),
        }
    }
    members.extend(old.keys().filter(|name| !new.contains_key(*name)).map(|name| format!("-{name}")));
    if members.is_empty() {
        members.push("schema".into());
    }
    members
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listing(tools: Value, params: Value) -> Listing {
        let tool = |name: &str, spec: &Value| {
            json!({"name": name, "title": null, "description": spec["description"], "output_schema": null,
                   "input_schema": {"type": "object", "properties": spec["arguments"]}, "intent": "query",
                   "effect": "read-only", "idempotent": true, "open_world": false, "dry_run": null})
        };
        let tools: Vec<Value> =
            tools.as_object().into_iter().flatten().map(|(name, spec)| tool(name, spec)).collect();
        let listing = json!({"name": "weather", "version": "1", "summary": "",
                             "params_schema": {"properties": params}, "tools": tools});
        serde_json::from_value(listing).expect("a listing")
    }

    #[test]
    fn every_change_is_named() {
        let plain = json!({"description": "", "arguments": {"city": {"type": "string"}, "day": {}}});
        let before = listing(json!({"forecast": plain, "old": plain, "same": plain}), json!({"units": {}}));
        let other = json!({"description": "better", "arguments": {"city": {"type": "integer"}, "hour": {}}});
        let now =
            listing(json!({"new": plain, "forecast": other, "same": plain}), json!({"units": 1, "city": {}}));
        assert_eq!(
            changes(&before, &now),
            [
                "+ tool 'new'",
                "~ tool 'forecast': description, arguments (~city, +hour, -day)",
                "- tool 'old'",
                "~ parameters: ~units, +city",
            ]
        );
        assert_eq!(changes(&before, &before), Vec::<String>::new());
    }

    #[test]
    fn another_order_is_a_change_too() {
        let tools =
            json!({"a": {"description": "", "arguments": {}}, "b": {"description": "", "arguments": {}}});
        let before = listing(tools, json!({}));
        let mut now = before.clone();
        now.tools.reverse();
        assert_eq!(changes(&before, &now), ["~ the order of the tools"]);
    }
}
