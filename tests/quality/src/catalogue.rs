//! A catalog of tools with the gateway's search.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use gatehouse_core::{
    SourceId, ToolSpec,
    page::MatchQuality,
    search::{
        RowSet, dense,
        tools::{
            MatchEvidence, ToolMatch, ToolMatches, ToolQuery, ToolSearch, ToolSegment, ToolSegments,
            embedded_tool, query_parts,
        },
    },
};
use gatehouse_text::LocalEmbedder;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::sets::{Question, Tool};

const DEFAULT: usize = 10;

/// A question that no tool answers.
#[derive(Deserialize)]
pub(crate) struct Asking {
    pub(crate) q: String,
}

pub(crate) struct Catalogue {
    segments: Vec<ToolSegment>,
    /// Ids by tool number. Tools with the same name and text have the id of the first.
    ids: Vec<String>,
    vectors: Vec<Option<Vec<f32>>>,
    all: RowSet,
    /// Id of the first tool with the same name and text, by id.
    twins: HashMap<String, String>,
}

impl Catalogue {
    pub(crate) fn of(tools: &[Tool]) -> Self {
        let mut first: HashMap<(&str, &str), &str> = HashMap::new();
        let mut twins = HashMap::new();
        let mut servers: BTreeMap<&str, Vec<&Tool>> = BTreeMap::new();
        for tool in tools {
            let one = first.entry((&tool.name, &tool.description)).or_insert(&tool.id);
            twins.insert(tool.id.clone(), (*one).to_owned());
            // A set without server names gets one server for all tools.
            let server = tool.id.split_once('/').map_or("tools", |(server, _)| server);
            servers.entry(server).or_default().push(tool);
        }
        let (mut segments, mut ids, mut vectors) = (Vec::new(), Vec::new(), Vec::new());
        for (server, tools) in servers {
            let specs: Vec<Arc<ToolSpec>> = tools
                .iter()
                .map(|tool| Arc::new(spec(&tool.name, &tool.description, &tool.params)))
                .collect();
            ids.extend(tools.iter().map(|tool| twins[&tool.id].clone()));
            vectors.extend(specs.iter().map(|spec| LocalEmbedder.vector(&embedded_tool(spec))));
            segments.push(ToolSegment::new(&SourceId::Server(server.into()), &specs));
        }
        let all = (0..ids.len()).collect();
        Self { segments, ids, vectors, all, twins }
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Replaces each id with its first twin and removes the duplicates.
    pub(crate) fn once(&self, ids: &[String]) -> Vec<String> {
        let mut seen = HashSet::new();
        let first = |id: &String| self.twins.get(id).cloned();
        ids.iter().filter_map(first).filter(|id| seen.insert(id.clone())).collect()
    }

    pub(crate) fn found(&self, question: &str, limit: usize) -> Vec<String> {
        // Twins take up places in the list.
        let found = self.search(question, 3 * limit);
        let mut ids = self.tool_ids(&found.tools);
        ids.truncate(limit);
        ids
    }

    fn search(&self, question: &str, limit: usize) -> ToolMatches {
        self.ask(question, true, |tools, texts| {
            tools.search(&ToolSearch { queries: texts, allowed: &self.all, limit, min_score: 0.0 })
        })
    }

    /// Returns the evidence for the five nearest tools, by text of the question.
    pub(crate) fn evidence(&self, question: &str, with_vectors: bool) -> Vec<Vec<MatchEvidence>> {
        let allowed = &self.all;
        self.ask(question, with_vectors, |tools, texts| {
            tools.evidence(&ToolSearch { queries: texts, allowed, limit: DEFAULT, min_score: 0.0 }, 5)
        })
    }

    fn tool_ids(&self, found: &[ToolMatch]) -> Vec<String> {
        self.once(&found.iter().map(|tool| self.ids[tool.tool].clone()).collect::<Vec<_>>())
    }

    fn ask<T>(
        &self,
        question: &str,
        with_vectors: bool,
        search: impl Fn(&ToolSegments<'_>, &[ToolQuery<'_>]) -> T,
    ) -> T {
        let tools = ToolSegments::new(self.segments.iter().collect());
        let texts: Vec<ToolQuery<'_>> = query_parts(question)
            .into_iter()
            .map(|part| {
                let vector = LocalEmbedder.question_vector(&part.embedded()).filter(|_| with_vectors);
                let near = |tool: &Option<Vec<f32>>| dense::cosine(vector.as_ref()?, tool.as_ref()?);
                ToolQuery { part, cosines: self.vectors.iter().map(near).collect() }
            })
            .collect();
        search(&tools, &texts)
    }

    /// Counts the verdicts on unrelated questions and on answerable ones, and the median hits per reply.
    pub(crate) fn fits<'a>(
        &self,
        set: &str,
        questions: impl Iterator<Item = &'a Question>,
        elsewhere: impl Iterator<Item = &'a Asking>,
    ) -> Value {
        let fits = |found: &ToolMatches| {
            found.tools.iter().any(|tool| matches!(tool.fit, MatchQuality::Names | MatchQuality::Good))
        };
        let nothing = |found: &ToolMatches| found.tools.iter().all(|tool| tool.fit == MatchQuality::Nothing);
        let (mut unrelated, mut unrelated_fits, mut unrelated_nothing) = (0, 0, 0);
        for asking in elsewhere {
            let found = self.search(&asking.q, DEFAULT);
            unrelated += 1;
            unrelated_fits += usize::from(fits(&found));
            unrelated_nothing += usize::from(nothing(&found));
        }
        let (mut own, mut own_fits, mut own_nothing, mut hits) = (0, 0, 0, Vec::new());
        for question in questions {
            let found = self.search(&question.q, DEFAULT);
            own += 1;
            own_fits += usize::from(fits(&found));
            own_nothing += usize::from(nothing(&found));
            hits.push(found.tools.len());
        }
        hits.sort_unstable();
        json!({
            "document": format!("tools: {set}"), "elsewhere": unrelated, "elsewhere_fits": unrelated_fits,
            "elsewhere_nothing": unrelated_nothing, "own": own, "own_fits": own_fits, "own_nothing": own_nothing,
            "hits": hits.get(hits.len() / 2),
        })
    }
}

pub(crate) fn spec(name: &str, description: &str, parameters: &[String]) -> ToolSpec {
    let properties: Map<String, Value> =
        parameters.iter().map(|name| (name.clone(), json!({"type": "string"}))).collect();
    let schema = Map::from_iter([("type".into(), json!("object")), ("properties".into(), properties.into())]);
    ToolSpec { input_schema: Arc::new(schema), ..ToolSpec::new(name, description) }
}
