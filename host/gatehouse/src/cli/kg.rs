//! `gatehouse kg`: manages the knowledge graph. The user may index any directory; `knowledge.wiki_roots` only restricts
//! gates.

mod copy;
mod empty;

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand};
use gatehouse_core::ports::{
    KnowledgeGraph,
    knowledge::{
        IndexOptions, IndexReport, KnowledgePage, MatchQuality, PageChanges, PageFilters, PageLookup,
        PageType, UnknownEdge,
    },
};
use gatehouse_stores::{WikiKnowledge, WikiRoots};
use indicatif::ProgressBar;

use super::{CommandError, CommandResult, GlobalArgs, OutputFormat};
use crate::{compose, config::Env, out, progress};

#[derive(Subcommand)]
pub(super) enum Command {
    /// Synchronize the stored pages with a wiki directory
    Index(IndexWikiArgs),
    /// Search pages
    Search(SearchPagesArgs),
    /// Print a page by id (Type/Name) or title
    Get {
        /// Id or title
        page: String,
        #[command(flatten)]
        output: OutputFormat,
    },
    /// Change a page and its source file
    Edit(EditPageArgs),
    /// Copy all pages from one engine to another, or none on failure
    Copy(copy::CopyPagesArgs),
}

#[derive(Args)]
pub(super) struct IndexWikiArgs {
    /// Wiki directory [default: the one of KG_INDEX_PATH]
    dir: Option<PathBuf>,
    /// Write an index file for KG_INDEX_PATH
    #[arg(long, value_name = "FILE")]
    save_to: Option<PathBuf>,
    /// Remove all stored pages first, from any source
    #[arg(long)]
    clear: bool,
    #[command(flatten)]
    output: OutputFormat,
}

#[derive(Args)]
pub(super) struct SearchPagesArgs {
    /// Search text
    query: String,
    /// Maximum number of pages
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=100))]
    top_k: u16,
    /// Only pages of this type; may be repeated
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Only pages of this domain; may be repeated
    #[arg(long = "domain", value_name = "DOMAIN")]
    domains: Vec<String>,
    /// Only hits with at least this score, 0 to 1
    #[arg(long)]
    min_score: Option<f64>,
    #[command(flatten)]
    output: OutputFormat,
}

#[derive(Args)]
pub(super) struct EditPageArgs {
    /// Id of the page, Type/Name
    page: String,
    /// New overview
    #[arg(long)]
    overview: Option<String>,
    /// New content
    #[arg(long)]
    content: Option<String>,
    /// New domains, separated by commas
    #[arg(long, value_delimiter = ',')]
    domains: Option<Vec<String>>,
    /// Keep the page's date
    #[arg(long)]
    keep_date: bool,
    /// Wiki directory, if the host does not know it
    #[arg(long, value_name = "DIR")]
    wiki_dir: Option<PathBuf>,
    #[command(flatten)]
    output: OutputFormat,
}

/// Maximum wait for vectors. The next process that opens the graph computes the rest.
const MAX_VECTOR_WAIT: Duration = Duration::from_secs(120);

const VECTORS_PENDING: &str = "Some pages have no vector yet; `gatehouse status` shows how many.";

pub(super) async fn run(command: Command, global: &GlobalArgs, env: &Env) -> CommandResult {
    let config = global.config(env)?;
    let embedder = compose::models(&config)?.embedder;
    let open = |named: bool| {
        let chosen = if named { config.knowledge.engine_for_indexing() } else { config.knowledge.chosen() };
        compose::knowledge(chosen?, WikiRoots::Any, &embedder)
    };
    match command {
        Command::Index(arguments) => {
            let named = arguments.dir.is_some();
            let replaces =
                arguments.save_to.as_deref().is_some_and(|file| config.knowledge.is_index_file(file));
            let knowledge = if named && replaces {
                let (chosen, unusable) = config.knowledge.engine_for_rewrite()?;
                if let Some(reason) = unusable {
                    out::note(format!("replacing the index file, which is unusable: {reason}"));
                }
                compose::knowledge(chosen, WikiRoots::Any, &embedder)?
            } else {
                open(named)?
            };
            let done = index(&knowledge, arguments).await;
            knowledge.close().await;
            done
        }
        Command::Copy(arguments) => copy::run(arguments, &config, &embedder).await,
        command => {
            let knowledge = open(false)?;
            let done = match command {
                Command::Search(arguments) => search(&knowledge, arguments).await,
                Command::Get { page, output } => get(&knowledge, &page, output).await,
                Command::Edit(arguments) => edit(&knowledge, arguments).await,
                Command::Index(_) | Command::Copy(_) => Ok(()),
            };
            empty::note_if_empty(&knowledge, &config, &embedder).await;
            knowledge.close().await;
            done
        }
    }
}

fn progress_bar(doing: &str) -> ProgressBar {
    progress::bar(0, &format!("{doing} [{{bar:30}}] {{pos}}/{{len}} pages {{elapsed}}"))
}

/// Waits for the vectors of the new pages. Without them, search finds the pages by their words.
async fn wait_for_vectors(knowledge: &WikiKnowledge) -> bool {
    progress::wait_for_vectors(knowledge.wait_for_vectors(MAX_VECTOR_WAIT)).await
}

