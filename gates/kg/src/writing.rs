//! Code that `kg_index` and `kg_edit` share: sources and links in their arguments, and reports of unresolved links, unknown
//! edges and pages from other folders.
//!
//! A source is an object or a bare URL, whose kind is derived from its host. A link is an edge and a target ID:
//! `Type/Name`, or `Type:Name` as in wiki text.

use gatehouse_sdk::{
    Fault,
    knowledge::{Link, Source, TakenOver, UnknownEdge, Unresolved, WriteMode},
};
use gatehouse_wiki::{Kind, code, one_line};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum SourceArg {
    Url(String),
    Whole {
        /// Repo, Paper, Doc…
        #[serde(alias = "type")]
        kind: Option<String>,
        title: Option<String>,
        url: String,
    },
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkArg {
    #[schemars(extend("enum" = EDGES))]
    edge: String,
    /// Id, Type/Name.
    target: String,
}

const EDGES: [&str; 11] = [
    "step",
    "implements",
    "implemented_by",
    "realized_by",
    "requires_env",
    "required_by",
    "uses_heuristic",
    "used_by",
    "consumes",
    "produces",
    "related",
];

pub(crate) fn sources(args: Vec<SourceArg>) -> Vec<Source> {
    args.into_iter().map(source).collect()
}

fn source(arg: SourceArg) -> Source {
    let (kind, title, url) = match arg {
        SourceArg::Url(url) => (None, None, url),
        SourceArg::Whole { kind, title, url } => (kind, title, url),
    };
    Source {
        kind: kind.unwrap_or_else(|| kind_of(&url).into()),
        title: title.unwrap_or_else(|| without_scheme(&url).to_owned()),
        url,
    }
}

fn kind_of(url: &str) -> &'static str {
    let host = without_scheme(url).split('/').next().unwrap_or_default();
    let host = host.strip_prefix("www.").unwrap_or(host);
    match host {
        "github.com" | "gitlab.com" | "codeberg.org" | "bitbucket.org" => "Repo",
        "arxiv.org" | "doi.org" | "openreview.net" | "aclanthology.org" => "Paper",
        _ => "Doc",
    }
}

fn without_scheme(url: &str) -> &str {
    url.split_once("://").map_or(url, |(_, rest)| rest).trim_end_matches('/')
}

pub(crate) fn links(args: Vec<LinkArg>) -> Result<Vec<Link>, Fault> {
    let link = |arg: LinkArg| Ok(Link { edge: arg.edge, target: id("target", &arg.target)? });
    args.into_iter().map(link).collect()
}

/// Normalizes an ID: `Principle:X` and `principle/X` become `Principle/X`.
pub(crate) fn id(argument: &str, text: &str) -> Result<String, Fault> {
    let parts =
        text.trim().split_once(['/', ':']).map(|(kind, name)| (Kind::parse(kind.trim()), name.trim()));
    match parts {
        Some((Some(kind), name)) if !name.is_empty() => Ok(format!("{}/{name}", kind.name())),
        _ => {
            let text = one_line(text, 200);
            Err(Fault::invalid(format!("{argument} '{text}' is not an id of the form Type/Name"))
                .hint("Type is Workflow, Principle, Implementation, Environment or Heuristic."))
        }
    }
}

const MAX_SHOWN_LINES: usize = 20;

pub(crate) const DRY_RUN: &str = "A dry run: nothing was changed.\n";

pub(crate) fn mode(dry_run: bool) -> WriteMode {
    if dry_run { WriteMode::Preview } else { WriteMode::Apply }
}

/// Link to a missing page.
#[derive(Serialize, JsonSchema)]
pub(crate) struct UnresolvedData {
    /// Page that declares it.
    page: String,
    /// Link type.
    edge: String,
    /// Missing page.
    target: String,
}

