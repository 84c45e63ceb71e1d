//! Tool search in catalogs: hits by words alone, by vectors alone and by the gateway's search, answers cut off its
//! list, and whether it reports that no tool fits an unrelated question.
//!
//! Words are FTS5 with `porter unicode61` and the weights name 2, description 1, parameters 0.5. Tools with the same
//! name and text count as one.

use std::collections::{HashMap, HashSet};

use anyhow::{Context as _, Result};
use gatehouse_core::{
    hash::sha256_hex,
    names::split_identifier,
    search::{MIN_CANDIDATE_POOL, NameMatch, ScoredCandidate, SearchQuery, VectorBlock, dense, fuse, script},
};
use gatehouse_text::LocalEmbedder;
use rusqlite::Connection;

use crate::{
    Places, Results,
    catalogue::{Asking, Catalogue},
    recall::{Recall, cpu_time},
    sets::{self, Question, Tool, ToolSet},
};

const LIMIT: usize = 10;

/// The sets, and the name of their union.
pub(crate) const SETS: [&str; 3] = ["metatool", "stabletoolbench_g1", "livemcp_step"];
const COMBINED: &str = "combined";

const OF_EACH: usize = 500;

/// Short and then long questions about subjects that no tool covers. `bench-quality --verdict` judges each by a model that
/// has not seen it.
const ELSEWHERE: [&str; 2] = ["tools-nothing.jsonl", "off-topic-long.jsonl"];

pub(crate) fn run(places: &Places, results: &mut Results) -> Result<()> {
    let [short, long] = ELSEWHERE.map(|file| sets::lines(&places.queries.join(file)));
    let elsewhere = [short?, long?];
    let mut combined = ToolSet::default();
    for name in SETS {
        let file = places.data.as_ref().map(|data| data.join(format!("tool-search/{name}.json")));
        let Some(file) = file.filter(|file| file.is_file()) else {
            results.skipped.push(format!("{name}: set not found"));
            continue;
        };
        let set = sets::tools(&file)?;
        measure(name, &set, &elsewhere, results)?;
        combined.docs.extend(set.docs);
        // Evenly spaced, so that a large set does not dominate.
        let step = set.queries.len().div_ceil(OF_EACH).max(1);
        combined.queries.extend(set.queries.into_iter().step_by(step));
    }
    if combined.docs.is_empty() {
        results.skipped.push(format!("{COMBINED}: no sets found"));
        return Ok(());
    }
    let mut seen = HashSet::new();
    combined.docs.retain(|tool| seen.insert(tool.id.clone()));
    measure(COMBINED, &combined, &elsewhere, results)
}

/// Search indexes of a catalog.
struct Index<'a> {
    tools: &'a [Tool],
    words: Connection,
    block: VectorBlock,
    vectors: Vec<Option<Vec<f32>>>,
    /// Tool numbers by row of `block`.
    rows: Vec<usize>,
}

fn measure(set: &str, tools: &ToolSet, elsewhere: &[Vec<Asking>; 2], results: &mut Results) -> Result<()> {
    let index = Index::of(&tools.docs)?;
    let catalogue = Catalogue::of(&tools.docs);
    let ways = ["words", "meaning", "gateway", "words, held out", "gateway, held out"];
    let mut recalls = ways.map(|_| Recall::default());
    for question in &tools.queries {
        let right = catalogue.once(&question.rel);
        let begin = cpu_time();
        let bm25 = index.by_words(&question.q)?;
        recalls[0].add_cpu_since(begin);
        let vector = LocalEmbedder.vector(&question.q);
        let near = vector
            .as_ref()
            .map(|vector| index.block.nearest(vector, None, MIN_CANDIDATE_POOL))
            .unwrap_or_default();
        let near: Vec<usize> = near.into_iter().map(|near| index.rows[near.row]).collect();
        let words = catalogue.once(&index.fused(&best(&bm25), &bm25, None));
        let meaning = catalogue.once(&index.fused(&near, &HashMap::new(), vector.as_deref()));
        let begin = cpu_time();
        let found = catalogue.found(&question.q, LIMIT);
        recalls[2].add_cpu_since(begin);
        recalls[0].add(&words, &right);
        recalls[1].add(&meaning, &right);
        recalls[2].add(&found, &right);
        if held_out(question) {
            recalls[3].add(&words, &right);
            recalls[4].add(&found, &right);
        }
    }
    for (way, recall) in ways.iter().zip(&recalls) {
        results.rows.push(recall.row(set, tools.docs.len(), way));
    }
    let lengths = [("short questions", false), ("long questions", true)];
    for ((length, long), elsewhere) in lengths.into_iter().zip(elsewhere) {
        let of_length = |question: &&Question| held_out(question) && is_long(&question.q) == long;
        let own = tools.queries.iter().filter(of_length);
        results.fits.push(catalogue.fits(&format!("{set}, {length}"), own, elsewhere.iter()));
    }
    Ok(())
}

