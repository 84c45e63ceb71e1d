//! A catalog of tools with the gateway's search.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use gatehouse_core::{
    Effect, Intent, SourceId, ToolSpec,
    page::MatchQuality,
    search::{
        RowSet, dense,
        tools::{
            ToolMatch, ToolMatches, ToolQuery, ToolSearch, ToolSegment, ToolSegments, embedded_tool,
            query_parts,
        },
    },
};
use gatehouse_text::LocalEmbedder;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    sets::{Question, Tool},
    tools::held_out,
};

const DEFAULT: usize = 10;

/// A question that no tool answers.
#[derive(Deserialize)]
pub(crate) struct Asking {
    q: String,
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

    /// Replaces each id with its first twin and removes the duplicates.
    pub(crate) fn once(&self, ids: &[String]) -> Vec<String> {
        let mut seen = HashSet::new();
        let first = |id: &String| self.twins.get(id).cloned();
        ids.iter().filter_map(first).filter(|id| seen.insert(id.clone())).collect()
    }

    pub(crate) fn found(&self, question: &str, limit: usize) -> Vec<String> {
        // Twins take up places in the list.
        let found = self.search(question, 3 * limit);
        let mut ids = self.told(&found.tools);
        ids.truncate(limit);
        ids
    }

    fn search(&self, question: &str, limit: usize) -> ToolMatches {
        self.asked(question, |tools, texts| {
            tools.search(&ToolSearch { queries: texts, allowed: &self.all, limit, min_score: 0.0 })
        })
    }

    /// Returns the best ten before the cutoff.
    fn uncut(&self, question: &str) -> Vec<String> {
        let all = self.asked(question, |tools, texts| {
            tools.rank(&ToolSearch { queries: texts, allowed: &self.all, limit: DEFAULT, min_score: 0.0 })
        });
        self.told(&all.tools[..all.tools.len().min(DEFAULT)])
    }

    fn told(&self, found: &[ToolMatch]) -> Vec<String> {
        self.once(&found.iter().map(|tool| self.ids[tool.tool].clone()).collect::<Vec<_>>())
    }

    fn asked(
        &self,
        question: &str,
        search: impl Fn(&ToolSegments<'_>, &[ToolQuery<'_>]) -> ToolMatches,
    ) -> ToolMatches {
        let tools = ToolSegments::new(self.segments.iter().collect());
        let texts: Vec<ToolQuery<'_>> = query_parts(question)
            .into_iter()
            .map(|text| {
                let vector = LocalEmbedder.vector(text);
                let near = |tool: &Option<Vec<f32>>| dense::cosine(vector.as_ref()?, tool.as_ref()?);
                ToolQuery { text, cosines: self.vectors.iter().map(near).collect() }
            })
            .collect();
        search(&tools, &texts)
    }

    /// Counts how often the search reports that no tool fits, for unrelated questions and for answerable ones, and the
    /// median hits per reply. Uses the held-out halves.
    pub(crate) fn fits(&self, set: &str, questions: &[Question], elsewhere: &[Asking]) -> Value {
        let others: Vec<ToolMatches> =
            elsewhere.iter().skip(1).step_by(2).map(|asking| self.search(&asking.q, DEFAULT)).collect();
        let nothing = |found: &&ToolMatches| found.tools.iter().all(|tool| tool.fit == MatchQuality::Weak);
        let (mut own, mut own_nothing, mut empty, mut lost, mut hits) = (0, 0, 0, 0, Vec::new());
        for question in questions.iter().filter(|question| held_out(question)) {
            let found = self.search(&question.q, DEFAULT);
            own += 1;
            own_nothing += usize::from(nothing(&&found));
            empty += usize::from(found.tools.is_empty());
            hits.push(found.tools.len());
            let right = self.once(&question.rel);
            let has = |ids: &[String]| ids.iter().any(|id| right.contains(id));
            lost += usize::from(has(&self.uncut(&question.q)) && !has(&self.told(&found.tools)));
        }
        hits.sort_unstable();
        json!({
            "document": format!("tools: {set}"), "elsewhere": others.len(),
            "elsewhere_nothing": others.iter().filter(nothing).count(),
            "elsewhere_empty": others.iter().filter(|found| found.tools.is_empty()).count(),
            "own": own, "own_nothing": own_nothing, "own_empty": empty, "own_lost": lost, "hits": hits.get(hits.len() / 2),
        })
    }
}

pub(crate) fn spec(name: &str, description: &str, parameters: &[String]) -> ToolSpec {
    let properties: Map<String, Value> =
        parameters.iter().map(|name| (name.clone(), json!({"type": "string"}))).collect();
    let schema = Map::from_iter([("type".into(), json!("object")), ("properties".into(), properties.into())]);
    ToolSpec {
        name: name.into(),
        title: None,
        description: description.into(),
        input_schema: Arc::new(schema),
        output_schema: None,
        intent: Intent::Query,
        effect: Effect::ReadOnly,
        idempotent: true,
        open_world: false,
        dry_run: None,
        additive: false,
        meta: None,
        icons: Vec::new(),
    }
}
