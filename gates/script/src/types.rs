//! `tool_types`: declares the tools that scripts can call, with matches of a query first.

use gatehouse_sdk::{
    Call, Fault, Reply, Tool,
    catalog::{self, Entry},
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Params, declare,
    engine::{self, parse_json},
};

pub(crate) const NAME: &str = "tool_types";

const MAX_DECLARATIONS: usize = 60;

const AMBIENT: &str = "// Calls: await tools.<source>.<tool>(args), or callMCPTool(server, tool, args). A failed call throws an \
                       Error with type and suggestion.\n\
                       declare function callMCPTool(server: string, tool: string, args?: object): Promise<any>;\n\
                       // Also here: console, timers, URL, structuredClone. No fetch, no require, no files.";

// No doc comments: the schema would describe each value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Detail {
    Signature,
    Arguments,
    Full,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Purpose of the tools; default: all.
    pub(crate) query: Option<String>,
    /// Only tools of this source.
    pub(crate) source: Option<String>,
    /// signature is the default.
    pub(crate) detail: Option<Detail>,
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Args>(NAME)
        .title("Types of tools")
        .description(|_| "TypeScript declarations of the tools that scripts can call, best matches first.")
        .idempotent()
        .run(run)
}

fn run(_: &Call<Params>, args: Args) -> Result<Reply, Fault> {
    let mut entries = engine::entries()?;
    let proxied = proxied(&entries);
    if let Some(source) = &args.source {
        let names = sources(&entries).join(", ");
        entries.retain(|entry| entry.source == *source);
        if entries.is_empty() {
            let fault = Fault::not_found(format!("source '{source}' has no declared tools"));
            let proxied = proxied.map(|proxied| format!(" {proxied}")).unwrap_or_default();
            return Err(fault.hint(format!("The sources: {names}.{proxied}")));
        }
    }
    if let Some(query) = &args.query {
        entries = matching(entries, query);
    }
    let left_out = entries.len().saturating_sub(MAX_DECLARATIONS);
    entries.truncate(MAX_DECLARATIONS);
    let detail = args.detail.unwrap_or(Detail::Signature);
    let mut text = AMBIENT.to_owned();
    let mut last = None;
    for entry in &entries {
        if last != Some(&entry.source) {
            text += &format!("\n\n// tools.{}", entry.source);
            last = Some(&entry.source);
        }
        text += "\n";
        text += &declaration(entry, detail);
    }
    if entries.is_empty() {
        text += "\n\n// No declared tool matches.";
    }
    if let Some(proxied) = proxied {
        text += &format!("\n\n// {proxied}");
    }
    if left_out > 0 {
        text += &format!("\n\n// {left_out} more; narrow with query or source.");
    }
    Ok(Reply::markdown(text))
}

fn declaration(entry: &Entry, detail: Detail) -> String {
    let schema = catalog::schema(&entry.name).map(|json| parse_json(&json)).unwrap_or_default();
    match detail {
        Detail::Signature => declare::signature(entry, &schema),
        Detail::Arguments => declare::full(entry, &schema, false),
        Detail::Full => declare::full(entry, &schema, true),
    }
}

/// Explains how to find tools of servers. `None` if scripts cannot call them.
fn proxied(entries: &[Entry]) -> Option<String> {
    let proxy = engine::forwarding_tool(entries)?;
    let is_search = |entry: &&Entry| entry.source == proxy.source && entry.tool == "search_tools";
    let search = entries.iter().find(is_search).map_or("search_tools", |search| &search.name);
    Some(format!("Find tools of MCP servers with {search}, and call them as tools.<server>.<tool>(args)."))
}

fn sources(entries: &[Entry]) -> Vec<String> {
    let mut names: Vec<String> = entries.iter().map(|entry| entry.source.clone()).collect();
    names.sort();
    names.dedup();
    names
}

/// Filters tools by words of the query and sorts them by the number of matches.
fn matching(entries: Vec<Entry>, query: &str) -> Vec<Entry> {
    let words: Vec<String> = query
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() > 2)
        .map(str::to_lowercase)
        .collect();
    let score = |entry: &Entry| {
        let (name, about) = (entry.tool.to_lowercase(), entry.description.to_lowercase());
        let of = |word: &String| 3 * usize::from(name.contains(word)) + usize::from(about.contains(word));
        words.iter().map(of).sum::<usize>()
    };
    let mut scored: Vec<(usize, Entry)> =
        entries.into_iter().map(|entry| (score(&entry), entry)).filter(|(score, _)| *score > 0).collect();
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored.into_iter().map(|(_, entry)| entry).collect()
}
