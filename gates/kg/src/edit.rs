//! `kg_edit`: changes one page and its wiki file. A given field replaces the whole field; other fields are unchanged.
//! Invalid input changes nothing.
//!
//! It is not idempotent: with `auto_timestamp`, a retry moves the date and could undo another caller's edit made in
//! between.

use gatehouse_sdk::{
    Call, Effect, Fault, Intent, Reply, Tool,
    knowledge::{self, Changes, PatchReport},
};
use gatehouse_wiki::{code, one_line};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Params,
    writing::{self, DRY_RUN, EdgeData, LinkArg, SourceArg, UnresolvedData},
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Type/Title.
    #[schemars(length(min = 1, max = 1000))]
    page_id: String,
    /// At least one; each replaces the whole field.
    #[schemars(extend("minProperties" = 1))]
    updates: PageUpdates,
    /// Wiki folder of the page, if the server cannot determine it.
    wiki_dir: Option<String>,
    /// Set last-updated to now.
    #[serde(default = "default_true")]
    auto_timestamp: bool,
    /// Report only; change nothing.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PageUpdates {
    overview: Option<String>,
    /// Wiki text without heading and header table.
    content: Option<String>,
    domains: Option<Vec<String>>,
    /// URLs or objects.
    sources: Option<Vec<SourceArg>>,
    outgoing_links: Option<Vec<LinkArg>>,
}

#[derive(Serialize, JsonSchema)]
struct EditData {
    /// Page ID.
    id: String,
    /// Fields with new values.
    changed: Vec<String>,
    /// The rewritten file.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The page's file, unchanged because it is outside the allowed folders.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_file: Option<String>,
    /// The page's new date.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_updated: Option<String>,
    /// Links to missing pages.
    unresolved_links: Vec<UnresolvedData>,
    /// Stored as related.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown_edges: Vec<EdgeData>,
    /// Files that were or would be written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    affected_files: Vec<String>,
    /// Nothing was changed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

fn default_true() -> bool {
    true
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Args>("kg_edit")
        .title("Edit a wiki page")
        .description(|_| {
            "Change fields of one wiki page and its source file. Use it to correct or extend a page; read it first \
            with get_wiki_page. Returns the changed fields, the file, and links to missing pages. For a new page: \
            kg_index with page_data."
        })
        .intent(Intent::Modify)
        .effect(Effect::Mutating)
        .dry_run("dry_run")
        .precheck("page_id", "get_wiki_page")
        .output::<EditData>()
        .run(run)
}

fn run(_: &Call<Params>, args: Args) -> Result<Reply, Fault> {
    let id = writing::id("page_id", &args.page_id)?;
    let changes = changes(args.updates)?;
    // Many models send "" for an omitted argument.
    let wiki_dir = args.wiki_dir.as_deref().filter(|dir| !dir.trim().is_empty());
    let mode = writing::mode(args.dry_run);
    let report = knowledge::patch(&id, &changes, wiki_dir, args.auto_timestamp, mode)?;
    Reply::markdown(text(&report, args.dry_run)).structured(&data(report, args.dry_run))
}

fn changes(updates: PageUpdates) -> Result<Changes, Fault> {
    let PageUpdates { overview, content, domains, sources, outgoing_links } = updates;
    let changes = Changes {
        overview,
        content,
        domains,
        sources: sources.map(writing::sources),
        links: outgoing_links.map(writing::links).transpose()?,
    };
    let unchanged = Changes { overview: None, content: None, domains: None, sources: None, links: None };
    if changes == unchanged {
        return Err(Fault::invalid("updates is empty")
            .hint("Set at least one of overview, content, domains, sources, outgoing_links."));
    }
    Ok(changes)
}

fn text(report: &PatchReport, dry_run: bool) -> String {
    let id = one_line(&report.id, 300);
    let mut out = if report.changed.is_empty() {
        format!("# Nothing to change in {id}\n\nThe page already has this content.\n")
    } else if dry_run {
        format!("# Would edit {id}\n\n{DRY_RUN}\n**Would change:** {}\n", report.changed.join(", "))
    } else {
        format!("# Edited {id}\n\n**Changed:** {}\n", report.changed.join(", "))
    };
    let display_path = |file: &str| code(&one_line(file, 300));
    if let Some(file) = &report.file {
        out += &format!("**File:** {}\n", display_path(file));
    } else if let Some(file) = &report.kept_file {
        out += &format!(
            "**File:** {} is unchanged: it is outside knowledge.wiki_roots in presets.toml. Indexing it again restores \
             its text.\n",
            display_path(file)
        );
    } else if !report.changed.is_empty() {
        out += "**File:** none; the page did not come from a wiki file\n";
    }
    if let Some(when) = &report.last_updated {
        out += &format!("**Last updated:** {when}\n");
    }
    out + &writing::unresolved(&report.unresolved) + &writing::unknown_edges(&report.unknown_edges)
}

fn data(report: PatchReport, dry_run: bool) -> EditData {
    let PatchReport { id, changed, file, kept_file, last_updated, unresolved, unknown_edges } = report;
    EditData {
        id,
        changed,
        affected_files: file.iter().cloned().collect(),
        file,
        kept_file,
        last_updated,
        unresolved_links: writing::unresolved_data(unresolved),
        unknown_edges: writing::edge_data(unknown_edges),
        dry_run,
    }
}
