//! Measures search quality and prints JSON: recall of knowledge and tool search by words, by vectors and by both, with
//! 95 % intervals, and how much of an answer an extract of a long document retains.
//!
//! `bench-quality --queries FOLDER --sample-wiki FOLDER [--data FOLDER] [--document NAME=FILE]…`. The data directory is
//! not part of the repository; missing sets are reported as skipped. Other modes:
//!
//! - `--tools` before these options: tool search only
//! - `--verdict` before these options: the weights of the tool search's verdict
//! - `--times FOLDER`, `--digests FOLDER`, `--tool-times`: time of extracts, digests and tool searches
//! - `--store-times [URL]`: time of artifacts and values of gates, in files or on a PostgreSQL server
//! - `--results FOLDER`: facts that summaries of the results retain
//! - `--tokens FILE`: token counts of texts
#![allow(clippy::print_stdout)] // the result is the output

mod catalogue;
mod digests;
mod documents;
#[cfg(test)]
mod kept;
mod knowledge;
mod languages;
mod recall;
mod results;
mod sets;
mod store_times;
mod times;
mod tool_times;
mod tools;
mod verdict;

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use gatehouse_core::ports::{TokenCounter as _, text::TokenEncoding};
use gatehouse_text::BpeTokenCounter;
use serde_json::{Value, json};

struct Places {
    queries: PathBuf,
    sample_wiki: PathBuf,
    data: Option<PathBuf>,
    documents: Vec<(String, PathBuf)>,
}

/// Results, and the names of skipped sets.
#[derive(Default)]
struct Results {
    rows: Vec<Value>,
    documents: Vec<Value>,
    fits: Vec<Value>,
    skipped: Vec<String>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if_eq("--times").is_some() {
        let folder = arguments.next().context("--times needs a directory")?;
        println!("{}", serde_json::to_string_pretty(&times::run(folder.as_ref())?)?);
        return Ok(());
    }
    if arguments.next_if_eq("--tool-times").is_some() {
        println!("{}", serde_json::to_string_pretty(&tool_times::run().await?)?);
        return Ok(());
    }
    if arguments.next_if_eq("--store-times").is_some() {
        let url = arguments.next();
        println!("{}", serde_json::to_string_pretty(&store_times::run(url.as_deref()).await?)?);
        return Ok(());
    }
    if arguments.next_if_eq("--tools").is_some() {
        let mut results = Results::default();
        let places = parse(arguments)?;
        tools::run(&places, &mut results)?;
        languages::run(&places, &mut results)?;
        println!("{}", serde_json::to_string_pretty(&measured(results))?);
        return Ok(());
    }
    if arguments.next_if_eq("--verdict").is_some() {
        println!("{}", serde_json::to_string_pretty(&verdict::run(&parse(arguments)?)?)?);
        return Ok(());
    }
    if arguments.next_if_eq("--digests").is_some() {
        let folder = arguments.next().context("--digests needs a directory")?;
        println!("{}", serde_json::to_string_pretty(&digests::run(folder.as_ref())?)?);
        return Ok(());
    }
    if arguments.next_if_eq("--results").is_some() {
        let folder = arguments.next().context("--results needs a directory")?;
        println!("{}", serde_json::to_string_pretty(&results::run(folder.as_ref())?)?);
        return Ok(());
    }
    if arguments.next_if_eq("--tokens").is_some() {
        let file = arguments.next().context("--tokens needs a file with a JSON list of texts")?;
        let texts: Vec<String> = serde_json::from_slice(&std::fs::read(file)?)?;
        let counts: Vec<usize> =
            texts.iter().map(|text| BpeTokenCounter.count(text, TokenEncoding::default())).collect();
        println!("{}", serde_json::to_string(&counts)?);
        return Ok(());
    }
    let places = parse(arguments)?;
    let mut results = Results::default();
    knowledge::run(&places, &mut results).await?;
    tools::run(&places, &mut results)?;
    languages::run(&places, &mut results)?;
    languages::run_pages(&places, &mut results).await?;
    documents::run(&places.queries, &places.documents, &mut results)?;
    documents::run_own(&places.queries, &mut results)?;
    println!("{}", serde_json::to_string_pretty(&measured(results))?);
    Ok(())
}

fn measured(results: Results) -> Value {
    let Results { rows, documents, fits, skipped } = results;
    json!({"results": rows, "documents": documents, "fits": fits, "skipped": skipped})
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Places> {
    let (mut queries, mut sample_wiki, mut data) = (None, None, None);
    let mut documents = Vec::new();
    while let Some(name) = arguments.next() {
        let place = match name.as_str() {
            "--queries" => &mut queries,
            "--sample-wiki" => &mut sample_wiki,
            "--data" => &mut data,
            "--document" => {
                let document = arguments.next().context("--document needs NAME=FILE")?;
                let (name, file) = document.split_once('=').context("--document needs NAME=FILE")?;
                documents.push((name.to_owned(), file.into()));
                continue;
            }
            other => bail!("unexpected argument '{other}'"),
        };
        *place = Some(PathBuf::from(arguments.next().with_context(|| format!("{name} needs a directory"))?));
    }
    Ok(Places {
        queries: queries.context("--queries is missing")?,
        sample_wiki: sample_wiki.context("--sample-wiki is missing")?,
        data,
        documents,
    })
}
