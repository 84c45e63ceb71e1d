//! Search index of one server's tools.

use std::{cell::Cell, collections::HashMap, sync::Arc};

use serde_json::{Map, Value};

use super::verbs;
use crate::{
    SourceId, ToolId, ToolSpec,
    names::split_identifier,
    search::{embedded_text, for_each_term, name::name_key},
};

/// Weights of a word in the name, in the description, and in the names of parameters or the server. Measured together
/// with vectors on nine query sets.
const NAME_WEIGHT: f32 = 2.0;
const DESCRIPTION_WEIGHT: f32 = 1.0;
const PARAMETER_WEIGHT: f32 = 0.5;

/// The purpose of a tool precedes its manual.
const MAX_DESCRIPTION_BYTES: usize = 8 * 1024;

/// Terms per description, and per set of parameter names; about 400 English words. A limit of 200 lost one of the 95
/// questions in livemcp_step.
const MAX_INDEXED_TERMS: usize = 300;

/// Maximum count of one term, so that repeating likely questions does not improve the rank.
const MAX_REPEATS: f32 = 3.0;

/// Includes nested parameters.
const MAX_PARAMETERS: usize = 200;

const MAX_PARAMETER_DEPTH: usize = 3;

/// Words of a description in which a deprecation is looked for; later ones speak of parameters.
const DEPRECATION_WORDS: usize = 60;

/// Words before `deprecated` in a description of the successor: "replaces the deprecated read_file".
const NOT_DEPRECATED: [&str; 5] = ["the", "a", "an", "not", "replaces"];

#[derive(Debug)]
pub struct IndexedTool {
    pub id: ToolId,
    pub spec: Arc<ToolSpec>,
    /// Name, normalized by [`name_key`].
    pub(super) key: String,
    /// Weighted number of terms.
    pub(super) length: f32,
    /// Whether its description says that it is deprecated.
    pub(super) deprecated: bool,
    /// Whether it deletes something, by its name.
    pub(super) deletes: bool,
}

/// Tool that contains a term, and the term's weighted count.
#[derive(Debug, Clone, Copy)]
pub(super) struct Posting {
    pub(super) tool: u32,
    pub(super) weight: f32,
}

/// Immutable index of one server's tools.
#[derive(Debug)]
pub struct ToolSegment {
    tools: Vec<IndexedTool>,
    terms: HashMap<Box<str>, Vec<Posting>>,
}

impl ToolSegment {
    pub fn new(server: &SourceId, tools: &[Arc<ToolSpec>]) -> Self {
        let mut segment = Self { tools: Vec::with_capacity(tools.len()), terms: HashMap::new() };
        tools.iter().for_each(|spec| segment.add(server, spec));
        segment
    }

    pub fn tools(&self) -> &[IndexedTool] {
        &self.tools
    }

    pub(super) fn postings(&self, term: &str) -> &[Posting] {
        self.terms.get(term).map_or(&[], Vec::as_slice)
    }

    /// Returns whether the tool with this number has a term.
    pub(super) fn has_term(&self, term: &str, tool: usize) -> bool {
        self.postings(term).binary_search_by_key(&tool, |posting| posting.tool as usize).is_ok()
    }

    fn add(&mut self, server: &SourceId, spec: &Arc<ToolSpec>) {
        let tool = u32::try_from(self.tools.len()).unwrap_or(u32::MAX);
        let mut length = 0.0;
        let remaining = Cell::new(MAX_INDEXED_TERMS);
        // `max_weight` caps the weight of a term, including the weight from earlier texts.
        let mut index = |text: &str, counts: f32, max_weight: f32| {
            for_each_term(text, |term| {
                if remaining.get() == 0 {
                    return;
                }
                remaining.set(remaining.get() - 1);
                length += counts;
                let postings = match self.terms.get_mut(term) {
                    Some(postings) => postings,
                    None => self.terms.entry(term.into()).or_default(),
                };
                match postings.last_mut() {
                    Some(last) if last.tool == tool => last.weight = (last.weight + counts).min(max_weight),
                    _ => postings.push(Posting { tool, weight: counts }),
                }
            });
        };
        let mut max_weight = MAX_REPEATS * DESCRIPTION_WEIGHT;
        if let Some(title) = &spec.title {
            index(title, DESCRIPTION_WEIGHT, max_weight);
        }
        index(description_start(&spec.description), DESCRIPTION_WEIGHT, max_weight);
        remaining.set(MAX_INDEXED_TERMS);
        max_weight += MAX_REPEATS * PARAMETER_WEIGHT;
        parameters(&spec.input_schema).iter().for_each(|name| index(name, PARAMETER_WEIGHT, max_weight));
        remaining.set(MAX_INDEXED_TERMS);
        // Index the server's name too: users write "git status" for `git: status`.
        index(server.name(), PARAMETER_WEIGHT, max_weight + PARAMETER_WEIGHT);
        index(&spec.name, NAME_WEIGHT, max_weight + PARAMETER_WEIGHT + NAME_WEIGHT);
        self.tools.push(IndexedTool {
            id: ToolId { source: server.clone(), name: Arc::clone(&spec.name) },
            spec: Arc::clone(spec),
            key: name_key(&spec.name),
            length,
            deprecated: says_deprecated(&spec.description),
            deletes: verbs::deletes(&spec.name),
        });
    }
}

/// Builds the text to embed for a tool.
pub fn embedded_tool(spec: &ToolSpec) -> String {
    let names: Vec<String> = parameters(&spec.input_schema).into_iter().map(split_identifier).collect();
    embedded_text(&spec.name, description_start(&spec.description), &names, "")
}

fn says_deprecated(description: &str) -> bool {
    let words = description.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut before = "";
    words.take(DEPRECATION_WORDS).any(|word| {
        let is_successor = NOT_DEPRECATED.iter().any(|exception| exception.eq_ignore_ascii_case(before));
        before = word;
        word.eq_ignore_ascii_case("deprecated") && !is_successor
    })
}

fn description_start(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_DESCRIPTION_BYTES)]
}

/// Returns the parameter names, outer ones before nested ones.
pub(super) fn parameters(schema: &Map<String, Value>) -> Vec<&str> {
    let mut names = Vec::new();
    let mut level = vec![schema];
    for _ in 0..MAX_PARAMETER_DEPTH {
        let mut inner = Vec::new();
        for schema in level {
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else { continue };
            for (name, schema) in properties {
                if names.len() == MAX_PARAMETERS {
                    return names;
                }
                names.push(name.as_str());
                let item_schema = schema.get("items").and_then(Value::as_object);
                inner.extend(schema.as_object().into_iter().chain(item_schema));
            }
        }
        level = inner;
    }
    names
}
