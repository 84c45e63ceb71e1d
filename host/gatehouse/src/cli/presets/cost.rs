//! `gatehouse presets cost`: counts the tokens that presets cost a client.

use gatehouse_core::{
    Catalog,
    ports::{TokenCounter, text::TokenEncoding},
    surface::ToolSurface,
};
use gatehouse_text::BpeTokenCounter;
use gatehouse_wire::serve;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use super::{CommandError, CommandResult, OutputFormat, PlainError, with_header};
use crate::{compose::Composition, out};

/// Tokens of a search, a schema and their replies, on average over five questions to eight servers
/// (`cargo xtask bench P13`).
const SEARCH_TOKENS: u64 = 411;

/// Requests to the model for a question that one tool answers: the call, and the answer.
const REQUESTS: u64 = 2;

/// The same through the gate `proxy`: the search, the schema, the call, and the answer.
const REQUESTS_THROUGH_GATE: u64 = 4;

/// A client of [`questions`].
pub(super) struct Client {
    /// The `clientInfo.name` that it sends.
    pub(super) name: String,
    /// Tokens of each of its requests besides the tools.
    pub(super) host_tokens: u64,
}

/// Prints the tokens of `tools/list`, for each preset and tool.
pub(super) async fn tools(composition: &Composition, output: OutputFormat) -> CommandResult {
    report(composition, output, tokens_of, print_costs).await
}

/// Prints the tokens of a question that one tool answers, for each preset, with everything that the client sends to its
/// model again in each request.
pub(super) async fn questions(
    composition: &Composition,
    client: &Client,
    output: OutputFormat,
) -> CommandResult {
    let count = |catalog: &Catalog| cost_of_question(catalog, client);
    report(composition, output, count, |costs| print_questions(costs, client)).await
}

async fn report(
    composition: &Composition,
    output: OutputFormat,
    count: impl Fn(&Catalog) -> Value,
    print: impl Fn(&[Value]),
) -> CommandResult {
    let catalogs = composition.catalogs().await;
    let cost = |(name, catalog): &(&str, Result<Catalog, PlainError>)| match catalog {
        Ok(catalog) => count(catalog),
        Err(reason) => json!({"preset": name, "error": reason}),
    };
    let costs: Vec<Value> = catalogs.iter().map(cost).collect();
    output.print(&costs, || print(&costs));
    match catalogs.iter().filter(|(_, catalog)| catalog.is_err()).count() {
        0 => Ok(()),
        broken => Err(CommandError::failed(format!("{broken} presets cannot be served"))),
    }
}

/// Returns the cost of one question. A client that searches tools itself reads only names at its start, unless a tool
/// asks to be loaded; its own search is one more request, and adds one definition.
fn cost_of_question(catalog: &Catalog, client: &Client) -> Value {
    let listed = json!(serve::tools_for(catalog, Some(&client.name)));
    let listed = listed.as_array().map_or(&[][..], Vec::as_slice);
    let count = |tool: &Value| tokens(tool) as u64;
    let searches = serve::searches_tools(&client.name);
    let is_loaded = |tool: &&Value| !searches || tool["_meta"]["anthropic/alwaysLoad"] == true;
    let (loaded, deferred): (Vec<&Value>, Vec<&Value>) = listed.iter().partition(is_loaded);
    let definitions = if loaded.is_empty() { 0 } else { count(&json!(loaded)) };
    let start = definitions + deferred.iter().map(|tool| count(&tool["name"])).sum::<u64>();
    let through_gate = ToolSurface::for_client(catalog, searches).needs_gate(catalog);
    let (requests, added) = match (through_gate, deferred.is_empty()) {
        (true, _) => (REQUESTS_THROUGH_GATE, SEARCH_TOKENS),
        (false, true) => (REQUESTS, 0),
        (false, false) => {
            let total = deferred.iter().copied().map(count).sum::<u64>();
            (REQUESTS + 1, total / deferred.len() as u64)
        }
    };
    let question = requests * (client.host_tokens + start) + added;
    // Directly, a client that reads every definition would send REQUESTS * (host_tokens + definitions).
    let break_even = (through_gate && !searches).then(|| question / REQUESTS - client.host_tokens);
    json!({"preset": &*catalog.preset, "encoding": "o200k_base", "client": client.name,
           "host_tokens": client.host_tokens, "listed": listed.len(), "start": start, "requests": requests,
           "question": question, "break_even": break_even})
}

