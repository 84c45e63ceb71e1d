//! What a search says of servers that have listed nothing yet.

use std::sync::Arc;

use gatehouse_core::names;

/// Names the servers that have listed nothing yet, those first that may soon.
pub(super) fn note(servers: &[(Arc<str>, String)]) -> String {
    const MAX_NAMED: usize = 20;
    const MAX_WHY: usize = 200;
    let (starting, failed): (Vec<_>, Vec<_>) =
        servers.iter().partition(|(_, why)| why.ends_with("is still starting."));
    let more = |count: usize| if count > MAX_NAMED { ", …" } else { "" };
    let mut notes = Vec::new();
    if !starting.is_empty() {
        let names: Vec<&str> = starting.iter().take(MAX_NAMED).map(|(name, _)| &**name).collect();
        let more = more(starting.len());
        notes.push(format!("Still starting: {}{more}; search again in a moment.", names.join(", ")));
    }
    for (name, why) in failed.iter().take(MAX_NAMED) {
        notes.push(format!("Not searched: {name}. {}", names::quoted(why, MAX_WHY)));
    }
    notes.join("\n")
}
