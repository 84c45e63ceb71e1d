//! Parses a schema into the evaluated form. This is the only schema parser of the host.
//!
//! Gates are untrusted. Two parsers, one to measure a schema and one to check values, could disagree about
//! percent-encoded references, nested dialects or skipped definitions. This parser therefore measures while it parses,
//! reads even unused definitions, and counts a referenced schema at each reference. It rejects ambiguous schemas.
//! Unknown keywords and `format` are annotations.
//!
//! Supports JSON Schema 2020-12, and the tuples and dependencies of earlier drafts. A reference is a plain JSON pointer
//! from the root (`#/$defs/name`) and must not be cyclic.
//!
//! Servers check their arguments themselves, so a schema of a server may have parts that this parser refuses. They are
//! skipped ([`read_readable_part`]): the result accepts whatever the whole schema accepts, and may accept more.

use std::{collections::HashMap, sync::Arc};

use serde_json::{Map, Value};

use super::{
    node::{Keyword, SchemaNode, SchemaNodeId, SchemaTree},
    pattern::SchemaPattern,
    reference::resolve,
};
use crate::{InvalidValue, invalid::ensure, names::quoted};

/// Maximum number of schemas in a schema, with references expanded.
pub(super) const MAX_WEIGHT: u64 = 20_000;

pub(super) const MAX_HEIGHT: u32 = 64;

/// Maximum recursion depth of the parser. A reference is an extra level.
const MAX_DEPTH: u32 = 2 * MAX_HEIGHT;

/// Maximum number of distinct patterns in a schema.
const MAX_PATTERNS: usize = 64;

/// Maximum bytes of the patterns of a server's schema before the last one.
const MAX_SERVER_PATTERN_BYTES: usize = 1 << 20;

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
    /// Reason that the first skipped part was skipped. `None` if nothing was.
    pub(super) skipped: Option<InvalidValue>,
}

/// Parses a schema. The error completes a sentence about the schema.
pub(super) fn read(root: &Map<String, Value>) -> Result<ReadSchema, InvalidValue> {
    SchemaReader::new(root, false).finish()
}

/// Parses the parts of a schema that can be parsed, and skips the others. Never fails.
pub(super) fn read_readable_part(root: &Map<String, Value>) -> Result<ReadSchema, InvalidValue> {
    SchemaReader::new(root, true).finish()
}

pub(super) struct SchemaReader<'a> {
    root: &'a Map<String, Value>,
    nodes: Vec<SchemaNode>,
    /// Resolved references. `None` while one is being parsed, to detect cycles.
    resolved: HashMap<&'a str, Option<SchemaNodeId>>,
    patterns: HashMap<&'a str, Result<Arc<SchemaPattern>, InvalidValue>>,
    /// Keywords and members on the path to the current value.
    pub(super) path: Vec<String>,
    /// Current recursion depth. A reference is an extra level.
    pub(super) depth: u32,
    dialect: Option<&'a str>,
    /// True if unreadable parts are skipped.
    pub(super) is_lenient: bool,
    pub(super) skipped: Option<InvalidValue>,
    /// True once a part of the current schema was skipped.
    pub(super) is_partial: bool,
    /// True inside a subschema that changes the meaning of references.
    is_rebased: bool,
}

impl<'a> SchemaReader<'a> {
    pub(super) fn new(root: &'a Map<String, Value>, is_lenient: bool) -> Self {
        Self {
            root,
            nodes: Vec::new(),
            resolved: HashMap::new(),
            patterns: HashMap::new(),
            path: Vec::new(),
            depth: 0,
            dialect: root.get("$schema").and_then(Value::as_str),
            is_lenient,
            skipped: None,
            is_partial: false,
            is_rebased: false,
        }
    }

    fn finish(mut self) -> Result<ReadSchema, InvalidValue> {
        let read = self.unless_skipped(|reader| {
            reader.check_dialect()?;
            reader.object(reader.root)
        });
        let root = match read.map_err(|reason| self.at_path(reason))? {
            Some(id) => id,
            None => {
                self.nodes.clear();
                self.add(vec![], true)?
            }
        };
        Ok(ReadSchema {
            tree: SchemaTree { nodes: self.nodes, root },
            pattern_bytes: self.patterns.values().flatten().map(|pattern| pattern.bytes()).sum(),
            skipped: self.skipped,
        })
    }

    #[cfg(test)]
    pub(super) fn tried_patterns(&self) -> usize {
        self.patterns.len()
    }

    pub(super) fn at_path(&self, reason: InvalidValue) -> InvalidValue {
        match self.path.is_empty() {
            true => reason,
            false => format!("{reason} (at '{}')", quoted(&self.path.join("."), 100)).into(),
        }
    }

    pub(super) fn schema(&mut self, value: &'a Value) -> Result<SchemaNodeId, InvalidValue> {
        match value {
            Value::Bool(true) => self.add(vec![], false),
            Value::Bool(false) => self.add(vec![Keyword::Never], false),
            Value::Object(object) => self.object(object),
            other => Err(format!("has {} instead of a schema", super::kind_of(other)).into()),
        }
    }