fn print_questions(costs: &[Value], client: &Client) {
    let Client { name, host_tokens } = client;
    let kind = match serve::searches_tools(name) {
        true => "searches tools itself, and reads only names at its start",
        false => "reads all listed tools at its start",
    };
    let row = |cost: &Value| {
        let preset = cost["preset"].as_str().unwrap_or_default().to_owned();
        if let Some(reason) = cost["error"].as_str() {
            return vec![preset, format!("broken: {reason}")];
        }
        let below = cost["break_even"].as_u64().map(|tokens| format!("below {tokens} tokens of tools"));
        let numbers = ["listed", "start", "requests", "question"].map(|key| cost[key].to_string());
        [preset].into_iter().chain(numbers).chain([below.unwrap_or_default()]).collect()
    };
    let header = ["PRESET", "TOOLS", "AT START", "REQUESTS", "QUESTION", "DIRECT IS CHEAPER"];
    out::table(&with_header(header, costs.iter().map(row)));
    out::line(format!(
        "\n{name} {kind}.\nQUESTION: tokens of all requests for a question that one tool answers, each with {host_tokens} \
        tokens of the client and the tools read at its start."
    ));
}

fn print_costs(presets: &[Value]) {
    let name = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let tokens = |value: &Value| value["tokens"].as_u64().unwrap_or_default();
    let mut whole: Vec<&Value> = presets.iter().filter(|preset| preset["error"].is_null()).collect();
    whole.sort_by_key(|preset| std::cmp::Reverse(tokens(preset)));
    let max_preset_tokens = whole.first().map_or(0, |preset| tokens(preset));
    let width = whole.iter().map(|preset| name(preset, "preset").width()).max().unwrap_or(0);
    for preset in &whole {
        let (name, tokens) = (out::padded(&name(preset, "preset"), width), tokens(preset));
        out::line(format!("{name}  {tokens:>5}  {}", bar(tokens, max_preset_tokens)));
    }
    let tools = |preset: &Value| preset["tools"].as_array().cloned().unwrap_or_default();
    let all_tools: Vec<Value> = presets.iter().flat_map(tools).collect();
    let max_tool_tokens = all_tools.iter().map(tokens).max().unwrap_or(0);
    let width = all_tools.iter().map(|tool| name(tool, "name").width()).max().unwrap_or(0);
    for preset in presets {
        let label = name(preset, "preset");
        if let Some(reason) = preset["error"].as_str() {
            out::line(format!("\n{label}: broken: {reason}"));
            continue;
        }
        out::line(format!("\n{label}: {} tokens", tokens(preset)));
        for tool in tools(preset) {
            let (name, tokens) = (out::padded(&name(&tool, "name"), width), tokens(&tool));
            out::line(format!("  {tokens:>5}  {name}  {}", bar(tokens, max_tool_tokens)));
        }
    }
}

/// Draws a bar for `part` of `most`, with a resolution of an eighth of a character.
fn bar(part: u64, most: u64) -> String {
    const CELLS: u64 = 24;
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (part * CELLS * 8).checked_div(most).unwrap_or(0);
    let full = "█".repeat((eighths / 8) as usize);
    full + PARTS[(eighths % 8) as usize]
}

pub(crate) fn tokens(tools: &Value) -> usize {
    BpeTokenCounter.count(&tools.to_string(), TokenEncoding::O200k)
}

fn tokens_of(catalog: &Catalog) -> Value {
    let tools = json!(serve::tools(catalog));
    let definitions = tools.as_array().into_iter().flatten();
    let tool_costs: Value =
        definitions.map(|tool| json!({"name": tool["name"], "tokens": tokens(tool)})).collect();
    json!({"preset": &*catalog.preset, "tokens": tokens(&tools), "encoding": "o200k_base", "tools": tool_costs})
}
