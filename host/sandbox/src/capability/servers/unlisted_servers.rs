//! The note about servers without a listing in search results.

use gatehouse_core::{names, ports::servers::UnlistedServer};

/// Names servers without a listing: those that are still starting, then those that failed.
pub(super) fn note(servers: &[UnlistedServer]) -> String {
    const MAX_NAMED: usize = 20;
    const MAX_WHY: usize = 200;
    let starting: Vec<&str> =
        servers.iter().filter(|server| server.failure.is_none()).map(|server| &*server.name).collect();
    let failed = servers.iter().filter_map(|server| Some((&server.name, server.failure.as_ref()?)));
    let mut notes = Vec::new();
    if !starting.is_empty() {
        let more = if starting.len() > MAX_NAMED { ", …" } else { "" };
        let names = starting[..starting.len().min(MAX_NAMED)].join(", ");
        notes.push(format!("Still starting: {names}{more}; search again in a moment."));
    }
    for (name, why) in failed.take(MAX_NAMED) {
        notes.push(format!("Not searched: {name}. {}", names::quoted(why, MAX_WHY)));
    }
    notes.join("\n")
}