/// Returns `true` for questions of 25 words and more.
pub(crate) fn is_long(question: &str) -> bool {
    question.split_whitespace().count() >= 25
}

/// Returns `true` for the half of the questions on which nothing was tuned.
pub(crate) fn held_out(question: &Question) -> bool {
    let digit = sha256_hex(&question.q).as_bytes()[0];
    char::from(digit).to_digit(16).is_some_and(|digit| digit % 2 == 1)
}

impl<'a> Index<'a> {
    fn of(tools: &'a [Tool]) -> Result<Self> {
        let words = Connection::open_in_memory()?;
        words.execute_batch(
            "CREATE VIRTUAL TABLE tool USING fts5(name, description, params, tokenize = 'porter unicode61')",
        )?;
        let mut block = VectorBlock::new(gatehouse_text::DIMENSION);
        let (mut vectors, mut rows) = (Vec::new(), Vec::new());
        for (number, tool) in tools.iter().enumerate() {
            let name = split_identifier(&tool.name);
            let params = tool.params.iter().map(|name| split_identifier(name)).collect::<Vec<_>>().join(" ");
            let values = (number as i64, format!("{} {name}", tool.name), &tool.description, &params);
            words.execute(
                "INSERT INTO tool (rowid, name, description, params) VALUES (?1, ?2, ?3, ?4)",
                values,
            )?;
            let vector = LocalEmbedder.vector(&format!("{name}. {} {params}", tool.description));
            if let Some(vector) = &vector {
                block.push(vector).context("a vector has the wrong dimension")?;
                rows.push(number);
            }
            vectors.push(vector);
        }
        Ok(Self { tools, words, block, vectors, rows })
    }

    /// Returns the BM25 score of every tool that has a word of the question.
    fn by_words(&self, question: &str) -> Result<HashMap<usize, f64>> {
        let SearchQuery { words, joined, .. } = SearchQuery::new(&script::separate_scripts(question));
        let words: Vec<String> = words.iter().chain(&joined).map(|word| format!("\"{word}\"")).collect();
        if words.is_empty() {
            return Ok(HashMap::new());
        }
        let mut statement = self
            .words
            .prepare_cached("SELECT rowid, -bm25(tool, 2.0, 1.0, 0.5) FROM tool WHERE tool MATCH ?1")?;
        let rows = statement
            .query_map([words.join(" OR ")], |row| Ok((row.get::<_, i64>(0)? as usize, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn fused(&self, pool: &[usize], bm25: &HashMap<usize, f64>, vector: Option<&[f32]>) -> Vec<String> {
        let scored = pool.iter().map(|number| ScoredCandidate {
            key: &self.tools[*number].id,
            name: NameMatch::No,
            bm25: bm25.get(number).copied().unwrap_or(0.0),
            cosine: vector
                .zip(self.vectors[*number].as_deref())
                .and_then(|(query, tool)| dense::cosine(query, tool)),
        });
        fuse(scored.collect()).into_iter().take(MIN_CANDIDATE_POOL).map(|ranked| ranked.key.clone()).collect()
    }
}

fn best(scores: &HashMap<usize, f64>) -> Vec<usize> {
    let mut tools: Vec<(f64, usize)> = scores.iter().map(|(tool, score)| (*score, *tool)).collect();
    tools.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    tools.into_iter().take(MIN_CANDIDATE_POOL).map(|(_, tool)| tool).collect()
}
