//! The tools of one server, as they are searched.

use std::{cell::Cell, collections::HashMap, sync::Arc};

use serde_json::{Map, Value};

use crate::{
    names::split_identifier,
    search::{embedded_text, for_each_term, name::name_key},
    tool::{SourceId, ToolId, ToolSpec},
};

/// What a word counts for that stands in the name of a tool, in its description and in the names of its parameters or of
/// its server: as it was measured with vectors beside words on nine sets of queries.
const NAME_WEIGHT: f32 = 2.0;
const DESCRIPTION_WEIGHT: f32 = 1.0;
const PARAMETER_WEIGHT: f32 = 0.5;

/// Bytes of a description that are read: what tools are for stands before their manuals.
const MAX_DESCRIPTION_BYTES: usize = 8 * 1024;

/// Terms of a description, and of the names of parameters, that are indexed. They are about 400 English words; with
/// 200 terms one question of 95 of the set livemcp_step was lost.
const MAX_INDEXED_TERMS: usize = 300;

/// Times that one term counts in a description or in the names of parameters. A description that repeats likely
/// questions gains nothing by it.
const MAX_REPEATS: f32 = 3.0;

/// Parameters of a tool that are indexed, those inside of others counted.
const MAX_PARAMETERS: usize = 200;

/// How deep parameters inside of others are read.
const MAX_PARAMETER_DEPTH: usize = 3;

/// One tool, as it is searched.
#[derive(Debug)]
pub struct IndexedTool {
    /// Whose it is, and its own name.
    pub id: ToolId,
    /// As its server declares it.
    pub spec: Arc<ToolSpec>,
    /// Its name in the form that names are compared in.
    pub(super) key: String,
    /// How many terms it has, each as much as its place counts.
    pub(super) length: f32,
}

/// A tool that has a term, and how often, each as much as its place counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Posting {
    pub(super) tool: u32,
    pub(super) weight: f32,
}

/// The tools of one server with their words; never changed, but replaced.
#[derive(Debug)]
pub struct ToolSegment {
    tools: Vec<IndexedTool>,
    terms: HashMap<Box<str>, Vec<Posting>>,
}

impl ToolSegment {
    /// Reads the tools of a server.
    pub fn new(server: &SourceId, tools: &[Arc<ToolSpec>]) -> Self {
        let mut segment = Self { tools: Vec::with_capacity(tools.len()), terms: HashMap::new() };
        tools.iter().for_each(|spec| segment.add(server, spec));
        segment
    }

    /// The tools, in the order in which they were given.
    pub fn tools(&self) -> &[IndexedTool] {
        &self.tools
    }

    /// Which of its tools have a term.
    pub(super) fn postings(&self, term: &str) -> &[Posting] {
        self.terms.get(term).map_or(&[], Vec::as_slice)
    }

    fn add(&mut self, server: &SourceId, spec: &Arc<ToolSpec>) {
        let tool = u32::try_from(self.tools.len()).unwrap_or(u32::MAX);
        let mut length = 0.0;
        let left = Cell::new(MAX_INDEXED_TERMS);
        // The weight of a term is at most `most` after a text, whatever the texts before gave it.
        let mut put = |text: &str, counts: f32, most: f32| {
            for_each_term(text, |term| {
                if left.get() == 0 {
                    return;
                }
                left.set(left.get() - 1);
                length += counts;
                let postings = match self.terms.get_mut(term) {
                    Some(postings) => postings,
                    None => self.terms.entry(term.into()).or_default(),
                };
                match postings.last_mut() {
                    Some(last) if last.tool == tool => last.weight = (last.weight + counts).min(most),
                    _ => postings.push(Posting { tool, weight: counts }),
                }
            });
        };
        let mut most = MAX_REPEATS * DESCRIPTION_WEIGHT;
        if let Some(title) = &spec.title {
            put(title, DESCRIPTION_WEIGHT, most);
        }
        put(description_start(&spec.description), DESCRIPTION_WEIGHT, most);
        left.set(MAX_INDEXED_TERMS);
        most += MAX_REPEATS * PARAMETER_WEIGHT;
        parameters(&spec.input_schema).iter().for_each(|name| put(name, PARAMETER_WEIGHT, most));
        left.set(MAX_INDEXED_TERMS);
        // `git: status` is asked for as "git status".
        put(server.name(), PARAMETER_WEIGHT, most + PARAMETER_WEIGHT);
        put(&spec.name, NAME_WEIGHT, most + PARAMETER_WEIGHT + NAME_WEIGHT);
        let id = ToolId { source: server.clone(), name: Arc::clone(&spec.name) };
        self.tools.push(IndexedTool { id, spec: Arc::clone(spec), key: name_key(&spec.name), length });
    }
}

/// What of a tool is embedded: its name, its description and the names of its parameters.
pub fn embedded_tool(spec: &ToolSpec) -> String {
    let names: Vec<String> = parameters(&spec.input_schema).into_iter().map(split_identifier).collect();
    embedded_text(&spec.name, description_start(&spec.description), &names, "")
}

fn description_start(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_DESCRIPTION_BYTES)]
}

/// The names of a tool's parameters, those inside of others too, the outer ones first.
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
                let of_items = schema.get("items").and_then(Value::as_object);
                inner.extend(schema.as_object().into_iter().chain(of_items));
            }
        }
        level = inner;
    }
    names
}
