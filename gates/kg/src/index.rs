//! `kg_index`: synchronizes the graph with a wiki folder, or writes one page.
//!
//! With `page_data`, the reply shows the location of the page: a file if the host may write one, else only the store.
//! `clear_existing`, `confirm` and `persist_path` apply to folders, so the tool rejects them with `page_data`. The host
//! decides which folders it may write.

use gatehouse_sdk::{
    Call, Effect, Fault, Intent, Reply, Tool,
    knowledge::{self, Draft, IndexOptions, IndexReport, Written},
};
use gatehouse_wiki::{Kind, code, one_line};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Params,
    writing::{self, DRY_RUN, EdgeData, LinkArg, SourceArg, TakenOverData, UnresolvedData},
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Wiki folder to index. Default without page_data: the server's own.
    wiki_dir: Option<String>,
    /// One page to write instead of a folder.
    page_data: Option<PageArg>,
    /// Remove all stored pages first.
    #[serde(default)]
    clear_existing: bool,
    /// With clear_existing: also remove pages that are in no folder.
    confirm: Option<ClearConfirmation>,
    /// Write an index file here.
    persist_path: Option<String>,
    /// Report only; change nothing.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ClearConfirmation {
    All,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PageArg {
    #[schemars(length(min = 1, max = 200))]
    page_title: String,
    page_type: Kind,
    overview: String,
    /// Wiki text without heading and header table.
    content: String,
    #[serde(default)]
    domains: Vec<String>,
    /// URLs or objects.
    #[serde(default)]
    sources: Vec<SourceArg>,
    #[serde(default)]
    outgoing_links: Vec<LinkArg>,
}