    fn object(&mut self, object: &'a Map<String, Value>) -> Result<SchemaNodeId, InvalidValue> {
        ensure!(self.depth < MAX_DEPTH, "is nested more than {MAX_HEIGHT} levels deep");
        let outer = (std::mem::take(&mut self.is_partial), self.is_rebased);
        let is_plain = self.unless_skipped(|reader| reader.reject_rebasing(object))?.is_some();
        self.is_rebased |= !is_plain && self.depth > 0;
        self.depth += 1;
        let target = match object.get("$ref") {
            Some(target) => self.unless_skipped(|reader| reader.resolve_reference(target))?,
            None => None,
        };
        let mut keywords = self.keywords(object)?;
        self.depth -= 1;
        let is_partial = self.is_partial;
        (self.is_partial, self.is_rebased) = outer;
        if let Some(target) = target {
            if keywords.is_empty() && !is_partial {
                return Ok(target);
            }
            keywords.push(Keyword::AllOf(vec![target]));
        }
        self.add(keywords, is_partial)
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
        }
        Ok(())
    }

    fn check_dialect(&self) -> Result<(), InvalidValue> {
        if let Some(dialect) = self.root.get("$schema") {
            let named = dialect.as_str().unwrap_or_default().trim_end_matches('#');
            let named = named.strip_prefix("https://").or_else(|| named.strip_prefix("http://"));
            if !named.is_some_and(|named| DIALECTS.contains(&named)) {
                let dialect = quoted(&dialect.to_string(), 80);
                return Err(format!("has the unknown dialect {dialect}; use 2020-12 or draft-07").into());
            }
        }
        Ok(())
    }

    fn resolve_reference(&mut self, target: &'a Value) -> Result<SchemaNodeId, InvalidValue> {
        let target = target.as_str().ok_or("has a $ref that is not a string")?;
        let display_target = quoted(target, 80);
        ensure!(!self.is_rebased, "has the reference '{display_target}' in a subschema with its own $id");
        match self.resolved.get(target) {
            Some(Some(id)) => return Ok(*id),
            Some(None) => return Err(format!("refers to itself through '{display_target}'").into()),
            None => {}
        }
        ensure!(target != "#", "refers to itself through '#'");
        let subschema = resolve(self.root, target)
            .map_err(|reason| format!("has an invalid reference '{display_target}': {reason}"))?;
        self.resolved.insert(target, None);
        let steps = target.trim_start_matches("#/").split('/').map(str::to_owned).collect();
        let path = std::mem::replace(&mut self.path, steps);
        let outer = self.is_partial;
        let id = match self.unless_skipped(|reader| reader.schema(subschema))? {
            Some(id) => id,
            None => self.add(vec![], true)?,
        };
        (self.path, self.is_partial) = (path, outer);
        self.resolved.insert(target, Some(id));
        Ok(id)
    }

    pub(super) fn pattern(&mut self, source: &'a str) -> Result<Arc<SchemaPattern>, InvalidValue> {
        if let Some(existing) = self.patterns.get(source) {
            return existing.clone();
        }
        // Failures count, because they can take as long.
        ensure!(self.patterns.len() < MAX_PATTERNS, "has more than {MAX_PATTERNS} patterns");
        // The trees of many tools of a server can be in memory at once.
        let total_bytes = self.patterns.values().flatten().map(|pattern| pattern.bytes()).sum::<usize>();
        let fits = !self.is_lenient || total_bytes <= MAX_SERVER_PATTERN_BYTES;
        ensure!(fits, "has patterns that compile to more than {MAX_SERVER_PATTERN_BYTES} bytes");
        let pattern = SchemaPattern::new(source).map(Arc::new);
        self.patterns.insert(source, pattern.clone());
        pattern
    }

    fn add(&mut self, mut keywords: Vec<Keyword>, is_partial: bool) -> Result<SchemaNodeId, InvalidValue> {
        let (mut weight, mut height) = (1_u64, 0);
        let is_partial = self.relax(&mut keywords, is_partial);
        for id in keywords.iter().flat_map(Keyword::schemas) {
            let node = self.node(id);
            weight = weight.saturating_add(node.weight);
            height = height.max(node.height);
        }
        let node_count = u64::try_from(self.nodes.len()).unwrap_or(u64::MAX);
        let weighs_little = weight.max(node_count) <= MAX_WEIGHT;
        ensure!(weighs_little, "is too large: more than {MAX_WEIGHT} schemas, references followed");
        ensure!(height < MAX_HEIGHT, "is nested more than {MAX_HEIGHT} levels deep");
        keywords.sort_by_key(Keyword::rank);
        let id = SchemaNodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(SchemaNode { keywords, weight, height: height + 1, is_partial });
        Ok(id)
    }

    pub(super) fn node(&self, id: SchemaNodeId) -> &SchemaNode {
        &self.nodes[id.0 as usize]
    }
}
