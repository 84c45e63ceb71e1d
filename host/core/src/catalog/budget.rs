//! How much of a client's context the tools of one server may take.

use std::{collections::BTreeMap, fmt};

use super::ToolEntry;
use crate::{json, tool::SourceId};

/// Maximum tokens that one server's tools take in a list of tools, four bytes counted as one. The largest server among 18
/// real ones takes 17,000.
pub const MAX_SERVER_TOKENS: usize = 50_000;

/// A server that lists more than a client is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrowdedServer {
    /// The server.
    pub source: SourceId,
    /// Tools that clients are not shown.
    pub unlisted: usize,
    /// Tokens of all its tools.
    pub tokens: usize,
}

impl fmt::Display for CrowdedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, unlisted, tokens } = self;
        write!(
            f,
            "the tools of {source} take about {tokens} tokens, and a list shows {MAX_SERVER_TOKENS} of one server: {unlisted} are \
             left out of it and can still be called. Write `proxied = [\"{}\"]` in the place of `servers`, or `deny` what nobody needs",
            source.name()
        )
    }
}

/// Leaves tools of servers out of the list once those before them take too much, in the order of the server.
pub(super) fn apply(entries: &mut [ToolEntry]) -> Vec<CrowdedServer> {
    let mut order: Vec<&mut ToolEntry> = entries
        .iter_mut()
        .filter(|entry| entry.listed && matches!(entry.id.source, SourceId::Server(_)))
        .collect();
    order.sort_by_key(|entry| entry.rank);
    let mut servers: BTreeMap<SourceId, (usize, usize)> = BTreeMap::new();
    for entry in order {
        let (tokens, unlisted) = servers.entry(entry.id.source.clone()).or_default();
        *tokens += estimate_tokens(entry);
        if *tokens > MAX_SERVER_TOKENS {
            entry.listed = false;
            *unlisted += 1;
        }
    }
    let crowded = servers.into_iter().filter(|(_, (_, unlisted))| *unlisted > 0);
    crowded.map(|(source, (tokens, unlisted))| CrowdedServer { source, unlisted, tokens }).collect()
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
        Catalog, CompiledPreset, SourceId, ToolSpec,
        testing::{Fixture, tool},
    };

    #[tokio::test]
    async fn one_server_does_not_fill_the_list() {
        let fat = |name: &str| ToolSpec { description: "x".repeat(60_000), ..tool(name, None) };
        let crowd = Fixture::new(SourceId::Server("crowd".into()), ["a", "b", "c", "d", "e"].map(fat).into());
        let other = Fixture::new(SourceId::Server("other".into()), vec![fat("a")]);
        let exposure = CompiledPreset::from_sources("p", Vec::new());
        let listings = vec![crowd.listed().await, other.listed().await];
        let catalog = Catalog::build(&exposure, listings).expect("a catalog");
        let listed =
            catalog.entries().iter().filter(|entry| entry.listed).map(|entry| entry.name.to_string());
        assert_eq!(listed.collect::<Vec<_>>(), ["crowd__a", "crowd__b", "crowd__c", "other__a"]);
        assert!(catalog.find("crowd__e").is_ok(), "it can be called");
        let [server] = &catalog.crowded[..] else { panic!("{:?}", catalog.crowded) };
        assert_eq!((server.unlisted, server.tokens / 1_000), (2, 75));
    }
}
