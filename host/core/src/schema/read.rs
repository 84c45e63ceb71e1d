//! Parses a schema into the evaluated form. This is the only schema parser of the host.
//!
//! Gates are untrusted. Two parsers, one to measure a schema and one to check values, could disagree about
//! percent-encoded references, nested dialects or skipped definitions. This parser therefore measures while it parses,
//! reads even unused definitions, and counts a referenced schema at each reference. It rejects ambiguous schemas.
//! Unknown keywords and `format` are annotations.
//!
//! Supports JSON Schema 2020-12, and the tuples and dependencies of earlier drafts. A reference is a plain JSON pointer
//! from the root (`#/$defs/name`) and must not be cyclic.

use std::{collections::HashMap, sync::Arc};

use serde_json::{Map, Value};

use super::{
    node::{Keyword, SchemaNode, SchemaNodeId, SchemaTree},
    pattern::SchemaPattern,
};
use crate::{InvalidValue, invalid::ensure, names::quoted};

/// Maximum number of schemas in a schema, with references expanded.
pub(super) const MAX_WEIGHT: u64 = 20_000;

pub(super) const MAX_HEIGHT: u32 = 64;

/// Maximum recursion depth of the parser. A reference is an extra level.
const MAX_DEPTH: u32 = 2 * MAX_HEIGHT;

/// Maximum number of distinct patterns in a schema.
const MAX_PATTERNS: usize = 64;

/// Dialects that are read as 2020-12. Incompatible keywords are rejected.
const DIALECTS: [&str; 5] = [
    "json-schema.org/draft/2020-12/schema",
    "json-schema.org/draft/2019-09/schema",
    "json-schema.org/draft-07/schema",
    "json-schema.org/draft-06/schema",
    "json-schema.org/draft-04/schema",
];

pub(super) struct ReadSchema {
    pub(super) tree: SchemaTree,
    /// Bytes of its compiled patterns.
    pub(super) pattern_bytes: usize,
}

/// Parses a schema. The error completes a sentence about the schema.
pub(super) fn read(root: &Map<String, Value>) -> Result<ReadSchema, InvalidValue> {
    let mut reader = SchemaReader {
        root,
        nodes: Vec::new(),
        resolved: HashMap::new(),
        patterns: HashMap::new(),
        path: Vec::new(),
        depth: 0,
        dialect: root.get("$schema").and_then(Value::as_str),
    };
    match reader.object(root) {
        Ok(id) => Ok(ReadSchema {
            tree: SchemaTree { nodes: reader.nodes, root: id },
            pattern_bytes: reader.patterns.values().map(|pattern| pattern.bytes()).sum(),
        }),
        Err(why) if reader.path.is_empty() => Err(why),
        Err(why) => Err(format!("{why} (at '{}')", quoted(&reader.path.join("."), 100)).into()),
    }
}

pub(super) struct SchemaReader<'a> {
    root: &'a Map<String, Value>,
    nodes: Vec<SchemaNode>,
    /// Resolved references. `None` while one is being parsed, to detect cycles.
    resolved: HashMap<&'a str, Option<SchemaNodeId>>,
    patterns: HashMap<&'a str, Arc<SchemaPattern>>,
    /// Keywords and members on the path to the current value.
    pub(super) path: Vec<String>,
    /// Current recursion depth. A reference is an extra level.
    depth: u32,
    dialect: Option<&'a str>,
}

impl<'a> SchemaReader<'a> {
    pub(super) fn schema(&mut self, value: &'a Value) -> Result<SchemaNodeId, InvalidValue> {
        match value {
            Value::Bool(true) => self.add(vec![]),
            Value::Bool(false) => self.add(vec![Keyword::Never]),
            Value::Object(object) => self.object(object),
            other => Err(format!("has {} instead of a schema", super::kind_of(other)).into()),
        }
    }

    fn object(&mut self, object: &'a Map<String, Value>) -> Result<SchemaNodeId, InvalidValue> {
        ensure!(self.depth < MAX_DEPTH, "is nested more than {MAX_HEIGHT} levels deep");
        self.reject_rebasing(object)?;
        self.depth += 1;
        let target = match object.get("$ref") {
            Some(Value::String(target)) => Some(self.resolve_reference(target)?),
            Some(_) => return Err("has a $ref that is not a string".into()),
            None => None,
        };
        let mut keywords = self.keywords(object)?;
        self.depth -= 1;
        if let Some(target) = target {
            if keywords.is_empty() {
                return Ok(target);
            }
            keywords.push(Keyword::AllOf(vec![target]));
        }
        self.add(keywords)
    }

