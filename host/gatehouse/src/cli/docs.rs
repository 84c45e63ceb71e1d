//! `gatehouse docs`: manages the document repositories. Gates only search and read them.

mod add;

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand, ValueEnum};
use gatehouse_core::ports::{
    DocumentReader, DocumentStore,
    documents::{Document, LineRange, MatchQuality, Repository, SearchMode},
};
use gatehouse_stores::DocumentLibrary;

use super::{CommandError, CommandResult, GlobalArgs, OutputFormat, PlainError};
use crate::{
    compose::{self, Composition},
    config::Env,
    out,
};

#[derive(Subcommand)]
pub(super) enum Command {
    /// Index a directory or git checkout, so that its documents can be searched and read
    Add(AddRepositoryArgs),
    /// Index the changes of repositories
    Refresh {
        /// Names of repositories [default: all]
        repositories: Vec<String>,
        #[command(flatten)]
        output: OutputFormat,
    },
    /// List repositories
    List {
        /// Print JSON, including navigation guides
        #[arg(long)]
        json: bool,
    },
    /// Search a repository
    Search(SearchDocsArgs),
    /// Print a document, or some of its lines
    Get {
        /// Name of the repository
        repository: String,
        /// Path of the document in it
        path: String,
        /// Only these lines, as 10-20 or 10
        #[arg(long, value_parser = lines, value_name = "LINES")]
        lines: Option<LineRange>,
        #[command(flatten)]
        output: OutputFormat,
    },
    /// Print the navigation guide of a repository
    Guide {
        /// Name of the repository
        repository: String,
        /// Write the guide again first
        #[arg(long)]
        renew: bool,
    },
    /// Remove a repository and its stored documents; the directory itself is not changed
    Remove {
        /// Name of the repository
        repository: String,
    },
}

#[derive(Args)]
pub(super) struct AddRepositoryArgs {
    /// Directory to index
    dir: PathBuf,
    /// Name for tools [default: the name of the directory]
    #[arg(long)]
    name: Option<String>,
    /// URL of the repository [default: the remote of the checkout]
    #[arg(long)]
    url: Option<String>,
    #[command(flatten)]
    output: OutputFormat,
}

#[derive(Args)]
pub(super) struct SearchDocsArgs {
    /// Name of the repository
    repository: String,
    /// Search text
    query: String,
    /// Search by words only, or also by meaning
    #[arg(long, value_enum, default_value_t)]
    mode: SearchModeArg,
    /// Maximum number of documents
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=50))]
    top_k: u16,
    #[command(flatten)]
    output: OutputFormat,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum SearchModeArg {
    Text,
    #[default]
    Semantic,
}

/// Maximum wait for vectors. The next process that opens the store computes the rest.
const MAX_VECTOR_WAIT: Duration = Duration::from_secs(600);

fn lines(text: &str) -> Result<LineRange, PlainError> {
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|line| *line > 0);
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok(LineRange { first, last }),
        _ => Err("write lines as 10-20, or as 10".into()),
    }
}

pub(super) async fn run(command: Command, global: &GlobalArgs, env: &Env) -> CommandResult {
    let config = global.config(env)?;
    let models = compose::models(&config)?;
    let library = compose::documents(&config, &models.embedder)?;
    let host = || Composition::new(config, env);
    let done = match command {
        Command::Add(arguments) => add::add(&library, &host()?, arguments).await,
        Command::Refresh { repositories, output } => {
            add::refresh(&library, &host()?, repositories, output).await
        }
        Command::List { json } => list(&library, json).await,
        Command::Search(arguments) => search(&library, arguments).await,
        Command::Get { repository, path, lines, output } => {
            get(&library, &repository, &path, lines, output).await
        }
        Command::Guide { repository, renew } => add::guide(&library, &host()?, &repository, renew).await,
        Command::Remove { repository } => remove(&library, &repository).await,
    };
    library.close().await;
    done
}

/// Finds a repository by name. The error lists the existing ones.
async fn find_repository(library: &DocumentLibrary, name: &str, guides: bool) -> CommandResult<Repository> {
    let mut repositories = library.repositories(guides).await?;
    if let Some(index) = repositories.iter().position(|repository| repository.name.eq_ignore_ascii_case(name))
    {
        return Ok(repositories.swap_remove(index));
    }
    let names: Vec<&str> = repositories.iter().map(|repository| repository.name.as_str()).collect();
    let hint = match names.as_slice() {
        [] => "Add one with `gatehouse docs add <folder>`.".into(),
        names => format!("There are: {}.", names.join(", ")),
    };
    Err(CommandError::usage(format!("there is no repository '{name}'. {hint}")))
}

async fn list(library: &DocumentLibrary, json: bool) -> CommandResult {
    let repositories = library.repositories(json).await?;
    OutputFormat { json }.print(&repositories, || {
        if repositories.is_empty() {
            out::line("No repositories yet. Add one with `gatehouse docs add <folder>`.");
        }
        let row = |repository: &Repository| {
            let documents = format!("{} documents", repository.file_count);
            let optional = [&repository.kind, &repository.updated_at, &repository.url]
                .map(|text| text.clone().unwrap_or_default());
            [repository.name.clone(), documents].into_iter().chain(optional).collect()
        };
        out::table(&repositories.iter().map(row).collect::<Vec<_>>());
    });
    Ok(())
}

async fn search(library: &DocumentLibrary, arguments: SearchDocsArgs) -> CommandResult {
    let SearchDocsArgs { repository, query, mode, top_k, output } = arguments;
    let mode = match mode {
        SearchModeArg::Text => SearchMode::Text,
        SearchModeArg::Semantic => SearchMode::Semantic,
    };
    let result = library.search(&repository, &query, mode, top_k.into()).await?;
    output.print(&result, || {
        match result.hits.first() {
            None => out::line(format!("Nothing found for \"{query}\".")),
            Some(hit) if hit.fit == MatchQuality::Nothing => out::line("Nothing fits; nearest documents:"),
            Some(_) => {}
        }
        for (index, hit) in result.hits.iter().enumerate() {
            let best = hit.best.map(|lines| format!(", best in lines {}-{}", lines.first, lines.last));
            out::line(format!("{}. {}  {:.2}", index + 1, hit.path, hit.score));
            out::line(format!("   {} tokens{}", hit.tokens, best.unwrap_or_default()));
        }
        result.note.iter().for_each(out::note);
        if !result.unmatched_terms.is_empty() {
            out::line(format!("In no document: {}", result.unmatched_terms.join(", ")));
        }
    });
    Ok(())
}

async fn get(
    library: &DocumentLibrary,
    repository: &str,
    path: &str,
    lines: Option<LineRange>,
    output: OutputFormat,
) -> CommandResult {
    let document = library.read(repository, path, lines).await?;
    output.print(&document, || {
        let Document { text, lines, total_lines, made_from, part, .. } = &document;
        out::line(text.trim_end_matches('\n'));
        if lines.last < *total_lines || lines.first > 1 {
            out::note(format!("lines {}-{} of {total_lines}", lines.first, lines.last));
        }
        part.iter().for_each(|part| out::note(format!("continues {part}")));
        made_from.iter().for_each(|format| out::note(format!("text extracted from {format}")));
    });
    Ok(())
}

async fn remove(library: &DocumentLibrary, name: &str) -> CommandResult {
    let repository = find_repository(library, name, false).await?;
    library.remove(&repository.name).await?;
    out::line(format!("removed {} ({} documents)", repository.name, repository.file_count));
    Ok(())
}
