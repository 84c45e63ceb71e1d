//! Measures what the search finds: recall of knowledge search and of tool search, by words alone, by meaning
//! alone and by both, each with a 95 % interval. Prints JSON.
//!
//! `bench-quality --queries FOLDER --sample-wiki FOLDER [--data FOLDER]`. What lies in the data folder is not part
//! of the repository; a set that is not there is listed as skipped.
#![allow(clippy::print_stdout)] // its result is its output

mod knowledge;
mod recall;
mod sets;
mod tools;

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

/// Where things are.
struct Places {
    queries: PathBuf,
    sample_wiki: PathBuf,
    data: Option<PathBuf>,
}

/// What was measured, and what was not.
#[derive(Default)]
struct Results {
    rows: Vec<Value>,
    skipped: Vec<String>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let places = parse(std::env::args().skip(1))?;
    let mut results = Results::default();
    knowledge::run(&places, &mut results).await?;
    tools::run(&places, &mut results)?;
    let Results { rows, skipped } = results;
    println!("{}", serde_json::to_string_pretty(&json!({"results": rows, "skipped": skipped}))?);
    Ok(())
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Places> {
    let (mut queries, mut sample_wiki, mut data) = (None, None, None);
    while let Some(name) = arguments.next() {
        let place = match name.as_str() {
            "--queries" => &mut queries,
            "--sample-wiki" => &mut sample_wiki,
            "--data" => &mut data,
            other => bail!("unexpected: {other}"),
        };
        *place = Some(PathBuf::from(arguments.next().with_context(|| format!("{name} needs a folder"))?));
    }
    Ok(Places {
        queries: queries.context("--queries is missing")?,
        sample_wiki: sample_wiki.context("--sample-wiki is missing")?,
        data,
    })
}
