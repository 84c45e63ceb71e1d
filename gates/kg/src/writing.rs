//! Sources and links in the arguments of `kg_index` and `kg_edit`.
//!
//! A source is an object or a bare URL, whose kind is derived from its host. A link is an edge and a target ID:
//! `Type/Name`, or `Type:Name` as in wiki text.

use gatehouse_sdk::{
    Fault,
    knowledge::{Link, Source},
};
use gatehouse_wiki::{Kind, one_line};
use schemars::JsonSchema;
use serde::Deserialize;

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
        _ => Err(Fault::invalid(format!(
            "{argument} '{}' is not an id of the form Type/Name",
            one_line(text, 200)
        ))
        .hint("Type is Workflow, Principle, Implementation, Environment or Heuristic.")),
    }
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
