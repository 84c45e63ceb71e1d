//! Time of tool searches through the port that gates use, in turns with an SQLite full-text index over the same tools
//! and questions: with and without filters, at three sizes, and for adversarial tools.

use std::{sync::Arc, time::Duration, time::Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use gatehouse_core::{
    ToolId,
    ports::{
        Clock, Embedder, ToolIndex as _,
        tool_index::{ChangePolicy, IndexedListing, ToolFilter, ToolSearchRequest},
    },
    source::Listing,
};
use gatehouse_stores::ToolCatalogStore;
use gatehouse_text::LocalEmbedder;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::catalogue::spec;

/// Numbers of tools; the first is a handful of servers.
const SIZES: [usize; 3] = [200, 5_000, 10_000];

const OF_SERVER: usize = 50;

const QUESTIONS: usize = 20;
const TURNS: usize = 5;

const VERBS: [&str; 16] = [
    "get", "list", "create", "delete", "update", "search", "send", "read", "write", "merge", "convert",
    "schedule", "archive", "compare", "export", "validate",
];
const THINGS: [&str; 24] = [
    "invoice",
    "customer",
    "branch",
    "commit",
    "issue",
    "calendar",
    "message",
    "channel",
    "folder",
    "spreadsheet",
    "image",
    "weather",
    "route",
    "payment",
    "contract",
    "ticket",
    "container",
    "database",
    "certificate",
    "page",
    "video",
    "playlist",
    "recipe",
    "shipment",
];
const MANNERS: [&str; 12] = [
    "by its number",
    "of one project",
    "for a given day",
    "with all comments",
    "as a table",
    "from the cloud",
    "in several languages",
    "with a preview",
    "for one team",
    "since a date",
    "with its history",
    "as plain text",
];

pub(crate) async fn run() -> Result<Value> {
    let mut sizes = Vec::new();
    for size in SIZES {
        sizes.push(measure(size, described).await.with_context(|| format!("{size} tools"))?);
    }
    let same = measure(SIZES[2], |_| "create the invoice of a customer ".repeat(4)).await?;
    let long = measure(SIZES[0], |number| format!("{} ", described(number)).repeat(1_200)).await?;
    Ok(json!({"sizes": sizes, "same_words": same, "long_descriptions": long}))
}

async fn measure(size: usize, description: impl Fn(usize) -> String) -> Result<Value> {
    let folder = tempfile::tempdir()?;
    let embedder: Arc<dyn Embedder> = Arc::new(LocalEmbedder);
    let book = ToolCatalogStore::sqlite(folder.path().join("tools.db"), Arc::new(Now), Some(embedder));
    let words = Connection::open_in_memory()?;
    words.execute_batch(
        "CREATE VIRTUAL TABLE tool USING fts5(name, description, tokenize = 'porter unicode61')",
    )?;
    let numbers: Vec<usize> = (0..size).collect();
    for (server, numbers) in numbers.chunks(OF_SERVER).enumerate() {
        let mut listing = Listing::default();
        for number in numbers {
            let (name, text) = (name(*number), description(*number));
            words.execute(
                "INSERT INTO tool (name, description) VALUES (?1, ?2)",
                (name.replace('_', " "), &text),
            )?;
            listing.tools.push(Arc::new(spec(&name, &text, &["number".into(), "filter".into()])));
        }
        let server = Arc::from(server_name(server));
        let listed = IndexedListing {
            server,
            tags: Vec::new(),
            listing: Arc::new(listing),
            on_change: ChangePolicy::Warn,
        };
        book.put(listed, false).await.map_err(|fault| anyhow!(fault.message))?;
    }
    ensure!(book.wait_for_vectors(Duration::from_secs(300)).await, "the tools have no vectors");
    let preset = |id: &ToolId| id.name.len().is_multiple_of(2);
    let server = |id: &ToolId| **id.source.name() == *server_name(1);
    let every = |_: &ToolId| true;
    let ways: [(&str, ToolFilter<'_>, f64); 4] = [
        ("all", &every, 0.0),
        ("server", &server, 0.0),
        ("preset", &preset, 0.0),
        ("min_similarity", &every, 0.5),
    ];
    let mut times = vec![Vec::new(); ways.len()];
    let (mut floors, mut ratios) = (Vec::new(), Vec::new());
    // The first turn loads the tools.
    for turn in 0..=TURNS {
        for number in 0..QUESTIONS {
            let query = question(number);
            let floor = timed(&words, &query)?;
            let mut took = Vec::new();
            for (_, may_find, min_score) in &ways {
                let asked = ToolSearchRequest { query: query.clone(), limit: 10, min_score: *min_score };
                let begin = Instant::now();
                book.search(&asked, *may_find).await.map_err(|fault| anyhow!(fault.message))?;
                took.push(begin.elapsed().as_secs_f64() * 1e3);
            }
            if turn > 0 {
                floors.push(floor);
                ratios.push(took[0] / floor);
                times.iter_mut().zip(took).for_each(|(times, took)| times.push(took));
            }
        }
    }
    let named =
        ways.iter().zip(&mut times).map(|((name, ..), times)| ((*name).to_owned(), json!(median(times))));
    let ways: serde_json::Map<String, Value> = named.collect();
    book.close().await;
    Ok(json!({"tools": size, "n": QUESTIONS * TURNS, "p50_ms": ways, "fts5_p50_ms": median(&mut floors),
              "ratio": median(&mut ratios)}))
}

fn timed(words: &Connection, query: &str) -> Result<f64> {
    let any = query.split(' ').map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" OR ");
    let begin = Instant::now();
    let sql = "SELECT rowid FROM tool WHERE tool MATCH ?1 ORDER BY bm25(tool, 2.0, 1.0) LIMIT 10";
    let mut statement = words.prepare_cached(sql)?;
    let found = statement.query_map([any], |row| row.get::<_, i64>(0))?;
    found.collect::<Result<Vec<_>, _>>()?;
    Ok(begin.elapsed().as_secs_f64() * 1e3)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn server_name(number: usize) -> String {
    format!("server{number}")
}

fn name(number: usize) -> String {
    format!("{}_{}_{number}", VERBS[number % VERBS.len()], THINGS[number / VERBS.len() % THINGS.len()])
}

fn described(number: usize) -> String {
    let thing = THINGS[number / VERBS.len() % THINGS.len()];
    let other = THINGS[number * 7 % THINGS.len()];
    let manner = MANNERS[number * 5 % MANNERS.len()];
    format!(
        "Can {} the {thing} {manner}, together with the {other} that belongs to it.",
        VERBS[number % VERBS.len()]
    )
}

/// Returns a question; every fourth has a second sentence.
fn question(number: usize) -> String {
    let one = format!("{} a {} {}", VERBS[number * 3 % 16], THINGS[number * 5 % 24], MANNERS[number % 12]);
    if number.is_multiple_of(4) {
        format!("{one}. Then {} the {}", VERBS[number % 16], THINGS[number * 11 % 24])
    } else {
        one
    }
}

/// A fixed clock; searches do not depend on time.
struct Now;

impl Clock for Now {
    fn now_ms(&self) -> u64 {
        0
    }
}
