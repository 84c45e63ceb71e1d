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

/// Servers whose replies differ with each call.
const CHANGING: [&str; 2] = ["clock", "thinking"];

/// Returns the differences between a server itself and the same server in Gatehouse, except those that docs/protocol.md
/// lists as intended for all servers.
pub(super) fn differences(
    server: &str,
    raw: &mut Client,
    capabilities: &Value,
    shown: &mut Client,
    call: Option<(&str, &Value)>,
) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let tools = list(shown, "tools/list", "tools");
    for tool in list(raw, "tools/list", "tools") {
        let name = tool["name"].as_str().expect("a name");
        let is_same = |one: &&Value| one["name"] == format!("{server}__{name}");
        let Some(through) = tools.iter().find(is_same) else {
            found.insert(format!("{server}: tool {name} is not listed"));
            continue;
        };
        compare(&mut found, server, &format!("tool {name}"), &tool, through);
        let schema = shown.text("get_tool_schema", json!({"server": server, "tool": name}));
        let schema: Value = serde_json::from_str(&schema).expect("a definition");
        if (&tool["inputSchema"], &tool["description"]) != (&schema["inputSchema"], &schema["description"]) {
            found
                .insert(format!("{server}: definition of {name} from get_tool_schema\n  {tool}\n  {schema}"));
        }
    }
    for (capability, method, items, key) in LISTS {
        if capabilities[capability].is_null() {
            continue;
        }
        let through = list(shown, method, items);
        for item in list(raw, method, items) {
            let name = item[key].as_str().expect("a name");
            let exposed = match (capability, name.strip_prefix("ui://")) {
                ("prompts", _) => format!("{server}__{name}"),
                (_, Some(address)) => format!("ui://server/{server}/{address}"),
                (_, None) => format!("gatehouse://server/{server}/{name}"),
            };
            match through.iter().find(|one| one[key] == exposed) {
                Some(other) => compare(&mut found, server, &format!("{items} {name}"), &item, other),
                None => drop(found.insert(format!("{server}: {items} {name} is not listed"))),
            }
        }
    }
    let Some((tool, arguments)) = call.filter(|_| !CHANGING.contains(&server)) else { return found };
    let direct = raw.call(tool, arguments.clone());
    let through = shown.call(&format!("{server}__{tool}"), arguments.clone());
    compare(&mut found, server, &format!("result of {tool}"), &direct, &through);
    let proxied = shown.call("call_tool", json!({"server": server, "tool": tool, "arguments": arguments}));
    // The error of `call_tool` has more: other tools to try.
    let is_same = match direct["isError"] == true {
        true => {
            let error: Value = serde_json::from_str(&text_of(&proxied)).expect("an error");
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            words(&text_of(&direct)) == words(error["error"].as_str().unwrap_or_default())
        }
        false => has_content(&direct, &proxied["content"]),
    };
    if !is_same {
        found.insert(format!("{server}: text of {tool} from call_tool\n  {direct}\n  {proxied}"));
    }
    found
}

/// Whether content is that of a result, or that and its structured data, which no client of this preset reads.
fn has_content(direct: &Value, content: &Value) -> bool {
    let Some((last, rest)) = content.as_array().and_then(|blocks| blocks.split_last()) else { return false };
    let data = || last["text"].as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    direct["content"] == *content
        || direct["content"].as_array().is_some_and(|blocks| blocks == rest)
            && data().as_ref() == Some(&direct["structuredContent"])
}

/// Adds each key that differs.
fn compare(found: &mut BTreeSet<String>, server: &str, name: &str, raw: &Value, through: &Value) {
    let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<BTreeSet<_>>();
    for key in keys(raw).union(&keys(through)) {
        let (before, after) = (&raw[key], &through[key]);
        let is_same = match key.as_str() {
            "name" | "uri" | "uriTemplate" => true,
            "annotations" => keeps_annotations(before, after),
            "title" => *after == raw["annotations"]["title"] || before == after,
            "execution" | "outputSchema" | "structuredContent" => after.is_null(),
            "content" if name.starts_with("result") => has_content(raw, after),
            "isError" => (before == true) == (after == true),
            "_meta" if name.starts_with("resourceTemplates") => after.is_null(),
            "_meta" => *before == json_without(after, &format!("ui://server/{server}/")),
            _ => before == after,
        };
        if !is_same {
            found.insert(format!("{server}: {name}: {key}\n  {before}\n  {after}"));
        }
    }
}

/// Returns `true` if everything that the server says of a tool is there. The rest are the protocol's defaults.
fn keeps_annotations(before: &Value, after: &Value) -> bool {
    let annotations: Map<_, _> = before.as_object().cloned().unwrap_or_default();
    let is_implied = |hint: &str| {
        annotations.get("readOnlyHint") == Some(&Value::Bool(true))
            && matches!(hint, "destructiveHint" | "idempotentHint")
    };
    annotations.iter().all(|(hint, value)| hint == "title" || is_implied(hint) || after[hint] == *value)
}

/// Returns the value with addresses of interfaces as their server writes them.
fn json_without(value: &Value, prefix: &str) -> Value {
    serde_json::from_str(&value.to_string().replace(prefix, "ui://")).expect("JSON")
}
