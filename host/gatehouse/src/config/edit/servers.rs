//! Adds servers to `presets.toml` and removes them.

use std::collections::BTreeMap;

use serde_json::Map;
use toml_edit::{DocumentMut, Item, Table, Value};

use super::{ConfigEdit, ConfigError, ConfigText, Env, implicit_table, parse, validate};
use crate::config::schema::schema;

/// Adds servers by name, each with the keys of `[servers.NAME]`. Fails if the result is not a valid configuration with
/// these servers.
pub(crate) fn add_servers<'a>(
    text: &'a ConfigText,
    servers: &BTreeMap<&str, &Map<String, serde_json::Value>>,
    env: &Env,
) -> Result<ConfigEdit<'a>, ConfigError> {
    let mut document = parse(text)?;
    let shape = || text.error("was not changed: its structure does not allow adding [servers]");
    let servers_table =
        document.entry("servers").or_insert_with(implicit_table).as_table_like_mut().ok_or_else(shape)?;
    for (name, definition) in servers {
        if servers_table.contains_key(name) {
            return Err(text.error(format!("was not changed: it already has a server '{name}'")));
        }
        servers_table.insert(name, Item::Table(table(definition)));
    }
    let (change, config) = validate(text, &document, env)?;
    let all_there = servers.keys().all(|name| config.servers.declared.contains_key(*name));
    if all_there { Ok(change) } else { Err(shape()) }
}

/// Removes a server. Fails if the rest is not a valid configuration.
pub(crate) fn remove_server<'a>(
    text: &'a ConfigText,
    name: &str,
    env: &Env,
) -> Result<ConfigEdit<'a>, ConfigError> {
    let mut document = parse(text)?;
    let servers = document.get_mut("servers").and_then(Item::as_table_like_mut);
    servers
        .and_then(|servers| servers.remove(name))
        .ok_or_else(|| text.error(format!("was not changed: it has no block [servers.{name}] to remove")))?;
    if document.get("servers").and_then(Item::as_table_like).is_some_and(|servers| servers.is_empty()) {
        document.remove("servers");
    }
    Ok(validate(text, &document, env)?.0)
}

/// Formats the block of one server, as in `presets.toml`.
pub(crate) fn server_block(name: &str, definition: &Map<String, serde_json::Value>) -> String {
    let mut document = DocumentMut::new();
    let mut servers = implicit_table();
    servers[name] = Item::Table(table(definition));
    document.insert("servers", servers);
    document.to_string()
}

/// Converts the keys of a server, in the order of the schema.
fn table(definition: &Map<String, serde_json::Value>) -> Table {
    let schema = schema();
    let order = || schema["$defs"]["Server"]["properties"].as_object().into_iter().flatten();
    let place = |key: &str| order().position(|(property, _)| property == key).unwrap_or(usize::MAX);
    let mut keys: Vec<&String> = definition.keys().collect();
    keys.sort_by_key(|key| (place(key), *key));
    let mut table = Table::new();
    for key in keys {
        if let Some(value) = definition.get(key).and_then(value) {
            table.insert(key, Item::Value(value));
        }
    }
    table
}

/// Converts a JSON value to TOML. `None` for null, which is left out of lists and objects.
fn value(json: &serde_json::Value) -> Option<Value> {
    Some(match json {
        serde_json::Value::Null => return None,
        serde_json::Value::Bool(is) => Value::from(*is),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(whole) => Value::from(whole),
            None => Value::from(number.as_f64()?),
        },
        serde_json::Value::String(text) => Value::from(text.as_str()),
        serde_json::Value::Array(items) => Value::Array(items.iter().filter_map(value).collect()),
        serde_json::Value::Object(pairs) => {
            let pairs = pairs.iter().filter_map(|(name, json)| Some((name, value(json)?)));
            Value::InlineTable(pairs.collect())
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(content: &str) -> ConfigText {
        ConfigText { file: Some("/etc/gh/presets.toml".into()), content: content.into() }
    }

    fn git() -> Map<String, serde_json::Value> {
        let git = json!({"args": ["-y", "git"], "command": "npx", "env": {"T": "${T}"}, "timeout": "5 s"});
        git.as_object().cloned().expect("an object")
    }

    #[test]
    fn a_null_leaves_out_itself_only() {
        let server = json!({"command": "npx", "args": ["-y", null, "git"], "env": {"A": "1", "B": null}});
        let block = server_block("git", server.as_object().expect("an object"));
        assert_eq!(
            block,
            "[servers.git]\ncommand = \"npx\"\nargs = [\"-y\", \"git\"]\nenv = { A = \"1\" }\n"
        );
    }

    const BLOCK: &str = "[servers.git]\ncommand = \"npx\"\nargs = [\"-y\", \"git\"]\nenv = { T = \"${T}\" }\ntimeout = \"5 s\"\n";

    #[test]
    fn adding_and_removing_a_server_changes_nothing_else() {
        assert_eq!(server_block("git", &git()), BLOCK);
        let before = "# top\n[host]\ngates = [ \"gates\" ]   # odd  spacing\n\n[servers.web] # mine\nurl = \"https://a.example\"\n\n[presets.full]\ngates.kg = {}\n# end\n";
        let was = text(before);
        let git = git();
        let env = Env::default();
        let added = add_servers(&was, &BTreeMap::from([("git", &git)]), &env).expect("added").content;
        assert_eq!(added.replace(&format!("\n{BLOCK}"), ""), before, "{added}");
        let removed = remove_server(&text(&added), "git", &env).map(|change| change.content.clone());
        assert_eq!(removed.as_deref(), Ok(before));
    }

    #[test]
    fn invalid_edits_change_nothing() {
        let (git, env) = (git(), Env::default());
        let servers = BTreeMap::from([("git", &git)]);
        let reason =
            |content: &str| add_servers(&text(content), &servers, &env).err().expect("refused").to_string();
        assert!(reason(BLOCK).contains("it already has a server 'git'"), "{}", reason(BLOCK));
        let used = format!("{BLOCK}[presets.a]\nservers = [\"git\"]\n");
        let reason = remove_server(&text(&used), "git", &env).err().expect("refused").to_string();
        assert!(
            reason.contains("the result would be invalid") && reason.contains("there is no server 'git'"),
            "{reason}"
        );
        assert!(remove_server(&text(""), "git", &env).is_err());
    }
}
