//! Limits how many tokens one server's tools take in a tool list.

use std::{collections::BTreeMap, fmt};

use super::ToolEntry;
use crate::{SourceId, json};

/// Maximum tokens of one server's listed tools, at four bytes per token.
///
/// The largest of 18 real servers takes 17,000.
pub const MAX_SERVER_TOKENS: usize = 50_000;

/// A server whose tools exceed [`MAX_SERVER_TOKENS`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OversizedServer {
    pub source: SourceId,
    pub unlisted: usize,
    /// Estimated tokens of all its tools, listed or not.
    pub tokens: usize,
}

impl fmt::Display for OversizedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, unlisted, tokens } = self;
        write!(
            f,
            "the tools of {source} take about {tokens} tokens; the limit for listed tools of one server is \
            {MAX_SERVER_TOKENS}. {unlisted} tools are not listed, but can be called. Write `proxied = [\"{}\"]` \
            instead of `servers`, or `deny` unneeded tools",
            source.name()
        )
    }
}

/// Unlists a server's tools after they reach the limit: pinned tools are the first to count, then listing order.
/// Unlisted tools can still be called.
pub(super) fn apply(entries: &mut [ToolEntry]) -> Vec<OversizedServer> {
    let mut order: Vec<&mut ToolEntry> = entries
        .iter_mut()
        .filter(|entry| entry.listed && matches!(entry.id.source, SourceId::Server(_)))
        .collect();
    order.sort_by_key(|entry| (!entry.pinned, entry.rank));
    let mut servers: BTreeMap<SourceId, (usize, usize)> = BTreeMap::new();
    for entry in order {
        let (tokens, unlisted) = servers.entry(entry.id.source.clone()).or_default();
        *tokens += estimate_tokens(entry);
        if *tokens > MAX_SERVER_TOKENS {
            entry.listed = false;
            *unlisted += 1;
        }
    }
    let oversized = servers.into_iter().filter(|(_, (_, unlisted))| *unlisted > 0);
    oversized.map(|(source, (tokens, unlisted))| OversizedServer { source, unlisted, tokens }).collect()
}

fn estimate_tokens(entry: &ToolEntry) -> usize {
    let spec = &entry.spec;
    let texts =
        entry.name.as_str().len() + spec.title.as_ref().map_or(0, String::len) + spec.description.len();
    let schemas = json::encoded_len(&*spec.input_schema)
        + spec.output_schema.as_ref().map_or(0, |schema| json::encoded_len(&**schema));
    (texts + schemas + spec.meta.as_ref().map_or(0, |meta| json::encoded_len(&**meta))) / 4
}

#[cfg(test)]
mod tests {
    use crate::{
        ToolSpec,
        testing::{Fixture, catalog, tool},
    };

    #[tokio::test]
    async fn one_server_does_not_fill_the_list() {
        let fat = |name: &str| ToolSpec { description: "x".repeat(60_000), ..tool(name, None) };
        let crowd = Fixture::server("crowd", ["a", "b", "c", "d", "e"].map(fat).into());
        let other = Fixture::server("other", vec![fat("a")]);
        let catalog = catalog(&[&crowd, &other]).await;
        let listed =
            catalog.entries().iter().filter(|entry| entry.listed).map(|entry| entry.name.to_string());
        assert_eq!(listed.collect::<Vec<_>>(), ["crowd__a", "crowd__b", "crowd__c", "other__a"]);
        assert!(catalog.find("crowd__e").is_ok(), "it can be called");
        let [server] = &catalog.crowded[..] else { panic!("{:?}", catalog.crowded) };
        assert_eq!((server.unlisted, server.tokens / 1_000), (2, 75));
    }
}