async fn index(knowledge: &WikiKnowledge, arguments: IndexWikiArgs) -> CommandResult {
    let bar = progress_bar("indexing");
    // `--clear` confirms the loss.
    let options =
        IndexOptions { clear_existing: arguments.clear, accept_loss: true, persist_path: arguments.save_to };
    let progress = |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    };
    let report = knowledge.index(arguments.dir, options, &progress).await;
    bar.finish_and_clear();
    let report = report?;
    if !wait_for_vectors(knowledge).await {
        out::note(VECTORS_PENDING);
    }
    // Comparing with all titles takes time for each link.
    const MAX_LINKS: usize = 20;
    let targets = report.unresolved_links.iter().take(MAX_LINKS).map(|link| &*link.target);
    let nearest = knowledge.nearest_titles(targets).await?;
    arguments.output.print(&report, || print_index_report(&report, &nearest));
    Ok(())
}

fn print_index_report(report: &IndexReport, nearest: &[Option<String>]) {
    let IndexReport { added, updated, unchanged, removed, links, unresolved_links, .. } = report;
    out::line(format!(
        "{added} added, {updated} updated, {unchanged} unchanged, {removed} removed; {links} links, {} of them \
        unresolved",
        unresolved_links.len()
    ));
    for (at, link) in unresolved_links.iter().enumerate() {
        let nearest_title = nearest.get(at).and_then(Option::as_ref);
        let suggestion = nearest_title.map(|title| format!("; nearest: {title}")).unwrap_or_default();
        out::line(format!("unresolved: {} {} -> {}{suggestion}", link.page, link.edge, link.target));
    }
    for UnknownEdge { edge, links, page } in &report.unknown_edges {
        out::line(format!("unknown edge stored as related: {edge} ({links}, first in {page})"));
    }
    for taken in &report.taken_over {
        let from = taken.from.as_deref().unwrap_or("no file");
        out::line(format!("taken over from {from}: {}", taken.pages.join(", ")));
    }
    report.skipped.iter().for_each(|skipped| out::line(format!("skipped: {skipped}")));
}

async fn search(knowledge: &WikiKnowledge, arguments: SearchPagesArgs) -> CommandResult {
    let types = arguments.types.iter().map(|name| name.parse::<PageType>());
    let filters = PageFilters {
        page_types: types
            .collect::<Result<_, _>>()
            .map_err(|fault| CommandError::usage(fault.in_one_line()))?,
        domains: arguments.domains,
        min_score: arguments.min_score,
    };
    let result = knowledge.search(&arguments.query, &filters, arguments.top_k.into()).await?;
    arguments.output.print(&result, || {
        for unknown in &result.unknown_domains {
            let nearest = unknown.nearest.join(", ");
            out::line(format!("No page has the domain '{}'. Nearest: {nearest}.", unknown.domain));
        }
        let fits = result.hits.iter().any(|hit| hit.fit != MatchQuality::Nothing);
        match result.hits.first() {
            None => out::line(format!("Nothing found for \"{}\".", arguments.query)),
            Some(_) if !fits => out::line("Nothing fits; nearest pages:"),
            Some(_) => {}
        }
        for (index, hit) in result.hits.iter().enumerate() {
            let page = &hit.page;
            let is_only_near = fits && hit.fit == MatchQuality::Nothing;
            let remark = if is_only_near { "  does not fit" } else { "" };
            out::line(format!("{}. {}  {:.2}{remark}", index + 1, page.id, hit.score));
            out::line(format!("   {}", page.overview.lines().next().unwrap_or_default()));
        }
        result.note.iter().for_each(out::note);
        if !result.unmatched_terms.is_empty() {
            out::line(format!("In no page: {}", result.unmatched_terms.join(", ")));
        }
    });
    Ok(())
}

async fn get(knowledge: &WikiKnowledge, name: &str, output: OutputFormat) -> CommandResult {
    match knowledge.page(name).await? {
        PageLookup::Found { page, namesakes } => output.print(&page, || {
            print(&page);
            if !namesakes.is_empty() {
                out::note(format!("Others with this title: {}.", namesakes.join(", ")));
            }
        }),
        PageLookup::Missing(nearest) => {
            let hint =
                if nearest.is_empty() { String::new() } else { format!(" Nearest: {}.", nearest.join(", ")) };
            bail!("Page not found: '{name}'.{hint}");
        }
    }
    Ok(())
}

async fn edit(knowledge: &WikiKnowledge, arguments: EditPageArgs) -> CommandResult {
    let changes = PageChanges {
        overview: arguments.overview,
        content: arguments.content,
        domains: arguments.domains,
        ..PageChanges::default()
    };
    if changes == PageChanges::default() {
        return Err(CommandError::usage("nothing to change: give --overview, --content or --domains"));
    }
    let report = knowledge.patch(&arguments.page, changes, arguments.wiki_dir, !arguments.keep_date).await?;
    arguments.output.print(&report, || {
        let file = report.file.as_ref().map(|file| format!(" and in {file}")).unwrap_or_default();
        out::line(match report.changed.as_slice() {
            [] => format!("{} is unchanged", report.id),
            changed => format!("{}: changed {} in the store{file}", report.id, changed.join(", ")),
        });
    });
    Ok(())
}

fn print(page: &KnowledgePage) {
    out::line(format!("{} ({})", page.title, page.id));
    out::line(format!("domains: {}", page.domains.join(", ")));
    out::line(format!("updated: {}", page.last_updated.as_deref().unwrap_or("unknown")));
    out::line(format!("\n{}\n", page.content));
    for near in &page.neighbours {
        let arrow = if near.outgoing { "->" } else { "<-" };
        out::line(format!("{} {arrow} {}", near.edge, near.id));
    }
}