    /// Rejects keywords that change the base, dialect or identity of this subschema.
    fn reject_rebasing(&self, object: &Map<String, Value>) -> Result<(), InvalidValue> {
        const REBASING_KEYWORDS: [&str; 5] =
            ["$dynamicRef", "$recursiveRef", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"];
        if let Some(keyword) = REBASING_KEYWORDS.iter().find(|keyword| object.contains_key(**keyword)) {
            return Err(format!("uses {keyword}; refer to '#/$defs/name' instead").into());
        }
        // An anchor is harmless, because a reference to it is rejected.
        ensure!(object.get("$anchor").is_none_or(Value::is_string), "has an $anchor that is not a string");
        if self.depth > 0 {
            if let Some(keyword) = ["$id", "$schema"].iter().find(|keyword| object.contains_key(**keyword)) {
                return Err(format!("uses {keyword} in a subschema, which only the root may have").into());
            }
            let may_rebase = self.dialect.is_some_and(|dialect| dialect.contains("draft-04"));
            let rebases = may_rebase && object.get("id").is_some_and(Value::is_string);
            ensure!(!rebases, "uses id in a subschema, which changes the meaning of references in draft-04");
        } else if let Some(given) = object.get("$schema") {
            let named = given.as_str().unwrap_or_default().trim_end_matches('#');
            let named = named.strip_prefix("https://").or_else(|| named.strip_prefix("http://"));
            if !named.is_some_and(|named| DIALECTS.contains(&named)) {
                let given = quoted(&given.to_string(), 80);
                return Err(format!("has the unknown dialect {given}; use 2020-12 or draft-07").into());
            }
        }
        Ok(())
    }

    fn resolve_reference(&mut self, target: &'a str) -> Result<SchemaNodeId, InvalidValue> {
        let shown = quoted(target, 80);
        match self.resolved.get(target) {
            Some(Some(id)) => return Ok(*id),
            Some(None) => return Err(format!("refers to itself through '{shown}'").into()),
            None => {}
        }
        ensure!(target != "#", "refers to itself through '#'");
        let found =
            resolve(self.root, target).map_err(|why| format!("has an invalid reference '{shown}': {why}"))?;
        self.resolved.insert(target, None);
        let steps = target.trim_start_matches("#/").split('/').map(str::to_owned).collect();
        let path = std::mem::replace(&mut self.path, steps);
        let id = self.schema(found)?;
        self.path = path;
        self.resolved.insert(target, Some(id));
        Ok(id)
    }

    pub(super) fn pattern(&mut self, source: &'a str) -> Result<Arc<SchemaPattern>, InvalidValue> {
        if let Some(known) = self.patterns.get(source) {
            return Ok(Arc::clone(known));
        }
        ensure!(self.patterns.len() < MAX_PATTERNS, "has more than {MAX_PATTERNS} patterns");
        let pattern = Arc::new(SchemaPattern::new(source)?);
        self.patterns.insert(source, Arc::clone(&pattern));
        Ok(pattern)
    }

    fn add(&mut self, mut keywords: Vec<Keyword>) -> Result<SchemaNodeId, InvalidValue> {
        let (mut weight, mut height) = (1_u64, 0);
        for id in keywords.iter().flat_map(Keyword::schemas) {
            let node = &self.nodes[id.0 as usize];
            weight = weight.saturating_add(node.weight);
            height = height.max(node.height);
        }
        let all = u64::try_from(self.nodes.len()).unwrap_or(u64::MAX);
        let weighs_little = weight.max(all) <= MAX_WEIGHT;
        ensure!(weighs_little, "is too large: more than {MAX_WEIGHT} schemas, references followed");
        ensure!(height < MAX_HEIGHT, "is nested more than {MAX_HEIGHT} levels deep");
        keywords.sort_by_key(Keyword::rank);
        let id = SchemaNodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(SchemaNode { keywords, weight, height: height + 1 });
        Ok(id)
    }
}

/// Keywords whose value is a map of schemas.
const MAPS: [&str; 6] =
    ["properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"];

/// Keywords whose value is a list of schemas. `items` is one in earlier drafts.
const LISTS: [&str; 5] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];

/// Keywords whose value is a schema.
const SCHEMAS: [&str; 11] = [
    "not",
    "if",
    "then",
    "else",
    "contains",
    "items",
    "propertyNames",
    "additionalProperties",
    "additionalItems",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Returns the subschema that a reference points to. The error describes the fault of the reference.
fn resolve<'a>(root: &'a Map<String, Value>, reference: &str) -> Result<&'a Value, &'static str> {
    let path = reference
        .strip_prefix("#/")
        .ok_or("expected a JSON pointer from the root, such as '#/$defs/name'")?;
    if path.contains('%') {
        return Err("percent-encoding is not supported; write the name without '%'");
    }
    const NO_SCHEMA: &str = "there is no such subschema";
    let mut steps = path.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).peekable();
    let mut object = root;
    loop {
        let keyword = steps.next().ok_or(NO_SCHEMA)?;
        let found = object.get(&keyword).ok_or(NO_SCHEMA)?;
        let is_in = |keywords: &[&str]| keywords.contains(&keyword.as_str());
        let found = match found {
            Value::Object(_) | Value::Bool(_) if is_in(&SCHEMAS) => Some(found),
            Value::Object(map) if is_in(&MAPS) => steps.next().and_then(|name| map.get(&name)),
            Value::Array(list) if is_in(&LISTS) => {
                let digits = steps.next().filter(|step| step == "0" || !step.starts_with(['0', '+']));
                digits.and_then(|digits| list.get(digits.parse::<usize>().ok()?))
            }
            _ => None,
        };
        let found = found.ok_or(NO_SCHEMA)?;
        if steps.peek().is_none() {
            return Ok(found);
        }
        object = found.as_object().ok_or(NO_SCHEMA)?;
    }
}
