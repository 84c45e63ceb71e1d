//! `get_wiki_page`: reads one page whole, by title or id.

use gatehouse_sdk::{
    Call, Fault, Reply, Tool, context,
    knowledge::{self, Lookup, Page, Source},
};
use gatehouse_wiki::{Kind, RelatedData, code, one_line, related_line};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Params;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Title, or id such as Principle/LoRA_Configuration.
    #[schemars(length(min = 1, max = 1000))]
    page_title: String,
}

#[derive(Serialize, JsonSchema)]
struct PageData {
    /// `Type/Name`.
    id: String,
    /// Its heading.
    title: String,
    /// Its type.
    page_type: Kind,
    /// Its subjects.
    domains: Vec<String>,
    /// As the page says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_updated: Option<String>,
    /// What it is about.
    overview: String,
    /// Its wiki text.
    content: String,
    /// Where it comes from.
    sources: Vec<SourceData>,
    /// Linked pages, in both directions.
    related: Vec<RelatedData>,
}

#[derive(Serialize, JsonSchema)]
struct SourceData {
    kind: String,
    title: String,
    url: String,
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Args>("get_wiki_page")
        .title("Read a wiki page")
        .description(|_| {
            "Read one wiki page whole, once search_knowledge or a link has named it. Returns overview, \
             content, sources and links in both directions; if there is no such page, the nearest titles. \
             Next: read the linked pages."
        })
        .idempotent()
        .output::<PageData>()
        .run(run)
}

fn run(_: &Call<Params>, args: Args) -> Result<Reply, Fault> {
    match knowledge::read(&args.page_title)? {
        Lookup::Found(page) => Reply::markdown(text(&page)).structured(&data(page)),
        Lookup::Missing(nearest) => Err(missing(&args.page_title, &nearest)),
    }
}

fn missing(asked: &str, nearest: &[String]) -> Fault {
    let fault = Fault::not_found(format!("Page not found: '{}'", one_line(asked, 200)));
    let mut hints = Vec::new();
    if !nearest.is_empty() {
        let titles: Vec<String> = nearest.iter().take(3).map(|t| format!("'{}'", one_line(t, 200))).collect();
        hints.push(format!("Nearest titles: {}.", titles.join(", ")));
    }
    if let Some(search) = context::exposed_name("search_knowledge") {
        hints.push(format!("{search} finds pages by what they say."));
    }
    if hints.is_empty() { fault } else { fault.hint(hints.join(" ")) }
}

fn text(page: &Page) -> String {
    let mut out = format!("# {}\n\n", one_line(&page.title, 300));
    out += &format!("**Type:** {} | **Id:** {}\n", Kind(page.page_type).name(), code(&page.id));
    if !page.domains.is_empty() {
        out += &format!("**Domains:** {}\n", page.domains.join(", "));
    }
    if let Some(when) = &page.last_updated {
        out += &format!("**Last updated:** {when}\n");
    }
    for (heading, body) in [("Overview", &page.overview), ("Content", &page.content)] {
        if !body.trim().is_empty() {
            out += &format!("\n## {heading}\n\n{}\n", body.trim());
        }
    }
    if !page.sources.is_empty() {
        out += "\n## Sources\n\n";
        page.sources.iter().for_each(|source| out += &source_line(source));
    }
    if !page.neighbours.is_empty() {
        out += "\n## Related pages\n\n";
        page.neighbours.iter().for_each(|n| out += &related_line(&n.edge, n.outgoing, &n.id));
    }
    out
}

fn source_line(source: &Source) -> String {
    let Source { kind, title, url } = source;
    if url.is_empty() { format!("- {kind}: {title}\n") } else { format!("- {kind}: {title} <{url}>\n") }
}

fn data(page: Page) -> PageData {
    let source = |Source { kind, title, url }| SourceData { kind, title, url };
    PageData {
        related: page.neighbours.iter().map(RelatedData::new).collect(),
        id: page.id,
        title: page.title,
        page_type: Kind(page.page_type),
        domains: page.domains,
        last_updated: page.last_updated,
        overview: page.overview,
        content: page.content,
        sources: page.sources.into_iter().map(source).collect(),
    }
}
