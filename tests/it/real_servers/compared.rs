//! The same requests to a server itself, through a preset that shows it, and through the gate `proxy`.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::support::{Client, text_of};

const LISTS: [(&str, &str, &str, &str); 3] = [
    ("prompts", "prompts/list", "prompts", "name"),
    ("resources", "resources/list", "resources", "uri"),
    ("resources", "resources/templates/list", "resourceTemplates", "uriTemplate"),
];

/// Returns all items of a list; none if the server does not have the request.
fn list(client: &mut Client, method: &str, items: &str) -> Vec<Value> {
    let (mut all, mut params) = (Vec::new(), json!({}));
    loop {
        let answer = client.request(method, params);
        if answer["error"]["code"] == -32601 {
            return all;
        }
        let answer = answer["result"].clone();
        all.extend(answer[items].as_array().unwrap_or_else(|| panic!("{method}: {answer}")).clone());
        match answer.get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return all,
        }
    }
}

/// Returns the differences between a server itself and the same server in Gatehouse, without the names of its items.
pub(super) fn differences(
    server: &str,
    raw: &mut Client,
    capabilities: &Value,
    shown: &mut Client,
    call: (&str, &Value),
) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let prefix = format!("{server}__");
    let tools = list(shown, "tools/list", "tools");
    for tool in list(raw, "tools/list", "tools") {
        let name = tool["name"].as_str().expect("a name").to_owned();
        let through = tools.iter().find(|one| one["name"] == format!("{prefix}{name}"));
        let Some(through) = through else {
            found.insert(format!("{server}: tool {name} is not listed"));
            continue;
        };
        compare(&mut found, &format!("{server}: tool {name}"), &tool, through);
        let schema = shown.text("get_tool_schema", json!({"server": server, "tool": name}));
        let schema: Value = serde_json::from_str(&schema).expect("a definition");
        for key in ["inputSchema", "outputSchema", "description"] {
            if tool.get(key) != schema.get(key) {
                found.insert(format!(
                    "{server}: {key} of {name} from get_tool_schema\n  {}\n  {}",
                    tool[key], schema[key]
                ));
            }
        }
    }
    for (capability, method, items, key) in LISTS {
        if capabilities[capability].is_null() {
            continue;
        }
        let through = list(shown, method, items);
        for item in list(raw, method, items) {
            let name = item[key].as_str().expect("a name").to_owned();
            let is_same = |one: &&Value| {
                let other = one[key].as_str().unwrap_or_default();
                other == name
                    || (other.contains(server)
                        && other.ends_with(&name.replace("ui://", "/").replace("//", "/")))
                    || (other.contains(server) && other.ends_with(&name))
            };
            match through.iter().find(is_same) {
                Some(other) => compare(&mut found, &format!("{server}: {items} {name}"), &item, other),
                None => drop(found.insert(format!("{server}: {items} {name} is not listed"))),
            }
        }
    }
    let (tool, arguments) = call;
    let direct = raw.call(tool, arguments.clone());
    let through = shown.call(&format!("{prefix}{tool}"), arguments.clone());
    compare(&mut found, &format!("{server}: result of {tool}"), &direct, &through);
    let proxied = shown.call("call_tool", json!({"server": server, "tool": tool, "arguments": arguments}));
    if direct["content"] != proxied["content"] {
        found.insert(format!(
            "{server}: text of {tool} from call_tool\n  {}\n  {}",
            text_of(&direct),
            text_of(&proxied)
        ));
    }
    found
}

/// Adds each key that differs.
fn compare(found: &mut BTreeSet<String>, name: &str, raw: &Value, through: &Value) {
    let none = Map::new();
    let (raw, through) = (raw.as_object().unwrap_or(&none), through.as_object().unwrap_or(&none));
    for key in raw.keys().chain(through.keys()).collect::<BTreeSet<_>>() {
        let (before, after) =
            (raw.get(key).unwrap_or(&Value::Null), through.get(key).unwrap_or(&Value::Null));
        if before != after && !matches!(key.as_str(), "name" | "uri" | "uriTemplate") {
            found.insert(format!("{name}: {key}\n  {before}\n  {after}"));
        }
    }
}