pub(crate) fn unresolved_data(links: Vec<Unresolved>) -> Vec<UnresolvedData> {
    links.into_iter().map(|Unresolved { page, edge, target }| UnresolvedData { page, edge, target }).collect()
}

pub(crate) fn unresolved(links: &[Unresolved]) -> String {
    let line = |u: &Unresolved| one_line(&format!("{}: {} → {}", u.page, u.edge, u.target), 600);
    section("Unresolved links", "No such page yet:", links.iter().map(line))
}

// No descriptions: agents pay for them in each list of tools.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EdgeData {
    edge: String,
    links: u32,
    page: String,
}

pub(crate) fn edge_data(edges: Vec<UnknownEdge>) -> Vec<EdgeData> {
    edges.into_iter().map(|UnknownEdge { edge, links, page }| EdgeData { edge, links, page }).collect()
}

pub(crate) fn unknown_edges(edges: &[UnknownEdge]) -> String {
    let line = |u: &UnknownEdge| {
        let links = if u.links == 1 { "1 link".to_owned() } else { format!("{} links, the first", u.links) };
        one_line(&format!("{}: {links} in {}", u.edge, u.page), 600)
    };
    section("Unknown edges", "Stored as related:", edges.iter().map(line))
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct TakenOverData {
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    pages: Vec<String>,
}

pub(crate) fn taken_over_data(takeovers: Vec<TakenOver>) -> Vec<TakenOverData> {
    takeovers.into_iter().map(|TakenOver { from, pages }| TakenOverData { from, pages }).collect()
}

const MAX_NAMED_IDS: usize = 5;

pub(crate) fn taken_over(takeovers: &[TakenOver]) -> String {
    let line = |takeover: &TakenOver| {
        let from = takeover.from.as_deref().map(|root| code(&one_line(root, 300)));
        let from = from.unwrap_or_else(|| "written by a caller".into());
        let named = takeover.pages.iter().take(MAX_NAMED_IDS).map(|id| one_line(id, 300));
        let named = named.collect::<Vec<_>>().join(", ");
        match takeover.pages.len().saturating_sub(MAX_NAMED_IDS) {
            0 => format!("{from}: {named}"),
            more => format!("{from}: {named} and {more} more"),
        }
    };
    let lead = "Pages with these ids came from elsewhere before; the last one indexed wins:";
    section("Taken over", lead, takeovers.iter().map(line))
}

/// Formats a heading with a count, a lead and the first lines; empty for an empty list.
pub(crate) fn section(heading: &str, lead: &str, lines: impl ExactSizeIterator<Item = String>) -> String {
    let count = lines.len();
    if count == 0 {
        return String::new();
    }
    let mut out = format!("\n## {heading} ({count})\n\n{lead}\n\n");
    lines.take(MAX_SHOWN_LINES).for_each(|line| out += &format!("- {line}\n"));
    if count > MAX_SHOWN_LINES {
        out += &format!("- … and {} more\n", count - MAX_SHOWN_LINES);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_url_is_a_source() {
        for (url, kind, title) in [
            ("https://github.com/a/b", "Repo", "github.com/a/b"),
            ("http://www.arxiv.org/abs/1", "Paper", "www.arxiv.org/abs/1"),
            ("docs.example.org/", "Doc", "docs.example.org"),
        ] {
            let source = source(SourceArg::Url(url.into()));
            assert_eq!(
                (source.kind.as_str(), source.title.as_str(), source.url.as_str()),
                (kind, title, url)
            );
        }
    }

    #[test]
    fn ids_are_read_in_either_spelling() {
        for text in ["Principle/A_b", " principle : A_b ", "Principle:A_b"] {
            assert_eq!(id("target", text).unwrap(), "Principle/A_b");
        }
        for text in ["", "A_b", "Recipe/A", "Principle/", "Principle"] {
            let fault = id("target", text).unwrap_err();
            assert_eq!(fault.message, format!("target '{text}' is not an id of the form Type/Name"));
        }
    }
}