#[derive(Serialize, JsonSchema)]
struct IndexData {
    /// New pages.
    added: u32,
    /// Changed pages.
    updated: u32,
    /// Unchanged pages.
    unchanged: u32,
    /// Removed pages.
    removed: u32,
    /// Links declared by these pages.
    links: u32,
    /// Links to missing pages.
    unresolved_links: Vec<UnresolvedData>,
    /// Skipped files, with reasons.
    skipped: Vec<String>,
    /// Stored as related.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown_edges: Vec<EdgeData>,
    /// Pages that previously came from elsewhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    taken_over: Vec<TakenOverData>,
    /// Location of the page_data page.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    written: Vec<WrittenData>,
    /// Files that were or would be written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    affected_files: Vec<String>,
    /// Nothing was changed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

#[derive(Serialize, JsonSchema)]
struct WrittenData {
    page: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Args>("kg_index")
        .title("Index a wiki")
        .description(|_| {
            "Update the graph from a wiki folder, or write one page (page_data); never both. Use it after wiki files \
            change, or to record something new; get_page_structure describes the required content of a page. \
            Indexing twice changes nothing. Returns pages added, updated, unchanged, removed, links to missing \
            pages, and the location of a written page. To change one page: kg_edit."
        })
        .intent(Intent::Modify)
        .effect(Effect::Mutating)
        .idempotent()
        .dry_run("dry_run")
        .precheck_by_dry_run()
        .output::<IndexData>()
        .run(run)
}

fn run(_: &Call<Params>, mut args: Args) -> Result<Reply, Fault> {
    // Many models send "" for an omitted argument.
    for path in [&mut args.wiki_dir, &mut args.persist_path] {
        path.take_if(|p| p.trim().is_empty());
    }
    let dry_run = args.dry_run;
    let mode = writing::mode(dry_run);
    let mut affected_files: Vec<String> = args.persist_path.iter().cloned().collect();
    let (subject, report) = match args.page_data {
        Some(_) if args.wiki_dir.is_some() => {
            return Err(Fault::invalid("wiki_dir and page_data exclude each other")
                .hint("Index the folder with one call, and write the page with another."));
        }
        Some(_) if args.clear_existing || args.confirm.is_some() || args.persist_path.is_some() => {
            let reason = "clear_existing, confirm and persist_path cannot be used with page_data";
            return Err(
                Fault::invalid(reason).hint("They apply to a wiki folder; omit them to write one page.")
            );
        }
        None if args.confirm.is_some() && !args.clear_existing => {
            return Err(Fault::invalid("confirm requires clear_existing")
                .hint("Without clear_existing, there is nothing to confirm."));
        }
        Some(page) => {
            let draft = draft(page)?;
            let subject = format!("{} \"{}\"", Kind(draft.page_type).name(), one_line(&draft.title, 200));
            (subject, knowledge::upsert(&[draft], mode)?)
        }
        None => {
            let Args { wiki_dir, clear_existing, confirm, persist_path, .. } = args;
            let subject = wiki_dir.as_deref().map(|dir| code(&one_line(dir, 300)));
            let subject = subject.unwrap_or_else(|| "the server's wiki".into());
            let accept_loss = confirm == Some(ClearConfirmation::All);
            let options = IndexOptions { clear_existing, accept_loss, persist_path };
            (subject, knowledge::index(wiki_dir.as_deref(), &options, mode)?)
        }
    };
    affected_files.extend(report.written.iter().filter_map(|written| written.file.clone()));
    let text = text(&subject, &report, dry_run);
    Reply::markdown(text).structured(&data(report, affected_files, dry_run))
}

fn draft(page: PageArg) -> Result<Draft, Fault> {
    if page.page_title.trim().is_empty() {
        return Err(Fault::invalid("page_title is blank").hint("Set a title; it becomes the page's id."));
    }
    Ok(Draft {
        title: page.page_title.trim().to_owned(),
        page_type: page.page_type.0,
        overview: page.overview,
        content: page.content,
        domains: page.domains,
        sources: writing::sources(page.sources),
        links: writing::links(page.outgoing_links)?,
    })
}

fn text(subject: &str, report: &IndexReport, dry_run: bool) -> String {
    let IndexReport { added, updated, unchanged, removed, links, .. } = report;
    let mut out = if dry_run {
        format!("# Would index {subject}\n\n{DRY_RUN}\n")
    } else {
        format!("# Indexed {subject}\n\n")
    };
    out += &format!("**Added:** {added} | **Updated:** {updated} | **Unchanged:** {unchanged} | ");
    out += &format!("**Removed:** {removed} | **Links:** {links}\n");
    if added + updated + removed == 0 {
        out += match (*unchanged, dry_run) {
            (0, _) => "\nThere were no pages to index.\n",
            (_, true) => "\nNothing would change.\n",
            (_, false) => "\nNothing changed.\n",
        };
    }
    for Written { file, .. } in &report.written {
        out += &match file {
            Some(file) => format!("**File:** {}\n", code(&one_line(file, 500))),
            None => "**File:** none; the page is only in the store, so no folder can restore it\n".into(),
        };
    }
    out += &writing::taken_over(&report.taken_over);
    out += &writing::unresolved(&report.unresolved);
    out += &writing::unknown_edges(&report.unknown_edges);
    let skipped = report.skipped.iter().map(|reason| one_line(reason, 600));
    out + &writing::section("Skipped files", "Not indexed, with the reason:", skipped)
}

fn data(report: IndexReport, affected_files: Vec<String>, dry_run: bool) -> IndexData {
    let IndexReport { added, updated, unchanged, removed, links, unresolved, skipped, .. } = report;
    let written = report.written.into_iter().map(|Written { page, file }| WrittenData { page, file });
    IndexData {
        added,
        updated,
        unchanged,
        removed,
        links,
        unresolved_links: writing::unresolved_data(unresolved),
        skipped,
        unknown_edges: writing::edge_data(report.unknown_edges),
        taken_over: writing::taken_over_data(report.taken_over),
        written: written.collect(),
        affected_files,
        dry_run,
    }
}
