//! Tool search: what the search library reaches on catalogues of tools, over an index of the kind that stores
//! keep. By words: FTS5 with `porter unicode61`, weights name 2, description 1, parameters .5.

use std::collections::{HashMap, HashSet};

use anyhow::{Context as _, Result};
use gatehouse_core::{
    names::split_identifier,
    search::{Block, NameMatch, POOL, Query, Scored, dense, fuse, script},
};
use gatehouse_text::LocalEmbedder;
use rusqlite::Connection;

use crate::{
    Places, Results,
    recall::Recall,
    sets::{self, Tool, ToolSet},
};

/// Hits that are looked at.
const LIMIT: usize = 10;

/// The sets, and the name of all of them together.
const SETS: [&str; 3] = ["metatool", "stabletoolbench_g1", "livemcp_step"];
const COMBINED: &str = "combined";

/// Questions of each set that are asked of all of them together, at most.
const OF_EACH: usize = 500;

pub(crate) fn run(places: &Places, results: &mut Results) -> Result<()> {
    let mut combined = ToolSet::default();
    for name in SETS {
        let file = places.data.as_ref().map(|data| data.join(format!("tool-search/{name}.json")));
        let Some(file) = file.filter(|file| file.is_file()) else {
            results.skipped.push(format!("{name}: the set is not there"));
            continue;
        };
        let set = sets::tools(&file)?;
        measure(name, &set, results)?;
        combined.docs.extend(set.docs);
        // Evenly spread, so that a set of thousands does not drown the others.
        let step = set.queries.len().div_ceil(OF_EACH).max(1);
        combined.queries.extend(set.queries.into_iter().step_by(step));
    }
    if combined.docs.is_empty() {
        results.skipped.push(format!("{COMBINED}: no set is there"));
        return Ok(());
    }
    let mut seen = HashSet::new();
    combined.docs.retain(|tool| seen.insert(tool.id.clone()));
    measure(COMBINED, &combined, results)
}

/// A catalogue in the forms in which it is searched.
struct Index<'a> {
    tools: &'a [Tool],
    words: Connection,
    block: Block,
    /// Of each tool.
    vectors: Vec<Option<Vec<f32>>>,
    /// The tool of each row.
    rows: Vec<usize>,
}

fn measure(set: &str, tools: &ToolSet, results: &mut Results) -> Result<()> {
    let index = Index::of(&tools.docs)?;
    let (mut words, mut meaning, mut both) = (Recall::default(), Recall::default(), Recall::default());
    for question in &tools.queries {
        let bm25 = index.by_words(&question.q)?;
        let vector = LocalEmbedder.vector(&question.q);
        let near = vector.as_ref().map(|vector| index.block.nearest(vector, None, POOL)).unwrap_or_default();
        let near: Vec<usize> = near.into_iter().map(|near| index.rows[near.row]).collect();
        let mut pool: Vec<usize> = best(&bm25);
        let alone = index.fused(&pool, &bm25, None);
        words.add(&alone, &question.rel);
        meaning.add(&index.fused(&near, &HashMap::new(), vector.as_deref()), &question.rel);
        pool.extend(near);
        pool.sort_unstable();
        pool.dedup();
        both.add(&index.fused(&pool, &bm25, vector.as_deref()), &question.rel);
    }
    for (way, recall) in [("words", &words), ("meaning", &meaning), ("both", &both)] {
        results.rows.push(recall.row(set, tools.docs.len(), way));
    }
    Ok(())
}

impl<'a> Index<'a> {
    fn of(tools: &'a [Tool]) -> Result<Self> {
        let words = Connection::open_in_memory()?;
        words.execute_batch(
            "CREATE VIRTUAL TABLE tool USING fts5(name, description, params, tokenize = 'porter unicode61')",
        )?;
        let mut block = Block::new(gatehouse_text::DIMENSION);
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
                block.push(vector).context("all vectors have one dimension")?;
                rows.push(number);
            }
            vectors.push(vector);
        }
        Ok(Self { tools, words, block, vectors, rows })
    }

    /// BM25 of every tool that holds a word of the question.
    fn by_words(&self, question: &str) -> Result<HashMap<usize, f64>> {
        let Query { words, joined, .. } = Query::of(&script::separated(question));
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

    /// The ids of the best of some tools.
    fn fused(&self, pool: &[usize], bm25: &HashMap<usize, f64>, vector: Option<&[f32]>) -> Vec<String> {
        let scored = pool.iter().map(|number| Scored {
            key: &self.tools[*number].id,
            name: NameMatch::No,
            bm25: bm25.get(number).copied().unwrap_or(0.0),
            cosine: vector
                .zip(self.vectors[*number].as_deref())
                .and_then(|(query, tool)| dense::cosine(query, tool)),
        });
        fuse(scored.collect()).into_iter().take(LIMIT).map(|ranked| ranked.key.clone()).collect()
    }
}

/// The best by words.
fn best(scores: &HashMap<usize, f64>) -> Vec<usize> {
    let mut tools: Vec<(f64, usize)> = scores.iter().map(|(tool, score)| (*score, *tool)).collect();
    tools.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    tools.into_iter().take(POOL).map(|(_, tool)| tool).collect()
}
