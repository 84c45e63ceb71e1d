//! Measures what the search finds: recall of knowledge search and of tool search, by words alone, by meaning
//! alone and by both, each with a 95 % interval; and what an extract of a long document keeps of an answer. Prints JSON.
//!
//! `bench-quality --queries FOLDER --sample-wiki FOLDER [--data FOLDER] [--document NAME=FILE]…`. What lies in the data
//! folder is not part of the repository; a set that is not there is listed as skipped. `bench-quality --times FOLDER`
//! measures instead how long extracts of the documents in that folder take, `bench-quality --digests FOLDER` how
//! long digests take, `--tools` before the rest the search of tools alone, `bench-quality --tool-times` how long
//! searches of tools take, `bench-quality --results FOLDER` what the short forms of the results in that folder
//! keep, and `bench-quality --tokens FILE` counts the tokens of texts.
#![allow(clippy::print_stdout)] // its result is its output

mod catalogue;
mod digests;
mod documents;
mod knowledge;
mod recall;
mod results;
mod sets;
mod times;
mod tool_times;
mod tools;

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use gatehouse_core::ports::{TokenCounter as _, text::TokenEncoding};
use gatehouse_text::BpeTokenCounter;
use serde_json::{Value, json};

/// Where things are.
struct Places {
    queries: PathBuf,
    sample_wiki: PathBuf,
    data: Option<PathBuf>,
    /// Names and files.
    documents: Vec<(String, PathBuf)>,
}

/// What was measured, and what was not.
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
        let folder = arguments.next().context("--times needs a folder")?;
        println!("{}", serde_json::to_string_pretty(&times::run(folder.as_ref())?)?);
        return Ok(());
    }
    if arguments.next_if_eq("--tool-times").is_some() {
        println!("{}", serde_json::to_string_pretty(&tool_times::run().await?)?);
        return Ok(());
    }
    if arguments.next_if_eq("--tools").is_some() {
        let mut results = Results::default();
        tools::run(&parse(arguments)?, &mut results)?;
        println!("{}", serde_json::to_string_pretty(&measured(results))?);
        return Ok(());
    }
    if arguments.next_if_eq("--digests").is_some() {
        let folder = arguments.next().context("--digests needs a folder")?;
        println!("{}", serde_json::to_string_pretty(&digests::run(folder.as_ref())?)?);
        return Ok(());
    }
    if arguments.next_if_eq("--results").is_some() {
        let folder = arguments.next().context("--results needs a folder")?;
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
    documents::run(&places.queries, &places.documents, &mut results)?;
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
            other => bail!("unexpected: {other}"),
        };
        *place = Some(PathBuf::from(arguments.next().with_context(|| format!("{name} needs a folder"))?));
    }
    Ok(Places {
        queries: queries.context("--queries is missing")?,
        sample_wiki: sample_wiki.context("--sample-wiki is missing")?,
        data,
        documents,
    })
}
