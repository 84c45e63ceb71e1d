//! The JSON Schema of `presets.toml`, generated from the types that read it, and lookups in it.

use serde_json::Value;

use super::{keys::dotted, raw::RawConfig};

/// Maximum depth of nested blocks: presets.NAME.tools.NAME.
const MAX_DEPTH: usize = 4;

/// Returns the schema (draft 2020-12).
pub(crate) fn schema() -> Value {
    schemars::schema_for!(RawConfig).to_value()
}

pub(super) struct PropertyInfo {
    pub(super) kind: &'static str,
    /// The type in words: "a list of strings".
    pub(super) words: String,
    pub(super) about: Option<String>,
}

impl PropertyInfo {
    /// Returns the first quoted amount with a unit in the description, such as `30 s`.
    pub(super) fn example_amount(&self) -> Option<&str> {
        let mut quoted = self.about.as_deref()?.split('"').skip(1).step_by(2);
        let has_unit = |text: &&str| {
            text.split_once(' ').is_some_and(|(number, unit)| {
                number.parse::<u64>().is_ok() && unit.chars().all(|c| c.is_ascii_alphabetic())
            })
        };
        quoted.find(has_unit)
    }
}

/// Looks up the key at `path`, or an entry of its list if `entry` is true.
pub(super) fn property<S: AsRef<str>>(path: &[S], entry: bool) -> Option<PropertyInfo> {
    let root = schema();
    let mut node = &root;
    for step in path {
        node = member(resolved(&root, node), step.as_ref())?;
    }
    let about = [node, resolved(&root, node)].into_iter().find_map(|node| node["description"].as_str());
    let about = about.map(|about| about.replace('\n', " "));
    let node = resolved(&root, if entry { &resolved(&root, node)["items"] } else { node });
    let (kind, words) = type_of(&root, node)?;
    Some(PropertyInfo { kind, words, about })
}

/// Returns the blocks that have a key of this name, such as `[gates.NAME.limits]`.
pub(super) fn blocks_with(key: &str) -> Vec<String> {
    let root = schema();
    let mut blocks = Vec::new();
    search(&root, &root, key, &mut Vec::new(), &mut blocks);
    blocks
}

fn search(root: &Value, node: &Value, key: &str, path: &mut Vec<String>, blocks: &mut Vec<String>) {
    let node = resolved(root, node);
    let members = node["properties"].as_object();
    if members.is_some_and(|members| members.contains_key(key)) {
        blocks.push(format!("[{}]", dotted(path)));
    }
    if path.len() >= MAX_DEPTH {
        return;
    }
    let named = members.into_iter().flatten().map(|(name, below)| (name.as_str(), below));
    let additional_properties = node.get("additionalProperties").map(|below| ("NAME", below));
    for (name, below) in named.chain(additional_properties) {
        path.push(name.to_owned());
        search(root, below, key, path, blocks);
        path.pop();
    }
}

fn member<'s>(node: &'s Value, key: &str) -> Option<&'s Value> {
    node["properties"].get(key).or_else(|| node.get("additionalProperties").filter(|below| below.is_object()))
}

fn resolved<'s>(root: &'s Value, node: &'s Value) -> &'s Value {
    let named = node["anyOf"]
        .as_array()
        .and_then(|variants| variants.iter().find(|variant| variant["type"] != "null"));
    let node = named.unwrap_or(node);
    let name = node["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/$defs/"));
    name.map_or(node, |name| &root["$defs"][name])
}

fn type_of(root: &Value, node: &Value) -> Option<(&'static str, String)> {
    let words: Vec<&str> = node["oneOf"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|variant| variant["const"].as_str())
        .collect();
    if !words.is_empty() {
        return Some(("string", format!("one of \"{}\"", words.join("\", \""))));
    }
    if let Some(values) = node["enum"].as_array() {
        let values: Vec<String> = values.iter().map(Value::to_string).collect();
        let (last, others) = values.split_last()?;
        return Some(("boolean", format!("{} or {last}", others.join(", "))));
    }
    let types = &node["type"];
    let first = types.as_array().and_then(|types| types.iter().find(|kind| *kind != "null"));
    Some(match first.unwrap_or(types).as_str()? {
        "array" if type_of(root, resolved(root, &node["items"]))?.0 == "string" => {
            ("array", "a list of strings".into())
        }
        "array" => ("array", "a list".into()),
        "object" => ("object", "a block of keys".into()),
        "integer" => ("integer", "a whole number, 0 or more".into()),
        "boolean" => ("boolean", "true or false".into()),
        "string" => ("string", "a string".into()),
        _ => return None,
    })
}
